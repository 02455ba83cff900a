# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN, an all-reduce and classed frames at once on one switch: each gets what it gets on a switch of its own.

Sums are compared with the graph's and with exact arithmetic, frames with a model in Python, counters with those of the
systems' own programs. Blind to queues' order, which ``test_priorities`` sees.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from allreduce_lab import JOB, endpoints, equal
from allreduce_oracle import exact_sum, random_tensor
from hermod_model import PORTS, QUIET, Model, random_frame
from offramp.allreduce import entries
from offramp.allreduce.wire import IP_PROTOCOL as ALL_REDUCE
from offramp.job.shared_program import (
    TOFINO_CLASS_STAGES,
    TOFINO_LANES,
    TOFINO_PIPE,
    TOFINO_REGISTERS,
    TOFINO_STAGES,
    TOFINO_UNITS,
)
from offramp.switch_groups import ALL_REDUCE as FIRST_GROUP
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.wire import IP_PROTOCOL as SWITCHGNN
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch
from offramp_p4.lint.one_access import violations
from offramp_p4.tna.resources import estimate
from offramp_sim.allreduce import direct as allreduce
from offramp_sim.allreduce.lockstep import AllReduceLockstep
from offramp_sim.hermod import direct as hermod
from offramp_sim.switchgnn import direct as switchgnn
from offramp_sim.switchgnn.jobs import GraphPlans, random_job
from offramp_sim.switchgnn.lockstep import Lockstep
from one_switch import OneSwitch, Process
from switchgnn_channel import UnrulyChannel
from system_programs import SHARED, fresh, program

pytestmark = pytest.mark.p4

RANKS = (2, 3, 4)
FRAMES = 0
"""The system of frames that no other sums."""


def graph_job(seed: int) -> GraphPlans:
    job = random_job(seed, vertices=14, edges=30, workers=4, limit=14, features=(5, 70), lanes=64)
    return GraphPlans(job.boundary, job.plans, [3, 1, 4, 2])


def gnn(job: GraphPlans, seed: int, trouble: float) -> Callable[[Process], None]:
    """Two exchanges whose sums are those of the graph."""

    def work(process: Process) -> None:
        up, down = (UnrulyChannel(seed + side, trouble, trouble, trouble) for side in range(2))
        recovery = Recovery(timeout_s=12.0, cap_s=48.0) if trouble else None
        run = Lockstep(job.plans, job.ports, process, up=up, down=down, recovery=recovery)
        run.start()
        rng = np.random.default_rng(seed)
        for plan, features in ((0, 5), (1, 70)):
            x = rng.integers(-(2**26), 2**26, (len(job.boundary.owner), features)).astype(np.int32)
            expected = job.expected(x)
            sums = run.exchange(plan, [x[each.boundaries[plan]] for each in run.endpoints])
            for endpoint, got in zip(run.endpoints, sums, strict=True):
                assert np.array_equal(got, expected[endpoint.boundaries[plan]])

    return work


def reduction(ports: Sequence[int], seed: int, trouble: float) -> Callable[[Process], None]:
    """Sums of tensors that are exact."""

    def work(process: Process) -> None:
        up, down = (UnrulyChannel(seed * 2 + side, trouble, trouble, trouble) for side in range(2))
        ranks = endpoints(len(ports), turn=seed, retry_s=20)
        run = AllReduceLockstep(ranks, ports, process, up=up, down=down, patience=8000)
        rng = np.random.default_rng(seed)
        for dtype, count in (("float32", 700), ("int64", 130)):
            given = random_tensor(rng, dtype, count, len(ports))
            expected, arrays = exact_sum(given, 64, 128), [array.copy() for array in given]
            run.all_reduce(arrays)
            assert all(equal(array, expected) for array in arrays)

    return work


def frames(model: Model, seed: int) -> Callable[[Process], None]:
    """Frames that leave where, and as, the model says."""

    def work(process: Process) -> None:
        rng = random.Random(seed)
        for _ in range(20):
            sent = [(rng.choice(PORTS), _unsummed(random_frame(rng))) for _ in range(8)]
            expected = [out for port, frame in sent for out in model.pass_(port, frame)]
            left = process(PacketBatch.of(sent))
            assert list(zip(left.ports.tolist(), left.frames(), strict=True)) == expected

    return work


