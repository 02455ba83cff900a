# SPDX-License-Identifier: Apache-2.0
"""Random graphs, partitions, memories and orders over the P4 programs, packet for packet against the reference.

Blind to faults that workers and switch share; the sums' oracle, the cut edges themselves, is not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.switchgnn.wire import IP_PROTOCOL
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import GraphPlans, random_job
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_channel import UnrulyChannel
from switchgnn_soak import Soak

pytestmark = [pytest.mark.p4, pytest.mark.full]

FLAGS = 46
"""Byte of a frame: is_ack, is_fetch, ecn, resend, two bits of more and of level."""


class SideBySide:
    """Feeds two switches and insists that the same packets leave both."""

    def __init__(self, target, oracle, *, one_by_one: bool) -> None:
        self.target, self.oracle, self.one_by_one = target, oracle, one_by_one

    def process(self, batch: PacketBatch) -> PacketBatch:
        parts = [batch.select(slice(i, i + 1)) for i in range(len(batch))] if self.one_by_one else [batch]
        outs = []
        for part in parts:
            got, want = self.target.process(part), self.oracle.process(part)
            assert sorted(got) == sorted(want)
            outs.append(got)
        return PacketBatch.concatenate(outs)


def run(job: GraphPlans, process, seed: int, window: int, duplication: float, delay: float) -> None:
    channels = [UnrulyChannel(seed + i, duplication, delay) for i in range(2)]
    lockstep = Lockstep(job.plans, job.ports, process, window=window, up=channels[0], down=channels[1])
    lockstep.start()
    rng = np.random.default_rng(seed)
    for plan, features in [(0, 5), (1, 40)]:
        x = rng.integers(-(2**26), 2**26, (len(job.boundary.owner), features)).astype(np.int32)
        expected = job.expected(x)
        sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
        for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
            assert np.array_equal(got, expected[endpoint.boundaries[plan]])


JOBS = {
    "seed": st.integers(0, 2**32 - 1),
    "vertices": st.integers(2, 14),
    "workers": st.integers(1, 5),
    "limit": st.integers(2, 14),
    "order": st.sampled_from(["gamr", "degree", "random"]),
    "window": st.sampled_from([1, 4, 1000]),
    "duplication": st.sampled_from([0.0, 0.2]),
    "delay": st.sampled_from([0.0, 0.4]),
}


@settings(derandomize=True, max_examples=200, deadline=None)
@given(**JOBS)
def test_switchgnn(
    p4_target, make_reference, seed, vertices, workers, limit, order, window, duplication, delay
) -> None:
    job = random_job(
        seed, vertices=vertices, edges=2 * vertices, workers=workers, limit=limit, features=(5, 40), order=order
    )
    check_switchgnn(job, limit, p4_target(job), make_reference(job), seed, window, duplication, delay)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(**JOBS)
def test_switchgnn_on_tofino(
    p4_targets, make_reference, seed, vertices, workers, limit, order, window, duplication, delay
) -> None:
    """The rule of one access is checked when the program is loaded, for every path through it."""
    job = random_job(
        seed, vertices=vertices, edges=2 * vertices, workers=workers, limit=limit, features=(5, 40), order=order
    )
    check_switchgnn(job, limit, p4_targets("tna-native")(job), make_reference(job), seed, window, duplication, delay)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(**JOBS)
def test_switchgnn_by_replication(
    p4_targets, make_reference, seed, vertices, workers, limit, order, window, duplication, delay
) -> None:
    job = random_job(
        seed, vertices=vertices, edges=2 * vertices, workers=workers, limit=limit, features=(5, 40), order=order
    )
    target, oracle = p4_targets("replicated-native")(job), make_reference(job, replicates=True)
    check_switchgnn(job, limit, target, oracle, seed, window, duplication, delay)


def check_switchgnn(
    job: GraphPlans, limit: int, target, oracle, seed: int, window: int, duplication: float, delay: float
) -> None:
    run(job, SideBySide(target, oracle, one_by_one=False).process, seed, window, duplication, delay)
    counts = target.counters()
    assert counts == oracle.counters()
    assert counts["contributions"] == counts["passes"] == sum(plan.passes for plan in job.plans)
    assert counts["results"] == counts["uploads"] == sum(plan.packets for plan in job.plans)
    assert target.occupies(0, oracle.occupancy()[1])
    assert oracle.occupancy()[1] <= max(plan.aggregators_peak for plan in job.plans) <= 2 * limit


@settings(derandomize=True, max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_recovery(p4_target, make_reference, seed: int) -> None:
    """Loss, stalls, pulls, acknowledgements and restarts, too."""
    check_recovery(seed, p4_target, make_reference)


@pytest.mark.parametrize("engine", ["python", "native"])
@settings(derandomize=True, max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_recovery_by_replication(p4_targets, make_reference, engine: str, seed: int) -> None:
    check_recovery(seed, p4_targets(f"replicated-{engine}"), partial(make_reference, replicates=True))


def check_recovery(seed: int, make_target, make_oracle) -> None:
    soak = Soak(seed)
    pairs = []

    def fresh():
        pairs.append([make(soak.job, acks=soak.acks) for make in (make_target, make_oracle)])
        return SideBySide(*pairs[-1], one_by_one=False).process

    soak.run(fresh)
    target, oracle = pairs[-1]
    assert target.counters() == oracle.counters()
    assert target.occupancy() == oracle.occupancy()


@settings(derandomize=True, max_examples=100, deadline=None)
@given(**JOBS)
def test_strawman(p4_target, make_reference, seed, vertices, workers, limit, order, window, duplication, delay) -> None:
    job = random_job(
        seed, vertices=vertices, edges=2 * vertices, workers=workers, limit=1000, features=(5, 40), order=order
    )
    target, oracle = p4_target(job, capacity=limit), make_reference(job, capacity=limit)
    run(job, SideBySide(target, oracle, one_by_one=True).process, seed, window, duplication, delay)
    counts = target.counters()
    assert counts == oracle.counters()
    assert counts["passes"] == sum(plan.passes for plan in job.plans)
    assert target.occupancy() == oracle.occupancy()
    assert target.occupancy()[0] == 0
    assert target.occupancy()[1] <= limit


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    frames=st.lists(st.binary(max_size=200), max_size=4),
    flips=st.lists(st.tuples(st.integers(0, 177), st.integers(1, 255)), max_size=3),
)
def test_garbage_is_treated_as_by_the_reference(p4_target, make_reference, frames, flips) -> None:
    check_garbage(p4_target, make_reference, frames, flips)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    frames=st.lists(st.binary(max_size=200), max_size=4),
    flips=st.lists(st.tuples(st.integers(0, 177), st.integers(1, 255)), max_size=3),
)
def test_garbage_is_treated_as_by_the_reference_on_tofino(p4_targets, make_reference, frames, flips) -> None:
    check_garbage(p4_targets("tna-native"), make_reference, frames, flips, unseen=beyond_the_parser)


@pytest.mark.parametrize("more", [1, 2, 3])
def test_segments_beyond_the_job_are_dropped(p4_targets, make_reference, more) -> None:
    for engine in ("native", "tna-native", "tna-python"):
        unseen = beyond_the_parser if engine.startswith("tna") else lambda _: False
        check_garbage(p4_targets(engine), make_reference, [], [(FLAGS, more << 2)], unseen=unseen)


def beyond_the_parser(frame: bytes) -> bool:
    """Whether a Tofino's parser has no state for so many segments: it drops such a packet before ingress counts it."""
    is_ours = frame[12:15] == b"\x08\x00\x45" and frame[23] == IP_PROTOCOL and not frame[20] & 0x1F and not frame[21]
    return is_ours and not frame[FLAGS] & 0xD0 and frame[FLAGS] >> 2 & 3 > 1


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    frames=st.lists(st.binary(max_size=200), max_size=4),
    flips=st.lists(st.tuples(st.integers(0, 177), st.integers(1, 255)), max_size=3),
)
def test_garbage_is_treated_as_by_the_reference_by_replication(p4_targets, make_reference, frames, flips) -> None:
    check_garbage(p4_targets("replicated-native"), partial(make_reference, replicates=True), frames, flips)


def check_garbage(
    make_target,
    make_reference,
    frames: list[bytes],
    flips: list[tuple[int, int]],
    unseen: Callable[[bytes], bool] = lambda _: False,
) -> None:
    from offramp.switchgnn.wire import LANES, build_frames

    job = random_job(1, vertices=10, edges=20, workers=3, limit=4)
    block = job.plans[0].blocks[0]
    fields = {"src_id": block.vertices, "dst_id": 0xFFFFFFFF, "block_id": block.block_id, "round": 1}
    lanes = np.arange(len(block.vertices) * LANES, dtype=np.int32).reshape(-1, LANES)
    uploads = list(build_frames(0, fields, len(block.vertices), lanes).frames())
    for at, flip in flips:
        damaged = bytearray(uploads[0])
        damaged[at] ^= flip
        uploads[0] = bytes(damaged)
    target, oracle = make_target(job), make_reference(job)
    for switch in (target, oracle):
        switch.set_round(1)
    batch = PacketBatch.of((1, frame) for frame in [*frames, *uploads])
    assert sorted(target.process(batch)) == sorted(oracle.process(batch))
    expected = oracle.counters()
    if unseen(uploads[0]):
        expected["malformed"] -= 1
    assert target.counters() == expected
