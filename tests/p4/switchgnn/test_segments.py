# SPDX-License-Identifier: Apache-2.0
"""Aggregators of 64 and 128 lanes: exact over faults, the reference's packets, and refusals where lanes are too few.

Blind to what p4c makes of a Tofino's pairs of lanes, which no test here compiles.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from offramp.p4src import p4_source
from offramp.switchgnn.control import require_lanes
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.target import REPLICATED, TNA, V1MODEL, target_of
from offramp.switchgnn.wire import LANES, NO_ID, build_frames, frame_bytes
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch, make_switch
from offramp_p4.frontend import load
from offramp_p4.tna.resources import estimate
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import GraphPlans, random_job, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from offramp_sim.switchgnn.reference import ReferenceSwitch
from switchgnn_channel import UnrulyChannel
from switchgnn_senders import from_senders
from switchgnn_soak import SIZES

pytestmark = pytest.mark.p4

PROGRAMS = {
    "v1model-native-64": ("v1model", "native", 2),
    "v1model-native-128": ("v1model", "native", 4),
    "v1model-python-64": ("v1model", "python", 2),
    "replicated-native-128": ("replicated_v1model", "native", 4),
    "tna-native-64": ("tna", "native", 2),
    "tna-python-64": ("tna", "python", 2),
}
WIDTHS = (5, 33, 64, 100, 129, 300)


@cache
def switch_of(name: str) -> PlainSwitch:
    program, engine, segments = PROGRAMS[name]
    return make_switch(load(p4_source(f"switchgnn/{program}.p4"), defines={**SIZES, "SEGMENTS": str(segments)}), engine)


def loaded(name: str, job: GraphPlans, *, acks: bool = False) -> PlainSwitch:
    switch = switch_of(name)
    switch.reset()
    direct.load(switch, job.plans, job.ports, acks=acks)
    return switch


def job_of(name: str, seed: int) -> GraphPlans:
    lanes = LANES * PROGRAMS[name][2]
    return random_job(seed, vertices=12, edges=30, workers=4, limit=7, features=WIDTHS, lanes=lanes)


def exchange_all(job: GraphPlans, lockstep: Lockstep, seed: int) -> None:
    """An exchange of each width, with the sums from the cut edges."""
    rng = np.random.default_rng(seed)
    for plan, features in enumerate(WIDTHS):
        x = rng.integers(-(2**26), 2**26, (len(job.boundary.owner), features)).astype(np.int32)
        sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
        for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
            assert np.array_equal(got, job.expected(x)[endpoint.boundaries[plan]])


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_packets_are_the_references(name: str) -> None:
    job = job_of(name, 3)
    switch = loaded(name, job)
    target = target_of(switch.tables)
    oracle = ReferenceSwitch(job.plans, job.ports, replicates=target.replicates, extra_harvest=target.extra_harvest)
    lengths = set()

    def process(batch: PacketBatch) -> PacketBatch:
        got, want = switch.process(batch), oracle.process(batch)
        assert sorted(got) == sorted(want)
        lengths.update(got.lengths.tolist())
        return got

    lockstep = Lockstep(job.plans, job.ports, process)
    lockstep.start()
    exchange_all(job, lockstep, 3)
    assert direct.counters(switch) == oracle.counters()
    assert lengths == {frame_bytes(segments) for segments in (0, 1, 2, PROGRAMS[name][2])}


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [name for name in PROGRAMS if "native" in name])
def test_sums_are_exact_over_faults_and_restarts(name: str, seed: int) -> None:
    job = job_of(name, 10 + seed)
    recovery = Recovery(20.0, 40.0, acks=seed == 1, reupload=seed == 1)
    restarts = {40} if seed == 2 else set()

    def process(batch: PacketBatch) -> PacketBatch:
        if due := {turn for turn in restarts if turn <= lockstep.turn}:
            restarts.difference_update(due)
            loaded(name, job, acks=recovery.acks)
        return switch_of(name).process(batch)

    up, down = (UnrulyChannel(seed + i, 0.1, 0.2, 0.1) for i in range(2))
    loaded(name, job, acks=recovery.acks)
    lockstep = Lockstep(job.plans, job.ports, process, window=16, up=up, down=down, recovery=recovery)
    lockstep.start()
    exchange_all(job, lockstep, seed)
    assert all(e.stats.foreign == e.stats.truncated == e.stats.rejected == 0 for e in lockstep.endpoints)


def contribution(vertex: int, value: int, segments: int) -> PacketBatch:
    fields = {"src_id": vertex, "dst_id": NO_ID, "round": 1}
    return build_frames(0, fields, 1, np.full((1, segments * LANES), value, np.int32))


def begun(name: str) -> PlainSwitch:
    """A switch with the six vertices' block in its first round."""
    job = six_vertices()
    switch = loaded(name, job)
    Lockstep(job.plans, job.ports, switch.process).start()
    return switch


