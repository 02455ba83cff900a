# SPDX-License-Identifier: Apache-2.0
"""Time-outs, and what a worker repeats, asks and answers, packet by packet in the six-vertex example."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.backoff import Backoff
from offramp.switchgnn.endpoint import SwitchGnnEndpoint
from offramp.switchgnn.recovery import Recovery, RetryTimer
from offramp.switchgnn.wire import LANES, NO_ID, SWITCHGNN, build_frames
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import random_job, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from offramp_sim.switchgnn.reference import ReferenceSwitch

BEFORE = "DONE 1 0"
"""The message that every time-out repeats: the DONE of the round before, for a switch that has lost its registers."""

X = np.array([[3], [-1], [10], [4], [-7], [2]], np.int32)


def frame(value: int | None = None, **fields: int) -> PacketBatch:
    lanes = None if value is None else np.full((1, LANES), value, np.int32)
    return build_frames(0, {"dst_id": NO_ID, "round": 1, **fields}, 1, lanes)


def go(round_: int) -> PacketBatch:
    return frame(src_id=NO_ID, count=3, is_ack=1, is_fetch=1, round=round_)


def result(vertex: int, value: int, count: int, **fields: int) -> PacketBatch:
    return frame(value, src_id=NO_ID, dst_id=vertex, count=count, **fields)


def resend(source: int, vertex: int) -> PacketBatch:
    return frame(int(X[source, 0]), src_id=source, dst_id=vertex, count=1, resend=1)


def sent(endpoint: SwitchGnnEndpoint) -> list[str]:
    """Everything that the endpoint wants to send, as ``TYPE source destination``."""
    names = {0: "DATA", 1: "RESEND", 2: "FETCH", 3: "FETCH AGAIN", 4: "ACK", 6: "DONE"}
    out = []
    while len(batch := endpoint.outgoing(2)):
        for _, raw in batch:
            h = SWITCHGNN.decode(raw[34:])
            kind = names[h["is_ack"] << 2 | h["is_fetch"] << 1 | h["resend"]]
            out.append(f"{kind} {h['src_id']}" + (f" {h['dst_id']}" if h["dst_id"] != NO_ID else ""))
    return out


def worker_1(recovery: Recovery) -> SwitchGnnEndpoint:
    """Owner of 2, which needs 0, 1, 4, and of 3, which needs 0 and 5; its uploads have left."""
    endpoint = SwitchGnnEndpoint(1, six_vertices().plans, recovery)
    endpoint.start()
    endpoint.incoming(go(1))
    endpoint.begin(0, X[endpoint.boundaries[0]])
    assert sent(endpoint) == ["DATA 2", "DATA 3"]
    endpoint.tick(0.0)
    return endpoint


def test_backoff_doubles_up_to_its_cap_and_starts_again() -> None:
    backoff = Backoff(1.0, 3.0)
    assert [t for t in range(14) if backoff.fires(float(t))] == [1, 3, 6, 9, 12]
    backoff.restart()
    assert [t for t in range(14, 19) if backoff.fires(float(t))] == [15, 17]


def test_everything_missing_is_fetched_after_the_time_out() -> None:
    endpoint = worker_1(Recovery(4.0, 8.0))
    endpoint.incoming(result(3, 5, 2))
    endpoint.tick(3.0)
    endpoint.tick(6.9)
    assert sent(endpoint) == [BEFORE]
    endpoint.tick(7.0)
    assert sent(endpoint) == ["FETCH 2 0", "FETCH 2 1", "FETCH 2 4"]
    endpoint.incoming(resend(0, 2))
    endpoint.tick(8.0)
    endpoint.tick(12.0)
    assert sent(endpoint) == ["FETCH AGAIN 2 1", "FETCH AGAIN 2 4", BEFORE]
    endpoint.incoming(PacketBatch.concatenate([resend(1, 2), resend(4, 2), resend(4, 2)]))
    assert endpoint.finished
    assert endpoint.sums.tolist() == [[-5], [5]]
    assert (endpoint.stats.fetches, endpoint.stats.pulled) == (5, 3)


def test_a_fetched_feature_serves_every_vertex_but_each_aggregator_is_released() -> None:
    endpoint = worker_1(Recovery(4.0, 8.0))
    endpoint.incoming(PacketBatch.concatenate([resend(u, 2) for u in (0, 1, 4)]))
    endpoint.incoming(resend(5, 3))
    assert endpoint.finished, "0 came for 2 and counts for 3"
    endpoint = worker_1(Recovery(4.0, 8.0))
    endpoint.incoming(PacketBatch.concatenate([resend(5, 3), resend(0, 3), resend(1, 2)]))
    endpoint.tick(0.0)
    endpoint.tick(4.0)
    assert sent(endpoint) == ["FETCH 2 4", BEFORE]
    endpoint = worker_1(Recovery(4.0, 8.0))
    endpoint.incoming(PacketBatch.concatenate([resend(5, 3), resend(0, 3)]))
    assert endpoint.sums.tolist() == [[0], [0]]
    endpoint.incoming(frame(int(X[1, 0]), src_id=1, dst_id=3, count=1, resend=1))  # 3 does not need 1
    assert endpoint.stats.rejected == 1


def test_a_result_replaces_what_was_fetched() -> None:
    endpoint = worker_1(Recovery())
    endpoint.incoming(PacketBatch.concatenate([resend(0, 2), resend(1, 2), result(2, -5, 3), resend(4, 2)]))
    endpoint.incoming(result(3, 5, 2))
    assert endpoint.sums.tolist() == [[-5], [5]]


def test_fetch_is_answered_until_the_next_round() -> None:
    endpoint = worker_1(Recovery())
    ask = frame(src_id=4, dst_id=2, is_fetch=1)
    endpoint.incoming(ask)
    assert sent(endpoint) == ["RESEND 2 4"]
    endpoint.incoming(PacketBatch.concatenate([result(3, 5, 2), result(2, -5, 3)]))
    endpoint.incoming(ask)
    assert sent(endpoint) == ["RESEND 2 4", "DONE 1 0"]
    endpoint.incoming(frame(src_id=4, dst_id=0, is_fetch=1))  # not this worker's
    endpoint.incoming(go(2))
    endpoint.incoming(ask)
    assert sent(endpoint) == []
    assert endpoint.stats.resends == 2


def test_acks_tell_of_sums_and_of_congestion() -> None:
    endpoint = worker_1(Recovery(acks=True))
    endpoint.incoming(result(3, 5, 2, ecn=1))
    assert sent(endpoint) == ["ACK 3"]
    assert endpoint.stats.marks == 0, "the senders are told, not this worker"
    endpoint.incoming(frame(src_id=4, count=2, is_ack=1, ecn=1))
    assert endpoint.stats.marks == 1


def test_an_ack_that_comes_after_this_workers_sums_counts_and_one_of_a_past_round_does_not() -> None:
    endpoint = worker_1(Recovery(acks=True))
    endpoint.incoming(PacketBatch.concatenate([result(3, 5, 2), result(2, -5, 3)]))
    assert endpoint.waiting
    before, ack = endpoint.progress, frame(src_id=4, count=2, is_ack=1, ecn=1)
    endpoint.incoming(ack)
    assert (endpoint.progress, endpoint.stats.marks, endpoint.stats.stale) == (before + 1, 1, 0)
    endpoint.incoming(result(3, 5, 2))  # a sum is late by now
    assert endpoint.stats.stale == 1
    endpoint.incoming(go(2))
    before = endpoint.progress
    endpoint.incoming(ack)
    assert (endpoint.progress, endpoint.stats.marks, endpoint.stats.stale) == (before, 1, 2)


def test_only_uploads_of_which_nobody_heard_are_repeated() -> None:
    endpoint = worker_1(Recovery(4.0, 8.0, acks=True, reupload=True))
    endpoint.incoming(frame(src_id=5, count=2, is_ack=1))  # 5 needs 1 and 3: the upload of 3 arrived
    endpoint.tick(0.0)
    endpoint.tick(1.0)
    assert sent(endpoint) == ["DATA 2", BEFORE]
    endpoint.tick(3.0)
    assert sent(endpoint) == ["DATA 2", BEFORE]
    endpoint.tick(4.0)
    assert sent(endpoint)[0].startswith("FETCH")


@pytest.mark.parametrize("wrong", [{"timeout_s": 0.0}, {"timeout_s": 9.0}, {"reupload": True}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(OfframpError, match="recovery: "):
        Recovery(**wrong)


def test_repeats_come_four_times_as_often_as_fetches_up_to_their_caps() -> None:
    timer = RetryTimer(Recovery(8.0, 32.0))
    assert timer.due_s is None
    fired = [(now, *timer.fires(float(now))) for now in range(100)]
    assert [now for now, repeat, _ in fired if repeat] == [2, 6, *range(14, 100, 8)]
    assert [now for now, _, fetch in fired if fetch] == [8, 24, 56, 88]
    assert timer.due_s == 102.0
    timer.restart()
    assert timer.due_s is None
    assert timer.fires(200.0) == (False, False)
    assert timer.due_s == 202.0
    assert [timer.fires(now) for now in (201.5, 202.0, 208.0)] == [(False, False), (True, False), (True, True)]


def test_time_outs_without_a_word() -> None:
    assert (Recovery().timeout_s, Recovery().cap_s) == (1.0, 8.0)
    assert Recovery(timeout_s=2.0, cap_s=2.0).timeout_s == 2.0


@pytest.mark.parametrize(("limit", "first", "least"), [(10.0, 0.02, 32), (10.0, 1.0, 10), (60.0, 0.5, 32), (2, 2, 1)])
def test_a_worker_asks_often_before_it_gives_up(limit: float, first: float, least: int) -> None:
    timer = RetryTimer(Recovery.within(limit, first))
    steps = [timer.fires(step * 0.01)[1] for step in range(round(limit / 0.01) + 1)]
    assert sum(steps) >= least


class ShallowQueue:
    """A way that carries ``room`` frames in a turn and loses the others; counts the FETCHes of a turn."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.lost = 0
        self.most_fetches = 0

    def __call__(self, batch: PacketBatch) -> PacketBatch:
        headers = [SWITCHGNN.decode(raw[34:]) for raw in batch.frames()]
        self.most_fetches = max(self.most_fetches, sum(h["is_fetch"] and not h["is_ack"] for h in headers))
        self.lost += max(0, len(batch) - self._room)
        return batch.select(slice(self._room))