def _unsummed(frame: bytes) -> bytes:
    """The frame as no packet of a system that sums."""
    if len(frame) > 23 and frame[12:14] == b"\x08\x00" and frame[23] in (SWITCHGNN, ALL_REDUCE):
        return frame[:23] + b"\x11" + frame[24:]
    return frame


def prepared(engine: str, job: GraphPlans) -> PlainSwitch:
    """A switch with the entries of all."""
    switch = fresh(SHARED, engine)
    switchgnn.load(switch, job.plans, job.ports)
    allreduce.load(switch, entries.star(RANKS), JOB, [1], FIRST_GROUP)
    hermod.load(switch, QUIET)
    return switch


@pytest.mark.parametrize(
    ("engine", "seed", "trouble"),
    [
        ("native", 2, 0.15),
        pytest.param("python", 1, 0.0, marks=pytest.mark.full),
        pytest.param("python", 3, 0.15, marks=pytest.mark.full),
        pytest.param("native", 4, 0.0, marks=pytest.mark.full),
    ],
)
def test_three_systems_at_once(engine: str, seed: int, trouble: float) -> None:
    job = graph_job(seed)
    switch, model = prepared(engine, job), Model(QUIET)
    one = OneSwitch(switch.process, seed, (SWITCHGNN, ALL_REDUCE))
    one.run(
        {
            SWITCHGNN: gnn(job, seed, trouble),
            ALL_REDUCE: reduction(RANKS, seed, trouble),
            FRAMES: frames(model, seed),
        }
    )
    together = switchgnn.counters(switch), allreduce.outcomes(switch)
    assert switchgnn.strangers(switch) == allreduce.strangers(switch) == {}
    alone = fresh("switchgnn/v1model.p4", engine), fresh("allreduce/v1model.p4", engine)
    switchgnn.load(alone[0], job.plans, job.ports)
    allreduce.load(alone[1], entries.star(RANKS), JOB, [1])
    gnn(job, seed, trouble)(alone[0].process)
    reduction(RANKS, seed, trouble)(alone[1].process)
    assert together == (switchgnn.counters(alone[0]), allreduce.outcomes(alone[1]))
    assert together[0]["contributions"] > 30


@pytest.mark.full
def test_no_pass_accesses_a_register_twice_beyond_hermods_own() -> None:
    assert violations(program(SHARED)) == violations(program("hermod/v1model.p4"))


@pytest.mark.full
@pytest.mark.parametrize(("system", "name"), [("SwitchGNN", "switchgnn/tna.p4"), ("all-reduce", "allreduce/tna.p4")])
def test_what_the_planner_says_of_a_tofino(system: str, name: str) -> None:
    """Every register of a pipe is in a stateful unit of its own, so that two such programs are too many.

    With lanes in common they are not; then the stages are too many, since a packet's class comes before its sum.
    """
    registers = [extern.name for extern in program(name).externs if extern.extern == "Register"]
    assert len(registers) == TOFINO_REGISTERS[system] < TOFINO_UNITS < sum(TOFINO_REGISTERS.values())
    assert sum(register.endswith(("sums", "pairs")) for register in registers) == TOFINO_LANES
    assert sum(TOFINO_REGISTERS.values()) - TOFINO_LANES <= TOFINO_UNITS
    (report,) = estimate(program(name))
    assert len(report.stages) == TOFINO_STAGES[system]
    assert TOFINO_CLASS_STAGES + max(TOFINO_STAGES.values()) > TOFINO_PIPE == report.chip.stages


@pytest.mark.full
def test_when_a_tofino_knows_a_packets_class() -> None:
    (report,) = estimate(program("hermod/tna.p4"))
    names = [[table.name for table in stage.tables] for stage in report.stages]
    assert "pipe.HermodIngress.classify.classes" in names[TOFINO_CLASS_STAGES - 1]
