# SPDX-License-Identifier: Apache-2.0
"""A worker's part in an exchange: receive, acknowledge, fetch what is lost, go on (specification section 4)."""

from __future__ import annotations

from typing import Final

from offramp_p4.native.subset import Bytes, Ints, Words, native
from offramp_sim.packets.events import packet, release, schedule
from offramp_sim.packets.hosts import cut_rate, host_of, make, rouse
from offramp_sim.packets.layout import (
    ACK,
    ACKS,
    AT_ROUND,
    BLOCK_OF,
    BLOCKS,
    CHUNKS,
    CONTROL,
    DATA_BYTES,
    DONE,
    ECN,
    END,
    FETCH,
    FETCHES,
    FINISH,
    FINISHED,
    FLOW,
    FLOW_DATA,
    FLOW_WORDS,
    FLOWS_LEFT,
    GO,
    GOT,
    HOSTS,
    HOSTS_LEFT,
    KIND,
    LAST_UPLOAD,
    MISSING,
    NEIGHBOUR,
    NEXT_CHUNK,
    NEXT_UPLOAD,
    NOW,
    OWNER,
    PATIENCE,
    PROGRESS,
    RAW,
    REMAIN,
    RESEND,
    RESULT,
    ROW,
    SHORT_BYTES,
    TIMEOUT_PS,
    TIMEOUTS,
    TIMER,
    TO_ARRIVE,
    UPLOAD,
    UPLOAD_ROW,
    A,
    B,
    C,
)
from offramp_sim.packets.ports import send

LONGEST_PS: Final = 10_000_000_000
NOBODY: Final = -1


@native
def start_round(ctx: Words, number: int, which: int) -> None:
    """Begin a block, or learn that there is none left."""
    host = host_of(ctx, number)
    host[AT_ROUND] = which
    host[PROGRESS] = ctx[NOW]
    host[PATIENCE] = ctx[TIMEOUT_PS]
    if which == ctx[BLOCKS]:
        ctx[HOSTS_LEFT] -= 1
        ctx[END] = ctx[NOW]
        return
    rows = Words(ctx[UPLOAD_ROW]) + which * ctx[HOSTS] + number
    host[NEXT_UPLOAD] = rows[0]
    host[LAST_UPLOAD] = rows[1]
    host[NEXT_CHUNK] = 0
    if rows[0] == rows[1]:
        _report(ctx, number)
    else:
        rouse(ctx, number, ctx[NOW])


@native
def _report(ctx: Words, number: int) -> None:
    send(ctx, make(ctx, DONE, 0, ctx[SHORT_BYTES], number, host_of(ctx, number)[AT_ROUND], 0, 0), number)


@native
def receive(ctx: Words, number: int, me: int) -> None:
    """A packet arrives at a host and is used up."""
    p = packet(ctx, number)
    kind = p[KIND]
    a = p[A]
    b = p[B]
    c = p[C]
    ecn = p[ECN]
    release(ctx, number)
    host = host_of(ctx, me)
    if kind == FLOW_DATA:
        flow = Words(ctx[FLOW]) + a * FLOW_WORDS
        flow[TO_ARRIVE] -= b
        if flow[TO_ARRIVE] == 0:
            flow[FINISH] = ctx[NOW]
            ctx[FLOWS_LEFT] -= 1
        return
    if kind == GO:
        if b > host[AT_ROUND]:
            start_round(ctx, me, b)
        return
    block = Ints(ctx[BLOCK_OF])[a]
    if block == host[AT_ROUND] + 1 and kind in (RESULT, FETCH):
        start_round(ctx, me, block)  # somebody is there already: GO was lost or is late
    if kind == FETCH:  # a needs c's chunk b
        owner = Ints(ctx[OWNER])[a]
        send(ctx, make(ctx, RESEND, owner, ctx[DATA_BYTES], c, b, a, 0), me)
        return
    if kind == ACK:
        if ecn == 1 and ctx[CONTROL] == 1:
            cut_rate(ctx, me)
        return
    if block != host[AT_ROUND]:
        return
    if kind == RESULT:
        _finish(ctx, me, a, b, ecn)
    elif kind == RESEND:
        _take(ctx, me, c, a, b)
    elif kind == RAW:
        rows = Words(ctx[ROW]) + a
        for at in range(rows[0], rows[1]):
            vertex = Ints(ctx[NEIGHBOUR])[at]
            if Ints(ctx[OWNER])[vertex] == me:
                _take(ctx, me, vertex, a, b)