WORKERS = 3


def turns_behind_a_shallow_queue(room: int) -> tuple[int, ShallowQueue]:
    """Turns until an exchange is done whose results and answers pass a queue with ``room`` for the frames of a turn."""
    job = random_job(5, vertices=3000, edges=15_000, workers=WORKERS, limit=100_000)
    switch = ReferenceSwitch(job.plans, job.ports)
    asked, queue = ShallowQueue(1 << 30), ShallowQueue(room)
    lockstep = Lockstep(
        job.plans, job.ports, switch.process, up=asked, down=queue, recovery=Recovery(20.0, 160.0), patience=10_000
    )
    lockstep.start()
    x = np.random.default_rng(1).integers(-999, 999, (3000, 8)).astype(np.int32)
    sums = lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
    for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
        assert np.array_equal(got, job.expected(x)[endpoint.boundaries[0]])
    assert queue.lost
    return lockstep.turn, asked


@pytest.mark.full
def test_answers_to_fetches_do_not_overflow_what_results_overflowed(monkeypatch: pytest.MonkeyPatch) -> None:
    in_windows, asked = turns_behind_a_shallow_queue(800)
    assert asked.most_fetches <= 256 * WORKERS
    monkeypatch.setattr("offramp.switchgnn.endpoint._FETCHES", 1 << 30)
    all_at_once, _ = turns_behind_a_shallow_queue(800)
    assert 3 * in_windows < all_at_once