def send(switch: PlainSwitch, *batches: PacketBatch) -> list[tuple[int, bytes]]:
    frames = [next(batch.frames()) for batch in batches]
    return [out for frame in frames for out in switch.process(from_senders([frame]))]


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_segment_that_a_packet_does_not_have_counts_as_zeros(name: str) -> None:
    """Vertex 3 has the neighbours 0 and 5; what an aggregator held before must not come back."""
    switch = begun(name)
    for registers in switch.registers.values():
        if registers.name.endswith((".val0", ".val31", ".pairs")):
            for at in range(registers.size):
                registers.write(at, 0x1234)
    results = send(switch, contribution(0, 3, 1), contribution(5, 2, 2))
    of_3 = [frame for _, frame in results if int.from_bytes(frame[38:42], "big") == 3]
    lanes = np.frombuffer(of_3[0][50 : frame_bytes(2)], ">i4").tolist()
    assert lanes == [5] * LANES + [2] * LANES


@pytest.mark.parametrize("name", ["v1model-python-64", "tna-python-64"])
def test_more_segments_than_an_aggregator_has_are_malformed(name: str) -> None:
    switch = begun(name)
    before = direct.counters(switch)["malformed"]
    assert send(switch, contribution(0, 3, 3), contribution(5, 2, 4)) == []
    assert direct.counters(switch)["malformed"] == before + (2 if name.startswith("v1model") else 0)
    assert direct.counters(switch)["uploads"] == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_tells_how_many_lanes_it_has(name: str) -> None:
    plans = {
        lanes: random_job(1, vertices=6, edges=9, workers=2, limit=6, lanes=lanes).plans for lanes in (32, 64, 128)
    }
    registers = list(switch_of(name).registers)
    has = LANES * PROGRAMS[name][2]
    for lanes, plan in plans.items():
        if lanes <= has:
            require_lanes(plan, registers)
            continue
        with pytest.raises(
            OfframpError, match=f"for aggregators of {lanes} lanes, those of the switch program have {has}"
        ):
            require_lanes(plan, registers)


def test_a_target_refuses_lanes_that_it_has_not() -> None:
    narrow, wide = (random_job(1, vertices=6, edges=9, workers=2, limit=6, lanes=n).plans for n in (32, 128))
    for target in (V1MODEL, REPLICATED):
        target.check_lanes(wide)
    with pytest.raises(OfframpError, match="for aggregators of 128 lanes, tna has 32, 64"):
        TNA.check_lanes(wide)
    with pytest.raises(OfframpError, match="expected the same for all"):
        V1MODEL.check_lanes([*narrow, *wide])


@pytest.mark.parametrize("segments", [1, 2])
def test_both_widths_fit_a_tofino(segments: int) -> None:
    program = load(p4_source("switchgnn/tna.p4"), defines={"SEGMENTS": str(segments)})
    (report,) = estimate(program)
    assert report.fits
    assert len(report.stages) <= 12
