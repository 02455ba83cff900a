# SPDX-License-Identifier: Apache-2.0
"""A worker's part in an exchange: receive, acknowledge, fetch what is lost, proceed (specification section 4)."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.packets.congestion import acknowledge, process_answer
from offramp_sim.packets.hosts import admit, cut_rate, host_of, rouse
from offramp_sim.packets.layout import (
    ACK,
    ACK_ALL,
    ACK_MARKED,
    DELIVERED,
    DONE,
    ECN_SHIFT,
    FETCH,
    FLOW_ACK,
    FLOW_DATA,
    GO,
    HALF,
    LOW,
    NEVER_PS,
    NOBODY,
    PARTIAL,
    RAW,
    RESEND,
    RESULT,
    PartitionState,
)
from offramp_sim.packets.ports import kind_of_packet, label_of, pair, send

LONGEST_PS: Final = 10_000_000_000


@native
def start_round(ctx: PartitionState, number: int, which: int) -> None:
    """Begin a block, or end if there is none left."""
    host = host_of(ctx, number)
    host.at_round = which
    host.progress = ctx.now
    host.patience = ctx.timeout_ps
    if which == ctx.blocks:
        ctx.hosts_left -= 1
        ctx.end = ctx.now
        return
    rows = ctx.upload_rows + which * ctx.host_count + number
    host.next_upload = rows[0]
    host.last_upload = rows[1]
    host.next_chunk = 0
    if rows[0] == rows[1]:
        _report(ctx, number)
    else:
        rouse(ctx, number, ctx.now)


@native
def _report(ctx: PartitionState, number: int) -> None:
    host = host_of(ctx, number)
    send(ctx, host.port, label_of(DONE, 0, ctx.short_bytes, 0), pair(number, host.at_round), 0)


@native
def receive(ctx: PartitionState, me: int, label: int, subject: int, extra: int) -> None:
    """Receive and consume a packet at a host."""
    kind = kind_of_packet(label)
    a = subject & LOW
    b = subject >> HALF
    if kind in (FLOW_DATA, FLOW_ACK):
        _receive_flow(ctx, me, label, subject, extra)
        return
    host = host_of(ctx, me)
    c = extra & LOW
    ecn = (label >> ECN_SHIFT) & 1
    if kind == GO:
        if b > host.at_round:
            start_round(ctx, me, b)
        return
    block = ctx.block_of[a]
    if block == host.at_round + 1 and kind in (RESULT, FETCH):
        start_round(ctx, me, block)  # somebody is there already: GO was lost or is late
    if kind == FETCH:  # a needs c's chunk b
        owner = ctx.owners[a]
        send(ctx, host.port, label_of(RESEND, owner, ctx.data_bytes, 0), pair(c, b), a)
        return
    if kind == ACK:
        if ecn == 1 and ctx.control == 1:
            cut_rate(ctx, me)
        return
    if block != host.at_round:
        return
    if kind == RESULT:
        _finish(ctx, me, a, b, ecn)
    elif kind == PARTIAL:
        _take_sum(ctx, me, a, b, c)
    elif kind == RESEND:
        _take(ctx, me, c, a, b)
    elif kind == RAW:
        first = ctx.leaf_of[ctx.owners[a]] * ctx.vertices
        rows = ctx.rows + a
        for at in range(rows[0], rows[1]):
            vertex = ctx.neighbours[at]
            if ctx.owners[vertex] == me and ctx.mode[(first + vertex) * ctx.chunks + b] == DELIVERED:
                _take(ctx, me, vertex, a, b)


@native
def _receive_flow(ctx: PartitionState, me: int, label: int, subject: int, extra: int) -> None:
    """A packet of a flow, or the answer to one."""
    number = subject & LOW
    if kind_of_packet(label) == FLOW_ACK:
        process_answer(ctx, subject, extra)
        admit(ctx, number)
        return
    size = subject >> HALF
    sink = ctx.sinks[number]
    sink.to_arrive -= size
    if sink.to_arrive == 0:
        sink.finish = ctx.now
        ctx.flows_left -= 1
    if ctx.transport != 0:
        acknowledge(ctx, me, label, number, size, extra)


@native
def _take(ctx: PartitionState, me: int, vertex: int, source: int, chunk: int) -> None:
    """Add a feature to a vertex that the host sums itself."""
    chunks = ctx.chunks
    at = vertex * chunks + chunk
    low = ctx.rows[vertex]
    high = ctx.rows[vertex + 1]
    while low < high:
        middle = (low + high) >> 1
        if ctx.neighbours[middle] < source:
            low = middle + 1
        else:
            high = middle
    place = low * chunks + chunk
    if ctx.finished[at] != 0 or ctx.got[place] != 0:
        return
    ctx.got[place] = 1
    host_of(ctx, me).progress = ctx.now
    ctx.missing[at] -= 1
    if ctx.missing[at] == 0:
        _finish(ctx, me, vertex, chunk, 0)


@native
def _take_sum(ctx: PartitionState, me: int, vertex: int, chunk: int, contributions: int) -> None:
    """Add a leaf's sum to a vertex, unless the host has asked for the features that are in it."""
    at = vertex * ctx.chunks + chunk
    if ctx.finished[at] != 0 or ctx.alone[at] != 0:
        return
    host_of(ctx, me).progress = ctx.now
    ctx.missing[at] -= contributions
    if ctx.missing[at] == 0:
        _finish(ctx, me, vertex, chunk, 0)


