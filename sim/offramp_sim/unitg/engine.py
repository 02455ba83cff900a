# SPDX-License-Identifier: Apache-2.0
"""The run: stages, replicas of the language model and transfers, from event to event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Final

from offramp.unitg.schedule import Op
from offramp_sim.unitg.devices import DeviceWork, TimeSharedDevice
from offramp_sim.unitg.network import StageNetwork, Transfer
from offramp_sim.unitg.scenario import COLOCATED, SEQUENTIAL, UnitgScenario

_NOTHING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class StageActivity:
    """Activity of a stage: ``forward 1``, ``backward 2``, ``language model``, or ``gradients`` that it receives."""

    stage: int
    name: str
    start: float
    end: float


@dataclass(slots=True)
class PipelineResult:
    """Result of a policy.

    Attributes:
        makespan_s: time until both models are done; pipeline_s, model_s: time until each is done.
        iteration_s: time of each iteration of the pipeline.
        steps_inside: steps of the language model that ended before the pipeline did.
        transfer_s: time of each activation and gradient between stages, from start to arrival.
        bars: everything that happened.
    """

    makespan_s: float = 0.0
    pipeline_s: float = 0.0
    model_s: float = 0.0
    iteration_s: list[float] = field(default_factory=list)
    steps_inside: int = 0
    transfer_s: list[float] = field(default_factory=list)
    bars: list[StageActivity] = field(default_factory=list)


def simulate(scenario: UnitgScenario, policy: str) -> PipelineResult:
    """Simulate a scenario under one of :data:`~offramp_sim.unitg.scenario.POLICIES`."""
    return _UnitgRun(scenario, policy).run()


class _UnitgRun:
    """State of a simulation; the methods are its events."""

    def __init__(self, scenario: UnitgScenario, policy: str) -> None:
        self._scenario, self._policy = scenario, policy
        self._now = 0.0
        self._network = StageNetwork(scenario, policy)
        ranks = range(scenario.stages)
        self._ranks = ranks
        self._devices = [TimeSharedDevice() for _ in ranks]
        self._todo = [
            [(i, op) for i in range(scenario.iterations) for op in scenario.place(stage).order()][::-1]
            for stage in ranks
        ]
        self._arrived: set[tuple[int, int, Op]] = set()
        self._open = [stage != 0 for stage in ranks]
        self._modules = [scenario.lm_modules if scenario.lm_steps else 0 for _ in ranks]
        self._steps = [0 for _ in ranks]
        self._parts = [scenario.stages for _ in ranks]
        self._sums = [0 for _ in ranks]
        self._iteration_start = 0.0
        self._outcome = PipelineResult()

    def run(self) -> PipelineResult:
        """Run to the end of both models."""
        while True:
            self._begin_what_can()
            busy = [work for device in self._devices for work in device.works()]
            self._network.allocate()
            moving = [t for t in self._network.active() if t.rate > 0]
            if not busy and not moving:
                break
            things: list[DeviceWork | Transfer] = [*busy, *moving]
            step = min(thing.left / thing.rate for thing in things)
            self._now += step
            for thing in things:
                thing.left -= step * thing.rate
            self._end_what_is_over()
        assert not any(self._todo), "a stage waits forever"
        self._outcome.makespan_s = self._now
        return self._outcome

    def _begin_what_can(self) -> None:
        for stage in self._ranks:
            device = self._devices[stage]
            if device.pipeline is None and self._todo[stage] and self._may_begin(stage):
                self._begin_operation(stage)
            if device.model is None and self._modules[stage] and self._may_model(stage):
                seconds = self._scenario.lm_step_s / self._scenario.lm_modules
                device.model = DeviceWork("language model", seconds, self._now, partial(self._module_done, stage))

    def _may_begin(self, stage: int) -> bool:
        if self._policy == SEQUENTIAL and min(self._steps) < self._scenario.lm_steps:
            return False
        iteration, op = self._todo[stage][-1]
        place = self._scenario.place(stage)
        comes = not place.last if op.backward else not place.first
        return not comes or (stage, iteration, op) in self._arrived

    def _may_model(self, stage: int) -> bool:
        if self._policy in {COLOCATED, SEQUENTIAL}:
            return True
        return self._devices[stage].pipeline is None and (self._open[stage] or not self._todo[stage])

    def _begin_operation(self, stage: int) -> None:
        iteration, op = self._todo[stage].pop()
        place = self._scenario.place(stage)
        if place.pauses_before(op):
            self._open[stage] = False
        if place.first and op == Op(backward=False, microbatch=0):
            self._iteration_start = self._now
        name = f"{'backward' if op.backward else 'forward'} {op.microbatch + 1}"
        seconds = self._scenario.backward_s if op.backward else self._scenario.forward_s
        work = DeviceWork(name, seconds, self._now, lambda: self._operation_done(stage, iteration, op))
        self._devices[stage].pipeline = work

    def _operation_done(self, stage: int, iteration: int, op: Op) -> None:
        self._devices[stage].pipeline = None
        place = self._scenario.place(stage)
        if place.resumes_after(op):
            self._open[stage] = True
            self._network.closed.discard(stage)
        neighbour = stage - 1 if op.backward else stage + 1
        if neighbour in self._ranks:
            self._transfer(stage, neighbour, iteration, op)
        if place.first and op == Op(backward=True, microbatch=place.microbatches - 1):
            self._outcome.iteration_s.append(self._now - self._iteration_start)
        if not any(self._todo) and not any(device.pipeline for device in self._devices):
            self._outcome.pipeline_s = self._now
            self._network.closed.clear()
            self._outcome.steps_inside = min(self._steps)

    def _transfer(self, stage: int, neighbour: int, iteration: int, op: Op) -> None:
        start = self._now
        if self._scenario.place(neighbour).pauses_before(op):
            self._network.closed.add(neighbour)  # the first packet of the microbatch that ends the bubble

        def arrive() -> None:
            self._arrived.add((neighbour, iteration, op))
            self._outcome.transfer_s.append(self._now - start)

        self._network.send(Transfer(stage, neighbour, self._scenario.activation_bytes, True, arrive))

    def _module_done(self, stage: int) -> None:
        self._devices[stage].model = None
        self._modules[stage] -= 1
        if not self._modules[stage]:
            self._average(stage)

    def _average(self, stage: int) -> None:
        """Average gradients by direct reduce-scatter and all-gather: a part to each rank, its sum back to all."""
        for rank in self._ranks:
            self._gradients(stage, rank, partial(self._part_arrived, rank))

    def _part_arrived(self, rank: int) -> None:
        self._parts[rank] -= 1
        if not self._parts[rank]:
            self._parts[rank] = self._scenario.stages
            for peer in self._ranks:
                self._gradients(rank, peer, partial(self._sum_arrived, peer))

    def _sum_arrived(self, rank: int) -> None:
        self._sums[rank] += 1
        if self._sums[rank] < self._scenario.stages:
            return
        self._sums[rank] = 0
        self._steps[rank] += 1
        if self._steps[rank] < self._scenario.lm_steps:
            self._modules[rank] = self._scenario.lm_modules
        elif min(self._steps) == self._scenario.lm_steps:
            self._outcome.model_s = self._now

    def _gradients(self, source: int, target: int, done: Callable[[], None]) -> None:
        size = 0.0 if source == target else self._scenario.gradient_bytes / self._scenario.stages
        start = self._now

        def arrive() -> None:
            if size and self._now > start:
                self._outcome.bars.append(StageActivity(target, "gradients", start, self._now))
            done()

        self._network.send(Transfer(source, target, size, False, arrive))

    def _end_what_is_over(self) -> None:
        for stage, device in product(self._ranks, ("pipeline", "model")):
            work: DeviceWork | None = getattr(self._devices[stage], device)
            if work is not None and work.left <= _NOTHING:
                self._outcome.bars.append(StageActivity(stage, work.name, work.start, self._now))
                work.done()
        for transfer in self._network.active():
            if transfer.left <= transfer.rate * _NOTHING:
                self._network.finish(transfer)
