# SPDX-License-Identifier: Apache-2.0
"""New rates for the flows that a start or an end may affect, and for no others.

With strict priority, changes in a class do not affect the classes before it. Flows whose rates may have changed are
therefore processed class by class, each with the flows of its class that share resources with it, directly or
indirectly; if the rate of one has changed, the later classes on its resources follow.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.hermod.flow.heaps import dequeue, expect_end, forget_end
from offramp_sim.hermod.flow.layout import FIXED, FREE, NOBODY, FlowRunState
from offramp_sim.hermod.flow.links import enqueue_behind, room_before
from offramp_sim.hermod.flow.sharing import alone, share, share_in_order

NEGLIGIBLE: Final = 1e-12
"""Share of a flow below which the rest counts as arrived."""


@native
def _add(ctx: FlowRunState, flow: int) -> None:
    """Add a flow to those that get their rates now."""
    ctx.queued[flow] = 0
    ctx.member[flow] = 1
    ctx.fixed[flow] = FREE
    ctx.was[flow] = ctx.rate[flow]
    ctx.members[ctx.member_count] = flow
    ctx.member_count += 1


@native
def _room(ctx: FlowRunState, r: int, level: int) -> float:
    """Capacity of a resource that earlier classes leave; the flows of this class on it become members."""
    if ctx.reached[r] == ctx.allocation:
        return ctx.room[r]
    ctx.reached[r] = ctx.allocation
    left = room_before(ctx, r, level)
    ctx.room[r] = left
    at = ctx.last[r]
    while at != NOBODY and ctx.node_class[at] >= level:
        if ctx.node_class[at] == level and ctx.member[ctx.node_flow[at]] == 0:
            _add(ctx, ctx.node_flow[at])
        at = ctx.before_node[at]
    return left


@native
def _waits(ctx: FlowRunState, flow: int, level: int) -> bool:
    """Whether a flow certainly gets no rate: its sender holds it back, or its bottleneck still has no room."""
    if ctx.side[flow] == 2:
        for k in range(ctx.use_row[ctx.load[flow]], ctx.use_row[ctx.load[flow] + 1]):
            if ctx.use[k] < ctx.ports and ctx.held[ctx.use[k]] > 0:
                return True
    r = ctx.witness[flow]
    return ctx.ordered == 0 and r != NOBODY and room_before(ctx, r, level) == 0.0


@native
def _reach(ctx: FlowRunState, level: int) -> None:
    """Make members of all flows that share resources with members, except through flows that get no rate, as before."""
    members = ctx.members
    i = 0
    while i < ctx.member_count:
        flow = members[i]
        i += 1
        if _waits(ctx, flow, level):
            ctx.fixed[flow] = FIXED
            ctx.rate[flow] = 0.0
        if ctx.fixed[flow] == FREE or ctx.was[flow] > 0.0:
            for k in range(ctx.use_row[ctx.load[flow]], ctx.use_row[ctx.load[flow] + 1]):
                if _room(ctx, ctx.use[k], level) == 0.0 and ctx.ordered == 0 and ctx.fixed[flow] == FREE:
                    ctx.witness[flow] = ctx.use[k]
                    ctx.fixed[flow] = FIXED
                    ctx.rate[flow] = 0.0
                    if ctx.was[flow] == 0.0:
                        break


@native
def _share(ctx: FlowRunState) -> None:
    """Give the members their rates."""
    free = 0
    last = 0
    for i in range(ctx.member_count):
        if ctx.fixed[ctx.members[i]] == FREE:
            free += 1
            last = ctx.members[i]
    if free == 1:
        alone(ctx, last)
    elif free > 1 and ctx.ordered == 1:
        share_in_order(ctx)
    elif free > 1:
        share(ctx)


@native
def _apply(ctx: FlowRunState, level: int) -> None:
    """Apply the members' new rates; later classes on the resources of those that changed are queued."""
    now = ctx.clock
    for i in range(ctx.member_count):
        flow = ctx.members[i]
        ctx.member[flow] = 0
        was = ctx.was[flow]
        rate = ctx.rate[flow]
        if rate != was:
            left = ctx.left[flow] - was * (now - ctx.since[flow])
            if ctx.punctual == 1 and was == 0.0 and ctx.since[flow] > now - ctx.slack:
                left = left + rate * (ctx.since[flow] - now)  # it starts when its delay ends, not with this event
            ctx.left[flow] = left
            ctx.since[flow] = now
            if rate > 0.0:
                expect_end(ctx, flow, now + left / rate)
            elif left <= NEGLIGIBLE:
                expect_end(ctx, flow, now)
            else:
                forget_end(ctx, flow)
            enqueue_behind(ctx, flow, level + 1)
    ctx.member_count = 0


@native
def allocate(ctx: FlowRunState) -> None:
    """Compute new rates for the flows in the queue, and for those affected by them."""
    while ctx.queue_count > 0:
        flow = dequeue(ctx)
        if ctx.queued[flow] == 1:
            level = ctx.classes[flow]
            ctx.allocation += 1
            _add(ctx, flow)
            _reach(ctx, level)
            _share(ctx)
            _apply(ctx, level)
