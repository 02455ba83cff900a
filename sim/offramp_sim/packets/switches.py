# SPDX-License-Identifier: Apache-2.0
"""What leaves and spines do with a packet (specification sections 5, 9 and 10)."""

from __future__ import annotations

from typing import Final

from offramp_p4.native.subset import Bytes, Ints, Words, native
from offramp_sim.packets.events import packet, release, schedule
from offramp_sim.packets.hosts import make
from offramp_sim.packets.layout import (
    ACK,
    ACK_HOST,
    ACK_ROW,
    BLOCK_OF,
    BLOCKS,
    CHUNKS,
    DATA,
    DATA_BYTES,
    DONE,
    DONE_COUNT,
    DONE_ROUND,
    ECN,
    EMISSION,
    FETCH,
    FREE_AGGREGATORS,
    GO,
    HOSTS,
    KIND,
    LEAF_OF,
    LEAVES,
    LEFT,
    MARKED_SUM,
    MODE,
    NEIGHBOUR,
    NODE,
    NOW,
    OWNER,
    PARTIAL,
    PASS_FREE,
    PASS_PS,
    PASSES,
    RAW,
    RESEND,
    RESULT,
    ROUND,
    ROW,
    SEEN,
    SHORT_BYTES,
    TO,
    VERTICES,
    A,
    B,
    C,
)
from offramp_sim.packets.ports import forward

DEAD: Final = -1
UNDECIDED: Final = 0
AGGREGATED: Final = 1
DELIVERED: Final = 2


@native
def switched(ctx: Words, number: int, node: int) -> None:
    """A packet arrives at a switch."""
    p = packet(ctx, number)
    kind = p[KIND]
    leaf = node - ctx[HOSTS]
    if leaf >= ctx[LEAVES]:
        forward(ctx, number, node)
    elif kind == DATA:
        _add_upload(ctx, number, leaf)
    elif kind == PARTIAL and Words(ctx[LEAF_OF])[p[TO]] == leaf:
        _contribute(ctx, leaf, p[A], p[B], p[C], p[ECN], _passed(ctx, leaf, 1))
        release(ctx, number)
    elif kind == ACK and p[TO] < 0:
        _spread_ack(ctx, number, node)
    elif kind == DONE and Words(ctx[LEAF_OF])[0] == leaf:
        _count_done(ctx, p[A], p[B], node)
        release(ctx, number)
    else:
        if kind == FETCH:
            _abandon(ctx, leaf, p[A], p[B])
        elif kind == RESEND:
            _abandon(ctx, leaf, p[C], p[B])
        forward(ctx, number, node)


@native
def _cell(ctx: Words, leaf: int, vertex: int, chunk: int) -> int:
    return (leaf * ctx[VERTICES] + vertex) * ctx[CHUNKS] + chunk


@native
def _passed(ctx: Words, leaf: int, passes: int) -> int:
    """The pipeline makes passes: when it begins with them."""
    ctx[PASSES] += passes
    free = Words(ctx[PASS_FREE]) + leaf
    start = max(free[0], ctx[NOW])
    free[0] = start + passes * ctx[PASS_PS]
    return start


@native
def _add_upload(ctx: Words, number: int, leaf: int) -> None:
    """Pass by pass, add a feature to the sums of all its neighbours; a second time it is ignored."""
    p = packet(ctx, number)
    vertex = p[A]
    chunk = p[B]
    ecn = p[ECN]
    release(ctx, number)
    seen = Bytes(ctx[SEEN]) + (vertex * ctx[CHUNKS] + chunk)
    if seen[0] != 0 or Ints(ctx[BLOCK_OF])[vertex] < ctx[ROUND]:
        return
    seen[0] = 1
    rows = Words(ctx[ROW]) + vertex
    start = _passed(ctx, leaf, rows[1] - rows[0])
    if ctx[FREE_AGGREGATORS] >= 0:
        _best_effort(ctx, leaf, vertex, chunk, ecn, start)
        return
    for at in range(rows[0], rows[1]):
        hop = at - rows[0]
        _contribute(ctx, leaf, Ints(ctx[NEIGHBOUR])[at], chunk, 1, ecn, start + hop * ctx[PASS_PS])