@native
def _finish(ctx: PartitionState, me: int, vertex: int, chunk: int, ecn: int) -> None:
    """Note that a sum is complete at its owner."""
    at = vertex * ctx.chunks + chunk
    if ctx.finished[at] != 0:
        return
    ctx.finished[at] = 1
    host = host_of(ctx, me)
    host.progress = ctx.now
    host.patience = ctx.timeout_ps
    notice = ctx.acks == ACK_MARKED and ecn == 1 and ctx.now - host.last_notice >= ctx.guard_ps
    if notice:
        host.last_notice = ctx.now
    if notice or ctx.acks == ACK_ALL:
        send(ctx, host.port, label_of(ACK, NOBODY, ctx.short_bytes, ecn), pair(vertex, chunk), 0)
    left = ctx.remain + host.at_round * ctx.host_count + me
    left[0] -= 1
    if left[0] == 0:
        _report(ctx, me)


@native
def time_out(ctx: PartitionState, me: int) -> None:
    """After too long without progress, ask for all missing packets, or report again."""
    host = host_of(ctx, me)
    host.timer = NEVER_PS
    which = host.at_round
    if which == ctx.blocks:
        return
    due = host.progress + host.patience
    if due > ctx.now:
        host.timer = due
        return
    ctx.timeouts += 1
    host.patience = min(2 * host.patience, LONGEST_PS)
    host.progress = ctx.now
    host.timer = ctx.now + host.patience
    if ctx.remain[which * ctx.host_count + me] == 0:
        _report(ctx, me)
        return
    rows = ctx.upload_rows + which * ctx.host_count + me
    for at in range(rows[0], rows[1]):
        _fetch(ctx, me, ctx.uploads[at])


@native
def _fetch(ctx: PartitionState, me: int, vertex: int) -> None:
    chunks = ctx.chunks
    rows = ctx.rows + vertex
    for chunk in range(chunks):
        if ctx.finished[vertex * chunks + chunk] == 0:
            if ctx.on_demand == 1:
                _forget_sums(ctx, vertex, chunk)
            for at in range(rows[0], rows[1]):
                if ctx.got[at * chunks + chunk] == 0:
                    source = ctx.neighbours[at]
                    owner = ctx.owners[source]
                    ctx.fetches += 1
                    label = label_of(FETCH, owner, ctx.short_bytes, 0)
                    send(ctx, host_of(ctx, me).port, label, pair(vertex, chunk), source)


@native
def _forget_sums(ctx: PartitionState, vertex: int, chunk: int) -> None:
    """Count single features alone from now on: nobody can tell which of them the sums of leaves hold."""
    at = vertex * ctx.chunks + chunk
    if ctx.alone[at] != 0:
        return
    ctx.alone[at] = 1
    missing = 0
    for place in range(ctx.rows[vertex], ctx.rows[vertex + 1]):
        if ctx.got[place * ctx.chunks + chunk] == 0:
            missing += 1
    ctx.missing[at] = missing
