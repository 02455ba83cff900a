# SPDX-License-Identifier: Apache-2.0
"""The order of chunks: urgency, work conservation, preemption, each byte once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.hermod.endhost.priorities import CoflowPriority, Priorities
from offramp.hermod.endhost.scheduler import CoflowScheduler
from offramp.hermod.endhost.transfers import CoflowTransfers, OutgoingBytes
from offramp.hermod.factors import CType, Factors
from offramp.hermod.queues import plan_queues
from offramp_base.errors import OfframpError


def coflow(urgency: int, number: int, sizes: dict[int, int], *, in_order: bool = False, spans=None) -> CoflowTransfers:
    flow = CoflowTransfers(CoflowPriority((urgency,), urgency, 0), number, in_order)
    outgoing = {
        peer: OutgoingBytes((peer, number), memoryview(bytes(size)), flow, size, ready=True)
        for peer, size in sizes.items()
    }
    flow.cut(outgoing, spans)
    return flow


def drain(scheduler: CoflowScheduler, chunk: int, blocked=frozenset()) -> list[tuple[int, int, int]]:
    """Coflow, peer and bytes of each chunk until nothing can go."""
    sent = []
    while (piece := scheduler.next(blocked)) is not None:
        count = min(chunk, piece.stop - piece.start)
        sent.append((piece.outgoing.coflow.number, piece.outgoing.route[0], count))
        scheduler.sent(piece, count)
    return sent


def test_a_more_urgent_coflow_goes_before_the_next_chunk_of_a_lower_one():
    scheduler = CoflowScheduler()
    scheduler.add(coflow(5, 1, {1: 30}))
    piece = scheduler.next(())
    assert piece is not None
    scheduler.add(coflow(2, 2, {1: 20}))  # while the first chunk is on its way
    scheduler.sent(piece, 10)
    assert drain(scheduler, 10) == [(2, 1, 10), (2, 1, 10), (1, 1, 10), (1, 1, 10)]


def test_equal_priorities_go_in_order_of_submission():
    scheduler = CoflowScheduler()
    for number in (2, 1, 3):
        scheduler.add(coflow(0, number, {1: 10}))
    assert [number for number, *_ in drain(scheduler, 10)] == [1, 2, 3]


def test_transfers_of_one_coflow_take_turns_and_sub_phases_do_not():
    scheduler = CoflowScheduler()
    scheduler.add(coflow(0, 1, {1: 20, 2: 10}))
    assert drain(scheduler, 10) == [(1, 1, 10), (1, 2, 10), (1, 1, 10)]
    scheduler.add(coflow(0, 2, {1: 20, 2: 10}, in_order=True, spans=[(1, 0, 15), (2, 0, 10), (1, 15, 20)]))
    assert drain(scheduler, 10) == [(2, 1, 10), (2, 1, 5), (2, 2, 10), (2, 1, 5)]


def test_a_lower_coflow_takes_only_peers_that_no_higher_one_can_use():
    scheduler = CoflowScheduler()
    high, low = coflow(1, 1, {1: 10}), coflow(2, 2, {1: 10, 2: 10})
    scheduler.add(high)
    scheduler.add(low)
    assert drain(scheduler, 10, blocked={(1, 1)}) == [(2, 2, 10)]  # not to rank 1, though its own connection is free
    high.pieces[0].outgoing.ready = False
    assert drain(scheduler, 10) == [(2, 1, 10)]
    high.pieces[0].outgoing.ready = True
    assert drain(scheduler, 10) == [(1, 1, 10)]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_every_byte_goes_once_and_nothing_overtakes(seed: int):
    rng = np.random.default_rng(seed)
    scheduler = CoflowScheduler()
    waiting = []
    for number in range(int(rng.integers(1, 6))):
        sizes = {int(p): int(rng.integers(1, 50)) for p in rng.choice(4, int(rng.integers(1, 5)), replace=False)}
        waiting.append(coflow(int(rng.integers(3)), number, sizes, in_order=False))
    left = {c.number: {p.outgoing.route[0]: p.stop for p in c.pieces} for c in waiting}
    active: list[CoflowTransfers] = []
    while waiting or any(any(peers.values()) for peers in left.values()):
        if waiting and rng.random() < 0.3:
            active.append(waiting.pop())
            scheduler.add(active[-1])
        blocked = {(int(p), int(d)) for p, d in rng.integers(0, 4, (int(rng.integers(4)), 2))}
        piece = scheduler.next(blocked)
        if piece is None:
            for c in active:
                assert all(
                    (p, c.mark.dscp) in blocked or busy(c, p, active, left) for p, n in left[c.number].items() if n
                )
            continue
        chosen, peer = piece.outgoing.coflow, piece.outgoing.route[0]
        assert (peer, chosen.mark.dscp) not in blocked
        assert not busy(chosen, peer, active, left)
        assert all(stuck(c, blocked, active, left) for c in active if c.place < chosen.place)
        count = min(int(rng.integers(1, 20)), piece.stop - piece.start)
        left[chosen.number][peer] -= count
        scheduler.sent(piece, count)
    assert len(scheduler) == 0


def stuck(
    coflow: CoflowTransfers, blocked: set, active: list[CoflowTransfers], left: dict[int, dict[int, int]]
) -> bool:
    peers = [peer for peer, count in left[coflow.number].items() if count]
    return all((peer, coflow.mark.dscp) in blocked or busy(coflow, peer, active, left) for peer in peers)


def busy(coflow: CoflowTransfers, peer: int, active: list[CoflowTransfers], left: dict[int, dict[int, int]]) -> bool:
    return any(c.place < coflow.place and left[c.number].get(peer, 0) for c in active)


@pytest.mark.parametrize("spans", [[(1, 0, 5)], [(1, 5, 10), (1, 0, 5)], [(2, 0, 10)], [(1, 0, 0), (1, 0, 10)]])
def test_pieces_that_are_not_the_transfers_are_refused(spans):
    with pytest.raises(OfframpError, match="coflow"):
        coflow(0, 1, {1: 10}, spans=spans)


def test_marks_follow_the_job():
    priorities = Priorities.of_job(8, 32)
    assert priorities.codec is not None
    marks = [priorities.mark(factors) for factors in sorted(priorities.codec.every(), key=priorities.codec.code)]
    bands = [{6: 0, 4: 1, 0: 1}.get(m.so_priority, 2) for m in marks]  # pfifo_fast's
    assert [m.dscp for m in marks] == sorted((m.dscp for m in marks), reverse=True)
    assert bands == sorted(bands)
    assert set(bands) == {0, 1, 2}
    assert priorities.mark(Factors(0, CType.EP, 0)) == CoflowPriority((0, 0, 0), 63, 6, queue=6)
    assert priorities.mark(None).key > max(m.key for m in marks)
    assert (priorities.control.dscp, priorities.control.queue) == (48, 7)
    assert {Priorities.off().mark(f) for f in priorities.codec.every()} == {CoflowPriority((), 0, 0)}
    assert Priorities.off().control == CoflowPriority((), 0, 0)
    kept_free = plan_queues(priorities.codec, control=())
    assert Priorities(priorities.codec, kept_free).control == CoflowPriority((), 0, 0)
    with pytest.raises(OfframpError, match="microbatch 8"):
        priorities.mark(Factors(8, CType.EP, 0))
