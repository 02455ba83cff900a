# SPDX-License-Identifier: Apache-2.0
"""Switches behind one face: the P4 programs on the embedded switch, and the plain-Python reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import pytest

from offramp.p4src import p4_source
from offramp.switchgnn import barrier
from offramp.switchgnn.plan import MAX_NEED
from offramp.switchgnn.target import TNA, target_of
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch, ir, make_switch
from offramp_p4.frontend import load
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import GraphPlans
from offramp_sim.switchgnn.reference import ReferenceSwitch
from offramp_sim.switchgnn.strawman_reference import ReferenceStrawman
from switchgnn_soak import SIZES

CURRENT = "SwitchGnnIngress.round.current"
STATE = "SwitchGnnIngress.aggregate.state"


class Target(Protocol):
    """A switch that runs a job."""

    def process(self, batch: PacketBatch) -> PacketBatch: ...

    def counters(self) -> dict[str, int]: ...

    def occupancy(self) -> tuple[int, int]:
        """Open aggregators now and at most, where they are counted."""

    def open(self) -> int:
        """Open aggregators now, however they are found."""

    def occupies(self, now: int, peak: int) -> bool:
        """Whether these are the open aggregators, as far as the program counts them."""

    def further_passes(self, hops: int) -> int:
        """Recirculations of uploads with so many neighbours beyond the first of each."""

    def set_round(self, round_: int) -> None:
        """As if all rounds before had passed."""


@dataclass
class P4Target:
    switch: PlainSwitch

    def further_passes(self, hops: int) -> int:
        return 0 if target_of(self.switch.tables).replicates else hops

    def process(self, batch: PacketBatch) -> PacketBatch:
        return self.switch.process(batch)

    def counters(self) -> dict[str, int]:
        return direct.counters(self.switch)

    def occupancy(self) -> tuple[int, int]:
        entries_used = direct.occupancy(self.switch)
        assert entries_used is not None
        return entries_used

    def open(self) -> int:
        return self.occupancy()[0]

    def occupies(self, now: int, peak: int) -> bool:
        return self.occupancy() == (now, peak)

    def set_round(self, round_: int) -> None:
        self.switch.registers[CURRENT].write(0, round_)
        done = self.switch.registers[barrier.DONE]
        for host in range(done.size):
            done.write(host, round_)


@dataclass
class TnaTarget(P4Target):
    """The program for Tofino, which counts no open aggregators: those open now are seen in their registers."""

    def open(self) -> int:
        assert direct.occupancy(self.switch) is None
        entries = self.switch.registers[TNA.full(STATE)].values  # a tag and what is left, 16 bits each
        return sum(0 < entry & 0xFFFF <= MAX_NEED for entry in entries)

    def occupies(self, now: int, peak: int) -> bool:
        return self.open() == now

    def set_round(self, round_: int) -> None:
        self.switch.registers[TNA.full(CURRENT)].write(0, round_)
        done = self.switch.registers[TNA.full(barrier.DONE)]
        for host in range(done.size):
            done.write(host, round_)


@dataclass
class ReferenceTarget:
    switch: ReferenceSwitch

    def further_passes(self, hops: int) -> int:
        return hops

    def process(self, batch: PacketBatch) -> PacketBatch:
        return self.switch.process(batch)

    def counters(self) -> dict[str, int]:
        return self.switch.counters()

    def occupancy(self) -> tuple[int, int]:
        return self.switch.open, self.switch.peak

    def open(self) -> int:
        return self.switch.open

    def occupies(self, now: int, peak: int) -> bool:
        return self.occupancy() == (now, peak)

    def set_round(self, round_: int) -> None:
        self.switch.round = round_
        self.switch._waits_for = [round_] * len(self.switch._waits_for)


TargetFactory = Callable[..., Target]
ENGINES = ("python", "native")


@pytest.fixture(scope="session")
def programs() -> dict[str, ir.Program]:
    """All programs, small."""
    names = ("v1model", "replicated_v1model", "strawman_v1model", "tna")
    return {name: load(p4_source(f"switchgnn/{name}.p4"), defines=SIZES) for name in names}


@pytest.fixture(scope="session")
def p4_targets(programs: dict[str, ir.Program]) -> Callable[[str], TargetFactory]:
    """``p4_targets(engine)``: makes the P4 program's targets on switches that live as long as the test run."""
    return cache(lambda engine: _p4_factory(programs, engine))


@pytest.fixture(scope="session")
def p4_target(engine: str, p4_targets: Callable[[str], TargetFactory]) -> TargetFactory:
    """``p4_target(job, capacity=None)``: the P4 program with the job loaded; with capacity the strawman's."""
    return p4_targets(engine)


def _p4_factory(programs: dict[str, ir.Program], engine: str) -> TargetFactory:
    if engine.startswith("tna-"):
        return _tna_factory(make_switch(programs["tna"], engine.removeprefix("tna-")))
    if engine.startswith("replicated-"):
        return _replicated_factory(make_switch(programs["replicated_v1model"], engine.removeprefix("replicated-")))
    switches = {name: make_switch(programs[name], engine) for name in ("v1model", "strawman_v1model")}

    def make(job: GraphPlans, capacity: int | None = None, *, acks: bool = False) -> P4Target:
        switch = switches["v1model" if capacity is None else "strawman_v1model"]
        switch.reset()
        direct.load(switch, job.plans, job.ports, capacity=capacity, acks=acks)
        return P4Target(switch)

    return make


def _replicated_factory(switch: PlainSwitch) -> TargetFactory:
    def make(job: GraphPlans, capacity: int | None = None, *, acks: bool = False) -> P4Target:
        assert capacity is None, "the strawman recirculates"
        switch.reset()
        direct.load(switch, job.plans, job.ports, acks=acks)
        return P4Target(switch)

    return make


def _tna_factory(switch: PlainSwitch) -> TargetFactory:
    def make(job: GraphPlans, capacity: int | None = None, *, acks: bool = False) -> TnaTarget:
        assert capacity is None, "the strawman is for v1model only"
        switch.reset()
        direct.load(switch, job.plans, job.ports, acks=acks)
        return TnaTarget(switch)

    return make


def reference_target(
    job: GraphPlans, capacity: int | None = None, *, acks: bool = False, replicates: bool = False
) -> ReferenceTarget:
    """The same for the reference."""
    if capacity is None:
        return ReferenceTarget(ReferenceSwitch(job.plans, job.ports, acks=acks, replicates=replicates))
    return ReferenceTarget(ReferenceStrawman(job.plans, job.ports, capacity))


@pytest.fixture(
    params=["python", "native", "replicated-python", "replicated-native", "tna-python", "tna-native", "reference"]
)
def make_target(request: pytest.FixtureRequest, p4_targets: Callable[[str], TargetFactory]) -> TargetFactory:
    """Each test runs over all: the programs for v1model and Tofino on both engines, the reference."""
    return reference_target if request.param == "reference" else p4_targets(request.param)


@pytest.fixture(params=["python", "native", "reference"])
def make_strawman(request: pytest.FixtureRequest, p4_targets: Callable[[str], TargetFactory]) -> TargetFactory:
    """The same for the strawman, which is for v1model only."""
    return reference_target if request.param == "reference" else p4_targets(request.param)


@pytest.fixture(scope="session")
def make_reference() -> TargetFactory:
    """The oracle by itself."""
    return reference_target
