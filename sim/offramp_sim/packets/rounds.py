# SPDX-License-Identifier: Apache-2.0
"""A worker's part in an exchange: receive, acknowledge, fetch what is lost, go on (specification section 4)."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.packets.events import packet, release, schedule
from offramp_sim.packets.hosts import cut_rate, host_of, make, rouse
from offramp_sim.packets.layout import (
    ACK,
    DONE,
    FETCH,
    FLOW_DATA,
    GO,
    RAW,
    RESEND,
    RESULT,
    TIMER,
    Context,
)
from offramp_sim.packets.ports import send

LONGEST_PS: Final = 10_000_000_000
NOBODY: Final = -1


@native
def start_round(ctx: Context, number: int, which: int) -> None:
    """Begin a block, or learn that there is none left."""
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
def _report(ctx: Context, number: int) -> None:
    send(ctx, make(ctx, DONE, 0, ctx.short_bytes, number, host_of(ctx, number).at_round, 0, 0), number)


@native
def receive(ctx: Context, number: int, me: int) -> None:
    """A packet arrives at a host and is used up."""
    p = packet(ctx, number)
    kind = p.kind
    a = p.a
    b = p.b
    c = p.c
    ecn = p.ecn
    release(ctx, number)
    host = host_of(ctx, me)
    if kind == FLOW_DATA:
        flow = ctx.flows[a]
        flow.to_arrive -= b
        if flow.to_arrive == 0:
            flow.finish = ctx.now
            ctx.flows_left -= 1
        return
    if kind == GO:
        if b > host.at_round:
            start_round(ctx, me, b)
        return
    block = ctx.block_of[a]
    if block == host.at_round + 1 and kind in (RESULT, FETCH):
        start_round(ctx, me, block)  # somebody is there already: GO was lost or is late
    if kind == FETCH:  # a needs c's chunk b
        owner = ctx.owners[a]
        send(ctx, make(ctx, RESEND, owner, ctx.data_bytes, c, b, a, 0), me)
        return
    if kind == ACK:
        if ecn == 1 and ctx.control == 1:
            cut_rate(ctx, me)
        return
    if block != host.at_round:
        return
    if kind == RESULT:
        _finish(ctx, me, a, b, ecn)
    elif kind == RESEND:
        _take(ctx, me, c, a, b)
    elif kind == RAW:
        rows = ctx.rows + a
        for at in range(rows[0], rows[1]):
            vertex = ctx.neighbours[at]
            if ctx.owners[vertex] == me:
                _take(ctx, me, vertex, a, b)


@native
def _take(ctx: Context, me: int, vertex: int, source: int, chunk: int) -> None:
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
def _finish(ctx: Context, me: int, vertex: int, chunk: int, ecn: int) -> None:
    """A sum is complete at its owner."""
    at = vertex * ctx.chunks + chunk
    if ctx.finished[at] != 0:
        return
    ctx.finished[at] = 1
    host = host_of(ctx, me)
    host.progress = ctx.now
    host.patience = ctx.timeout_ps
    if ctx.acks == 1:
        send(ctx, make(ctx, ACK, NOBODY, ctx.short_bytes, vertex, chunk, 0, ecn), me)
    left = ctx.remain + host.at_round * ctx.host_count + me
    left[0] -= 1
    if left[0] == 0:
        _report(ctx, me)


@native
def time_out(ctx: Context, me: int) -> None:
    """Has nothing happened for too long? Then ask for everything that is missing, or report again."""
    host = host_of(ctx, me)
    which = host.at_round
    if which == ctx.blocks:
        return
    due = host.progress + host.patience
    if due > ctx.now:
        schedule(ctx, due, TIMER, me)
        return
    ctx.timeouts += 1
    host.patience = min(2 * host.patience, LONGEST_PS)
    host.progress = ctx.now
    schedule(ctx, ctx.now + host.patience, TIMER, me)
    if ctx.remain[which * ctx.host_count + me] == 0:
        _report(ctx, me)
        return
    rows = ctx.upload_rows + which * ctx.host_count + me
    for at in range(rows[0], rows[1]):
        _fetch(ctx, me, ctx.uploads[at])


@native
def _fetch(ctx: Context, me: int, vertex: int) -> None:
    chunks = ctx.chunks
    rows = ctx.rows + vertex
    for chunk in range(chunks):
        if ctx.finished[vertex * chunks + chunk] == 0:
            for at in range(rows[0], rows[1]):
                if ctx.got[at * chunks + chunk] == 0:
                    source = ctx.neighbours[at]
                    owner = ctx.owners[source]
                    ctx.fetches += 1
                    send(ctx, make(ctx, FETCH, owner, ctx.short_bytes, vertex, chunk, source, 0), me)
