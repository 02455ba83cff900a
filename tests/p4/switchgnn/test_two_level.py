# SPDX-License-Identifier: Apache-2.0
"""Leaf and spine switches that run SwitchGNN's program, packet for packet against the reference of each.

The sums' oracle is the cut graph. Blind to what workers and all switches share: which worker is in which rack.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.switchgnn.leaf_spine import CrossRack, LeafSpine, cross_rack
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.wire import NO_ID, SWITCHGNN, build_frames
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import SIX_VERTEX_BLOCKS, GraphPlans, random_job, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_channel import UnrulyChannel
from switchgnn_leaf_reference import addressed
from switchgnn_senders import from_senders
from switchgnn_two_level import MakeTwoLevels, TwoLevels, factory

pytestmark = pytest.mark.p4

SIX = LeafSpine((0, 0, 1), spines=2)
X = np.array([[3], [-1], [10], [4], [-7], [2]], np.int32)


@pytest.fixture(scope="session")
def two_levels(programs) -> dict[str, MakeTwoLevels]:
    return {engine: factory(programs["v1model"], engine) for engine in ("python", "native")}


@pytest.fixture(params=["python", "native"])
def make(request: pytest.FixtureRequest, two_levels) -> MakeTwoLevels:
    return two_levels[request.param]


def lockstep_of(job: GraphPlans, levels: TwoLevels, **options) -> Lockstep:
    ports = list(range(1, levels.network.workers + 1))
    inside = levels.inside
    return Lockstep(job.plans, ports, inside.process, racks=levels.network.racks, busy=inside.busy, **options)


def partials(levels: TwoLevels) -> list[dict[str, int]]:
    """Headers of the partial sums that left leaves."""
    headers = [SWITCHGNN.decode(f[34:]) for leaf in levels.leaves for f in leaf.sent if len(f) == 178]
    return [h for h in headers if h["level"] == 1]


@pytest.mark.full
@pytest.mark.parametrize("blocks", [None, SIX_VERTEX_BLOCKS])
def test_six_vertices(make, blocks) -> None:
    """Specification section 14.8."""
    job = six_vertices(blocks)
    levels = make(job.plans, SIX)
    lockstep = lockstep_of(job, levels)
    lockstep.start()
    sums = lockstep.exchange(0, [X[e.boundaries[0]] for e in lockstep.endpoints])
    assert [int(v) for s in sums for v in s[:, 0]] == [7, 12, -5, 5, 13, 3]
    levels.check()
    counts = Counter(dict.fromkeys(range(6), 0))
    for header in partials(levels):
        counts[header["dst_id"]] += header["count"]
    assert dict(counts) == {0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 2}
    if blocks is None:
        assert len(partials(levels)) == 6
        assert levels.inside.crossed == 6
    assert sum(len(spine.sent) for spine in levels.spines) > 0


def test_volumes_between_racks_of_the_six() -> None:
    """Section 14.8, and 9: as many as by sending each vertex once to each leaf that needs it."""
    job = six_vertices()
    assert cross_rack(job.plans[0], job.boundary, SIX.racks) == CrossRack(partial=6, multicast=6, host=8)


def test_golden_partial(make) -> None:
    """Specification section 14.1, with other numbers: vertex 4 needs 0 and 2, both of leaf 0."""
    levels = make(six_vertices().plans, SIX)
    leaf = levels.leaves[0]
    leaf.switch.registers["SwitchGnnIngress.round.current"].write(0, 17)
    leaf.oracle.round = 17
    fields = {"src_id": np.array([0, 2]), "dst_id": NO_ID, "count": 3, "round": 17}
    lanes = np.ones((2, 32), np.int32)
    out = list(leaf.process(from_senders(build_frames(0, fields, 2, lanes).frames())))
    (partial,) = [frame for _, frame in out if SWITCHGNN.decode(frame[34:])["dst_id"] == 4]
    assert partial[34:54].hex() == "ffffffff000000040000000201000011" + "00000002"


def test_a_partial_sum_counts_once_for_each_leaf(make) -> None:
    levels = make(six_vertices().plans, SIX)
    source, home = levels.leaves
    for leaf in (source, home):
        leaf.switch.registers["SwitchGnnIngress.round.current"].write(0, 1)
        leaf.oracle.round = 1
    fields = {"src_id": np.array([0, 1, 2, 3]), "dst_id": NO_ID, "round": 1}
    out = source.process(from_senders(build_frames(0, fields, 4, np.ones((4, 32), np.int32)).frames()))
    for_four = [f for _, f in out if SWITCHGNN.decode(f[34:])["dst_id"] in (4, 5)]
    assert len(for_four) == 2
    results = home.process(PacketBatch.of((2, frame) for frame in for_four * 3))
    assert len(results) == 2
    assert home.oracle.counters()["duplicate"] == 4


def test_broken_partial_sums_change_nothing(make) -> None:
    levels = make(six_vertices().plans, LeafSpine((0, 1, 2)))
    home = levels.leaves[2]
    home.switch.registers["SwitchGnnIngress.round.current"].write(0, 1)
    home.oracle.round = 1
    good = {"src_id": NO_ID, "dst_id": 4, "level": 1, "count": 1, "round": 1}
    bad = [{"count": 0}, {"count": 3}, {"chunk_id": 1}, {"dst_id": 3}, {"block_id": 9}, {"round": 0}]
    frames = [next(build_frames(0, {**good, **b}, 1, np.ones((1, 32), np.int32)).frames()) for b in [*bad, {}]]
    *broken, whole = frames
    sent = [*(addressed(f, 0) for f in broken), whole]  # the last is of no leaf
    assert len(home.process(PacketBatch.of((2, f) for f in sent))) == 0
    counts = home.oracle.counters()
    assert (counts["malformed"], counts["unknown"], counts["stale"], counts["opened"]) == (3, 2, 1, 0)
    assert counts["stranger"] == 1


@pytest.mark.full
@settings(derandomize=True, max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_jobs_on_unruly_links(two_levels, seed: int) -> None:
    """Loss, duplication and reordering everywhere: exact sums, and no aggregator stays open."""
    soak(seed, two_levels["native"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000))
def test_a_thousand_seeds(two_levels, seed: int) -> None:
    soak(seed, two_levels["native"])


def soak(seed: int, make: MakeTwoLevels) -> None:
    rng = np.random.default_rng(seed)
    workers = int(rng.integers(2, 7))
    racks = int(rng.integers(2, min(workers, 4) + 1))
    assigned = rng.permutation([*range(racks), *rng.integers(0, racks, workers - racks)])
    network = LeafSpine(tuple(assigned.tolist()), spines=int(rng.integers(1, 4)))
    vertices = int(rng.integers(4, 15))
    job = random_job(
        seed,
        vertices=vertices,
        edges=2 * vertices,
        workers=workers,
        limit=int(rng.integers(2, 15)),
        features=(5, 40),
        order=str(rng.choice(["gamr", "random"])),
    )
    acks = bool(rng.random() < 0.5)
    loss = float(rng.choice([0.0, 0.02, 0.1]))  # on each of up to four links between two workers
    duplication, delay = rng.choice([0.0, 0.02, 0.1, 0.3], 2)
    seeds = iter(range(seed + 2, seed + 100))
    levels = make(
        job.plans,
        network,
        acks=acks,
        link=lambda: UnrulyChannel(next(seeds), duplication, delay, loss),
        hops=int(rng.integers(2, 6)),
    )
    first = float(rng.choice([12, 40, 80]))
    recovery = Recovery(first, 2 * first, acks=acks, reupload=acks and bool(rng.random() < 0.5))
    stalled = rng.random((workers, 64)) < rng.choice([0.0, 0.1, 0.3])
    up, down = (UnrulyChannel(seed + i, duplication, delay, loss) for i in range(2))
    lockstep = lockstep_of(
        job,
        levels,
        window=int(rng.choice([1, 4, 1000])),
        up=up,
        down=down,
        recovery=recovery,
        patience=int(400 * first),
        stalls=lambda worker, turn: bool(stalled[worker, turn // 16 % 64]),
    )
    lockstep.start()
    for plan, features in [(0, 5), (1, 40), (0, 3)]:
        x = rng.integers(-(2**26), 2**26, (vertices, features)).astype(np.int32)
        sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
        for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
            assert np.array_equal(got, job.expected(x)[endpoint.boundaries[plan]])
    assert all(e.stats.foreign == e.stats.truncated == e.stats.rejected == 0 for e in lockstep.endpoints)
    levels.check()


@pytest.mark.full
@settings(derandomize=True, max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_without_loss_the_network_carries_what_the_plan_says(two_levels, seed: int) -> None:
    rng = np.random.default_rng(seed)
    workers = int(rng.integers(2, 7))
    network = LeafSpine(tuple(w % 2 for w in range(workers)), spines=2)
    job = random_job(seed, vertices=14, edges=30, workers=workers, limit=int(rng.integers(3, 15)))
    levels = two_levels["native"](job.plans, network)
    lockstep = lockstep_of(job, levels)
    lockstep.start()
    x = rng.integers(-1000, 1000, (14, 8)).astype(np.int32)
    sums = lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
    for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
        assert np.array_equal(got, job.expected(x)[endpoint.boundaries[0]])
    levels.check()
    wanted = cross_rack(job.plans[0], job.boundary, network.racks)
    assert levels.inside.crossed == len(partials(levels)) == wanted.partial == wanted.multicast
    assert all(leaf.oracle.counters()["stale"] == 0 for leaf in levels.leaves)
