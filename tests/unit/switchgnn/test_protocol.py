# SPDX-License-Identifier: Apache-2.0
"""All workers and the reference switch, under duplication, delay and reordering; nothing is lost here.

Blind to faults that reference and workers share: tests/p4/switchgnn runs the same over the P4 program.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.switchgnn.wire import LANES, build_frames
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import GraphPlans, random_job, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from offramp_sim.switchgnn.reference import ReferenceSwitch
from offramp_sim.switchgnn.strawman_reference import ReferenceStrawman
from switchgnn_channel import UnrulyChannel


def exchange_and_check(lockstep: Lockstep, job: GraphPlans, plan: int, features: int, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-(2**24), 2**24, (len(job.boundary.owner), features)).astype(np.int32)
    expected = job.expected(x)
    sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
    for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
        assert np.array_equal(got, expected[endpoint.boundaries[plan]])


@pytest.mark.full
@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    limit=st.integers(2, 20),
    workers=st.integers(1, 5),
    duplication=st.sampled_from([0.0, 0.3]),
    delay=st.sampled_from([0.0, 0.2, 0.6]),
    window=st.sampled_from([1, 3, 1000]),
    order=st.sampled_from(["gamr", "random"]),
    strawman=st.booleans(),
)
def test_sums_are_exact(
    seed: int, limit: int, workers: int, duplication: float, delay: float, window: int, order: str, strawman: bool
) -> None:
    job = random_job(
        seed,
        vertices=16,
        edges=40,
        workers=workers,
        limit=1000 if strawman else limit,
        features=(5, 40),
        order=order,
    )
    switch = ReferenceStrawman(job.plans, job.ports, limit) if strawman else ReferenceSwitch(job.plans, job.ports)
    channels = [UnrulyChannel(seed + i, duplication, delay) for i in range(2)]
    lockstep = Lockstep(job.plans, job.ports, switch.process, window=window, up=channels[0], down=channels[1])
    lockstep.start()
    for i, (plan, features) in enumerate([(0, 5), (1, 40), (0, 3)]):
        exchange_and_check(lockstep, job, plan, features, seed + i)
    counts = switch.counters()
    assert counts["passes"] == sum(job.plans[plan].passes for plan in (0, 1, 0))
    assert counts["uploads"] == sum(job.plans[plan].packets for plan in (0, 1, 0))
    assert switch.open == 0
    assert all(e.stats.rejected == e.stats.foreign == e.stats.truncated == 0 for e in lockstep.endpoints)


def test_without_the_guard_duplicates_spoil_sums() -> None:
    """The fault of the paper's count-only design (specification 12.6): this suite can see it."""

    class Unguarded(ReferenceSwitch):
        def process(self, batch: PacketBatch) -> PacketBatch:
            self._seen.clear()
            return super().process(batch)

    spoiled = 0
    for seed in range(20):
        job = random_job(seed, vertices=16, edges=40, workers=3, limit=20)
        lockstep = Lockstep(
            job.plans, job.ports, Unguarded(job.plans, job.ports).process, window=1, up=UnrulyChannel(seed, 0.3, 0.6)
        )
        lockstep.start()
        try:
            exchange_and_check(lockstep, job, 0, 8, seed)
        except (AssertionError, OfframpError):
            spoiled += 1
    assert spoiled >= 10


def test_a_lost_packet_is_named() -> None:
    job = six_vertices()
    frames = iter(range(100))

    def lossy(batch: PacketBatch) -> PacketBatch:
        return batch.select(np.array([next(frames) != 5 for _ in range(len(batch))], np.bool_))

    lockstep = Lockstep(job.plans, job.ports, ReferenceSwitch(job.plans, job.ports).process, up=lossy)
    lockstep.start()
    x = np.ones((6, 1), np.int32)
    with pytest.raises(
        OfframpError, match=r"worker \d: nothing moves in block 0, round 1: \d of 2 results are missing"
    ):
        lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])


def test_rounds_wrap_around() -> None:
    job = random_job(3, vertices=16, edges=40, workers=3, limit=4)
    switch = ReferenceSwitch(job.plans, job.ports)
    lockstep = Lockstep(job.plans, job.ports, switch.process)
    lockstep.start()
    # As if 65533 rounds had passed: every register that a round would have left holds the one before.
    switch.round = 65533
    switch._waits_for = [65533] * 3
    for endpoint in lockstep.endpoints:
        endpoint.round = 65533
    for i in range(3):
        exchange_and_check(lockstep, job, 0, 8, i)
    assert 0 < switch.round < 100


def test_no_cut_edges_nothing_to_exchange() -> None:
    job = random_job(0, vertices=5, edges=8, workers=1, limit=4)
    lockstep = Lockstep(job.plans, job.ports, ReferenceSwitch(job.plans, job.ports).process)
    lockstep.start()
    assert [s.shape for s in lockstep.exchange(0, [np.zeros((0, 8), np.int32)])] == [(0, 8)]


def test_an_upload_that_came_before_is_counted_once() -> None:
    job = six_vertices()
    switch = ReferenceSwitch(job.plans, job.ports)
    lockstep = Lockstep(job.plans, job.ports, switch.process)
    lockstep.start()
    # A replay of worker 1's upload reaches the switch first and with the same content.
    x = np.array([[3], [-1], [10], [4], [-7], [2]], np.int32)
    lanes = np.zeros((1, LANES), np.int32)
    lanes[0, 0] = 10
    replay = build_frames(1, {"src_id": 2, "dst_id": 0xFFFFFFFF, "count": 3, "round": 1}, 1, lanes)
    replay.ports[:] = job.ports[1]
    assert len(switch.process(replay)) == 0
    sums = lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
    assert [s[:, 0].tolist() for s in sums] == [[7, 12], [-5, 5], [13, 3]]
    assert switch.counters()["duplicate"] == 1