@native
def _take(ctx: Words, me: int, vertex: int, source: int, chunk: int) -> None:
    """Add a feature to a vertex that the host sums itself."""
    chunks = ctx[CHUNKS]
    at = vertex * chunks + chunk
    low = Words(ctx[ROW])[vertex]
    high = Words(ctx[ROW])[vertex + 1]
    while low < high:
        middle = (low + high) >> 1
        if Ints(ctx[NEIGHBOUR])[middle] < source:
            low = middle + 1
        else:
            high = middle
    place = low * chunks + chunk
    if Bytes(ctx[FINISHED])[at] != 0 or Bytes(ctx[GOT])[place] != 0:
        return
    Bytes(ctx[GOT])[place] = 1
    host_of(ctx, me)[PROGRESS] = ctx[NOW]
    Ints(ctx[MISSING])[at] -= 1
    if Ints(ctx[MISSING])[at] == 0:
        _finish(ctx, me, vertex, chunk, 0)


@native
def _finish(ctx: Words, me: int, vertex: int, chunk: int, ecn: int) -> None:
    """A sum is complete at its owner."""
    at = vertex * ctx[CHUNKS] + chunk
    if Bytes(ctx[FINISHED])[at] != 0:
        return
    Bytes(ctx[FINISHED])[at] = 1
    host = host_of(ctx, me)
    host[PROGRESS] = ctx[NOW]
    host[PATIENCE] = ctx[TIMEOUT_PS]
    if ctx[ACKS] == 1:
        send(ctx, make(ctx, ACK, NOBODY, ctx[SHORT_BYTES], vertex, chunk, 0, ecn), me)
    left = Words(ctx[REMAIN]) + host[AT_ROUND] * ctx[HOSTS] + me
    left[0] -= 1
    if left[0] == 0:
        _report(ctx, me)


@native
def time_out(ctx: Words, me: int) -> None:
    """Has nothing happened for too long? Then ask for everything that is missing, or report again."""
    host = host_of(ctx, me)
    which = host[AT_ROUND]
    if which == ctx[BLOCKS]:
        return
    due = host[PROGRESS] + host[PATIENCE]
    if due > ctx[NOW]:
        schedule(ctx, due, TIMER, me)
        return
    ctx[TIMEOUTS] += 1
    host[PATIENCE] = min(2 * host[PATIENCE], LONGEST_PS)
    host[PROGRESS] = ctx[NOW]
    schedule(ctx, ctx[NOW] + host[PATIENCE], TIMER, me)
    if Words(ctx[REMAIN])[which * ctx[HOSTS] + me] == 0:
        _report(ctx, me)
        return
    rows = Words(ctx[UPLOAD_ROW]) + which * ctx[HOSTS] + me
    for at in range(rows[0], rows[1]):
        _fetch(ctx, me, Words(ctx[UPLOAD])[at])


@native
def _fetch(ctx: Words, me: int, vertex: int) -> None:
    chunks = ctx[CHUNKS]
    rows = Words(ctx[ROW]) + vertex
    for chunk in range(chunks):
        if Bytes(ctx[FINISHED])[vertex * chunks + chunk] == 0:
            for at in range(rows[0], rows[1]):
                if Bytes(ctx[GOT])[at * chunks + chunk] == 0:
                    source = Ints(ctx[NEIGHBOUR])[at]
                    owner = Ints(ctx[OWNER])[source]
                    ctx[FETCHES] += 1
                    send(ctx, make(ctx, FETCH, owner, ctx[SHORT_BYTES], vertex, chunk, source, 0), me)