@native
def _contribute(ctx: Words, leaf: int, vertex: int, chunk: int, count: int, ecn: int, time: int) -> None:
    """Add to a sum; the last contribution sends it to its owner, or to the leaf of its owner."""
    cell = _cell(ctx, leaf, vertex, chunk)
    left = Ints(ctx[LEFT]) + cell
    if left[0] == DEAD:
        return
    left[0] -= count
    marked = Bytes(ctx[MARKED_SUM]) + cell
    if ecn == 1:
        marked[0] = 1
    if left[0] > 0:
        return
    owner = Ints(ctx[OWNER])[vertex]
    if Words(ctx[LEAF_OF])[owner] == leaf:
        _emit(ctx, leaf, make(ctx, RESULT, owner, ctx[DATA_BYTES], vertex, chunk, 0, marked[0]), time)
    else:
        contributions = Ints(ctx[LEFT])[cell + ctx[LEAVES] * ctx[VERTICES] * ctx[CHUNKS]]
        partial = make(ctx, PARTIAL, owner, ctx[DATA_BYTES], vertex, chunk, contributions, marked[0])
        _emit(ctx, leaf, partial, time)


@native
def _emit(ctx: Words, leaf: int, number: int, time: int) -> None:
    node = ctx[HOSTS] + leaf
    if time == ctx[NOW]:
        forward(ctx, number, node)
    else:
        packet(ctx, number)[NODE] = node
        schedule(ctx, time, EMISSION, number)


@native
def _best_effort(ctx: Words, leaf: int, vertex: int, chunk: int, ecn: int, start: int) -> None:
    """The strawman: who finds no free aggregator gets features as they are, a copy for each worker."""
    rows = Words(ctx[ROW]) + vertex
    chunks = ctx[CHUNKS]
    for at in range(rows[0], rows[1]):
        neighbour = Ints(ctx[NEIGHBOUR])[at]
        time = start + (at - rows[0]) * ctx[PASS_PS]
        mode = Bytes(ctx[MODE]) + (neighbour * chunks + chunk)
        if mode[0] == UNDECIDED:
            mode[0] = DELIVERED
            if ctx[FREE_AGGREGATORS] > 0:
                mode[0] = AGGREGATED
                ctx[FREE_AGGREGATORS] -= 1
        if mode[0] == AGGREGATED:
            _contribute(ctx, leaf, neighbour, chunk, 1, ecn, time)
            if Ints(ctx[LEFT])[_cell(ctx, leaf, neighbour, chunk)] == 0:
                ctx[FREE_AGGREGATORS] += 1
        elif not _copied(ctx, vertex, at, chunk):
            owner = Ints(ctx[OWNER])[neighbour]
            _emit(ctx, leaf, make(ctx, RAW, owner, ctx[DATA_BYTES], vertex, chunk, 0, ecn), time)


@native
def _copied(ctx: Words, vertex: int, until: int, chunk: int) -> bool:
    """Whether an earlier hop has sent a copy to the same worker."""
    owner = Ints(ctx[OWNER])[Ints(ctx[NEIGHBOUR])[until]]
    for at in range(Words(ctx[ROW])[vertex], until):
        other = Ints(ctx[NEIGHBOUR])[at]
        if Ints(ctx[OWNER])[other] == owner and Bytes(ctx[MODE])[other * ctx[CHUNKS] + chunk] == DELIVERED:
            return True
    return False


@native
def _abandon(ctx: Words, leaf: int, vertex: int, chunk: int) -> None:
    """The owner collects the features itself: the aggregator is no longer used."""
    Ints(ctx[LEFT])[_cell(ctx, leaf, vertex, chunk)] = DEAD


@native
def _spread_ack(ctx: Words, number: int, node: int) -> None:
    p = packet(ctx, number)
    vertex = p[A]
    chunk = p[B]
    ecn = p[ECN]
    release(ctx, number)
    rows = Words(ctx[ACK_ROW]) + vertex
    for at in range(rows[0], rows[1]):
        copy = make(ctx, ACK, Ints(ctx[ACK_HOST])[at], ctx[SHORT_BYTES], vertex, chunk, 0, ecn)
        forward(ctx, copy, node)


@native
def _count_done(ctx: Words, host: int, which: int, node: int) -> None:
    """The barrier (section 5.5): who is late is told again, who repeats himself is not counted twice."""
    now = ctx[ROUND]
    if which < now:
        forward(ctx, make(ctx, GO, host, ctx[SHORT_BYTES], host, now, 0, 0), node)
        return
    reported = Words(ctx[DONE_ROUND]) + host
    if reported[0] == which:
        return
    reported[0] = which
    ctx[DONE_COUNT] += 1
    if ctx[DONE_COUNT] < ctx[HOSTS] or now == ctx[BLOCKS]:
        return
    ctx[DONE_COUNT] = 0
    ctx[ROUND] = now + 1
    for each in range(ctx[HOSTS]):
        forward(ctx, make(ctx, GO, each, ctx[SHORT_BYTES], each, now + 1, 0, 0), node)
