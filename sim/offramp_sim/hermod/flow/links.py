# SPDX-License-Identifier: Apache-2.0
"""The flows on each resource, in order of service."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.hermod.flow.heaps import enqueue
from offramp_sim.hermod.flow.layout import NOBODY, FlowRunState

NOTHING: Final = 1e-9
"""Share of a resource's capacity below which the rest counts as none."""


@native
def join(ctx: FlowRunState, flow: int) -> None:
    """Put a flow on its resources, behind those of its class."""
    after = ctx.after_node
    before = ctx.before_node
    classes = ctx.node_class
    begin = ctx.use_row[ctx.load[flow]]
    count = ctx.use_row[ctx.load[flow] + 1] - begin
    node = ctx.free_nodes[count]
    if node == NOBODY:
        node = ctx.fresh_node
        ctx.fresh_node = node + count
    else:
        ctx.free_nodes[count] = after[node]
    ctx.first_node[flow] = node
    mine = ctx.classes[flow]
    for k in range(count):
        r = ctx.use[begin + k]
        ahead = ctx.last[r]
        behind = NOBODY
        while ahead != NOBODY and classes[ahead] > mine:
            behind = ahead
            ahead = before[ahead]
        ctx.node_flow[node + k] = flow
        ctx.node_amount[node + k] = ctx.amount[begin + k]
        classes[node + k] = mine
        before[node + k] = ahead
        after[node + k] = behind
        if ahead == NOBODY:
            ctx.first[r] = node + k
        else:
            after[ahead] = node + k
        if behind == NOBODY:
            ctx.last[r] = node + k
        else:
            before[behind] = node + k
    if ctx.side[flow] == 1:
        _hold(ctx, flow, 1)
    enqueue(ctx, flow)


@native
def leave(ctx: FlowRunState, flow: int) -> None:
    """Take a flow off its resources; the rates of those behind it or sharing with it may change."""
    after = ctx.after_node
    before = ctx.before_node
    begin = ctx.use_row[ctx.load[flow]]
    count = ctx.use_row[ctx.load[flow] + 1] - begin
    node = ctx.first_node[flow]
    if ctx.side[flow] == 1:
        _hold(ctx, flow, -1)
    enqueue_behind(ctx, flow, ctx.classes[flow])
    for k in range(count):
        r = ctx.use[begin + k]
        ahead = before[node + k]
        behind = after[node + k]
        if ahead == NOBODY:
            ctx.first[r] = behind
        else:
            after[ahead] = behind
        if behind == NOBODY:
            ctx.last[r] = ahead
        else:
            before[behind] = ahead
    if count > 0:
        after[node] = ctx.free_nodes[count]
        ctx.free_nodes[count] = node
    ctx.queued[flow] = 0  # what another that left has asked for


@native
def enqueue_behind(ctx: FlowRunState, flow: int, level: int) -> None:
    """Queue all other flows on a flow's resources, of its class and later ones: their rates may have changed."""
    before = ctx.before_node
    node_flow = ctx.node_flow
    for k in range(ctx.use_row[ctx.load[flow]], ctx.use_row[ctx.load[flow] + 1]):
        at = ctx.last[ctx.use[k]]
        while at != NOBODY and ctx.node_class[at] >= level:
            if node_flow[at] != flow:
                enqueue(ctx, node_flow[at])
            at = before[at]


@native
def _hold(ctx: FlowRunState, flow: int, more: int) -> None:
    """Begin or end a flow of side 1 at its senders, where flows of side 2 of any class wait for it."""
    for k in range(ctx.use_row[ctx.load[flow]], ctx.use_row[ctx.load[flow] + 1]):
        port = ctx.use[k]
        if port < ctx.ports:
            ctx.held[port] += more
            at = ctx.first[port]
            while at != NOBODY:
                if ctx.side[ctx.node_flow[at]] == 2:
                    enqueue(ctx, ctx.node_flow[at])
                at = ctx.after_node[at]


@native
def room_before(ctx: FlowRunState, r: int, level: int) -> float:
    """Capacity of a resource that flows of classes before ``level`` leave."""
    left = ctx.capacity[r]
    least = NOTHING * left
    at = ctx.first[r]
    while at != NOBODY and ctx.node_class[at] < level:
        left = left - ctx.rate[ctx.node_flow[at]] * ctx.node_amount[at]
        if left <= least:
            return 0.0
        at = ctx.after_node[at]
    return left
