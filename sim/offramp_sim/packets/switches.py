# SPDX-License-Identifier: Apache-2.0
"""Processing of packets in leaves and spines (specification sections 5, 9 and 10)."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.packets.layout import (
    ACK,
    AGGREGATED,
    DATA,
    DELIVERED,
    DONE,
    ECN_SHIFT,
    FETCH,
    FLOW_ACK,
    FLOW_DATA,
    GO,
    HALF,
    LOW,
    NOBODY,
    PARTIAL,
    RAW,
    RESEND,
    RESULT,
    UNDECIDED,
    PartitionState,
)
from offramp_sim.packets.ports import announce, forward, kind_of_packet, label_of, pair
from offramp_sim.packets.queues import enqueue

DEAD: Final = -1


@native
def switched(ctx: PartitionState, node: int, label: int, subject: int, extra: int) -> None:
    """Process a packet that arrives at a switch."""
    kind = kind_of_packet(label)
    leaf = node - ctx.host_count
    if kind in (FLOW_DATA, FLOW_ACK) or leaf >= ctx.leaf_count:
        forward(ctx, node, label, subject, extra)
        return
    a = subject & LOW
    b = subject >> HALF
    c = extra & LOW
    to = label & LOW
    ecn = (label >> ECN_SHIFT) & 1
    if kind == DATA:
        _add_upload(ctx, leaf, a, b, ecn)
    elif kind == PARTIAL and ctx.leaf_of[to] == leaf and ctx.on_demand == 0:
        _contribute(ctx, leaf, a, b, c, ecn, _passed(ctx, leaf, 1))
    elif kind == ACK and to == NOBODY:
        _spread_ack(ctx, node, a, b, ecn)
    elif kind == DONE and ctx.leaf_of[0] == leaf:
        _count_done(ctx, a, b, node)
    else:
        if kind == FETCH:
            _abandon(ctx, leaf, a, b)
        elif kind == RESEND:
            _abandon(ctx, leaf, c, b)
        forward(ctx, node, label, subject, extra)


@native
def _cell(ctx: PartitionState, leaf: int, vertex: int, chunk: int) -> int:
    return (leaf * ctx.vertices + vertex) * ctx.chunks + chunk


@native
def _passed(ctx: PartitionState, leaf: int, passes: int) -> int:
    """Let the pipeline make passes; returns when it begins them."""
    ctx.passes += passes
    free = ctx.pass_free + leaf
    start = max(free[0], ctx.now)
    free[0] = start + passes * ctx.pass_ps
    return start


@native
def _add_upload(ctx: PartitionState, leaf: int, vertex: int, chunk: int, ecn: int) -> None:
    """Add a feature to the sums of all its neighbours, pass by pass; a duplicate is ignored."""
    seen = ctx.seen + (vertex * ctx.chunks + chunk)
    if seen[0] != 0:
        return
    seen[0] = 1
    rows = ctx.rows + vertex
    start = _passed(ctx, leaf, rows[1] - rows[0])
    if ctx.on_demand == 1:
        _best_effort(ctx, leaf, vertex, chunk, ecn, start)
        return
    for at in range(rows[0], rows[1]):
        hop = at - rows[0]
        _contribute(ctx, leaf, ctx.neighbours[at], chunk, 1, ecn, start + hop * ctx.pass_ps)


@native
def _contribute(ctx: PartitionState, leaf: int, vertex: int, chunk: int, count: int, ecn: int, time: int) -> None:
    """Add to a sum; the last contribution sends it to its owner, or to the leaf of its owner.

    The strawman's sums all go to owners, as partial ones unless the leaf had every contribution.
    """
    cell = _cell(ctx, leaf, vertex, chunk)
    left = ctx.left + cell
    if left[0] == DEAD:
        return
    left[0] -= count
    marked = ctx.marked_sum + cell
    if ecn == 1:
        marked[0] = 1
    if left[0] > 0:
        return
    owner = ctx.owners[vertex]
    contributions = ctx.left[cell + ctx.leaf_count * ctx.vertices * ctx.chunks]
    whole = ctx.leaf_of[owner] == leaf
    if ctx.on_demand == 1:
        rows = ctx.rows + vertex
        whole = contributions == rows[1] - rows[0]
    if whole:
        _emit(ctx, leaf, label_of(RESULT, owner, ctx.data_bytes, marked[0]), pair(vertex, chunk), 0, time)
    else:
        label = label_of(PARTIAL, owner, ctx.data_bytes, marked[0])
        _emit(ctx, leaf, label, pair(vertex, chunk), contributions, time)


@native
def _emit(ctx: PartitionState, leaf: int, label: int, subject: int, extra: int, time: int) -> None:
    node = ctx.host_count + leaf
    if time == ctx.now:
        forward(ctx, node, label, subject, extra)
    else:  # times of a pipeline never go back
        loop = ctx.switches[leaf].loop
        enqueue(ctx, ctx.ports[loop], time, label, subject, extra)
        announce(ctx, loop, node, time)


@native
def _best_effort(ctx: PartitionState, leaf: int, vertex: int, chunk: int, ecn: int, start: int) -> None:
    """The strawman: without a free aggregator, features are delivered unchanged, a copy to each worker."""
    rows = ctx.rows + vertex
    free = ctx.free_aggregators + leaf
    for at in range(rows[0], rows[1]):
        neighbour = ctx.neighbours[at]
        time = start + (at - rows[0]) * ctx.pass_ps
        cell = _cell(ctx, leaf, neighbour, chunk)
        mode = ctx.mode + cell
        if mode[0] == UNDECIDED:
            mode[0] = DELIVERED
            if free[0] > 0:
                mode[0] = AGGREGATED
                free[0] -= 1
        if mode[0] == AGGREGATED:
            _contribute(ctx, leaf, neighbour, chunk, 1, ecn, time)
            if ctx.left[cell] == 0:
                free[0] += 1
        elif not _copied(ctx, leaf, vertex, at, chunk):
            label = label_of(RAW, ctx.owners[neighbour], ctx.data_bytes, ecn)
            _emit(ctx, leaf, label, pair(vertex, chunk), 0, time)


@native
def _copied(ctx: PartitionState, leaf: int, vertex: int, until: int, chunk: int) -> bool:
    """Whether an earlier hop has sent a copy to the same worker."""
    owner = ctx.owners[ctx.neighbours[until]]
    for at in range(ctx.rows[vertex], until):
        other = ctx.neighbours[at]
        if ctx.owners[other] == owner and ctx.mode[_cell(ctx, leaf, other, chunk)] == DELIVERED:
            return True
    return False


@native
def _abandon(ctx: PartitionState, leaf: int, vertex: int, chunk: int) -> None:
    """Give up an aggregator: the owner collects the features itself."""
    cell = _cell(ctx, leaf, vertex, chunk)
    if ctx.on_demand == 1:
        mode = ctx.mode + cell
        if mode[0] == UNDECIDED:
            mode[0] = DELIVERED
        elif mode[0] == AGGREGATED and ctx.left[cell] > 0:
            free = ctx.free_aggregators + leaf
            free[0] += 1
    ctx.left[cell] = DEAD


@native
def _spread_ack(ctx: PartitionState, node: int, vertex: int, chunk: int, ecn: int) -> None:
    rows = ctx.ack_rows + vertex
    for at in range(rows[0], rows[1]):
        label = label_of(ACK, ctx.ack_hosts[at], ctx.short_bytes, ecn)
        forward(ctx, node, label, pair(vertex, chunk), 0)


@native
def _count_done(ctx: PartitionState, host: int, which: int, node: int) -> None:
    """Count a DONE at the barrier (section 5.5): a late host is told again, a repeated DONE is not counted twice."""
    now = ctx.round
    if which < now:
        forward(ctx, node, label_of(GO, host, ctx.short_bytes, 0), pair(host, now), 0)
        return
    reported = ctx.done_round + host
    if reported[0] == which:
        return
    reported[0] = which
    ctx.done_count += 1
    if ctx.done_count < ctx.host_count or now == ctx.blocks:
        return
    ctx.done_count = 0
    ctx.round = now + 1
    for each in range(ctx.host_count):
        forward(ctx, node, label_of(GO, each, ctx.short_bytes, 0), pair(each, now + 1), 0)
