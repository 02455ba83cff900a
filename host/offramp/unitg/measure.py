# SPDX-License-Identifier: Apache-2.0
"""The benefit of interleaving: both phases in sequence compared with both at once, alternating in one run (U5)."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from offramp.unitg.job import UnitgJob, plan
from offramp.unitg.rank import Rank
from offramp.workers.launch import open_launcher
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.graph.data import Graph
    from offramp.unitg.settings import UnitgSettings
    from offramp.workers.group import Group

_WARM_UP = 2


@dataclass(frozen=True)
class Round:
    """One round: the same work in each mode, ``epochs`` iterations and ``lm_steps`` steps.

    Attributes:
        gnn_s, lm_s: seconds of each phase by itself; in sequence they take the sum.
        interleaved_s, colocated_s: seconds of both, until the later one is done.
        iteration_s: median seconds of an iteration alone, with the language model in bubbles, and with it beside the
            pipeline.
    """

    gnn_s: float
    lm_s: float
    interleaved_s: float
    colocated_s: float
    iteration_s: tuple[float, float, float]


@dataclass(frozen=True)
class Measurement:
    """Rounds of a run; the relevant numbers are medians over them."""

    epochs: int
    lm_steps: int
    rounds: list[Round]

    def saving(self) -> float:
        """Fraction of the time that interleaving saves compared with the phases in sequence."""
        return median(1 - r.interleaved_s / (r.gnn_s + r.lm_s) for r in self.rounds)

    def saving_colocated(self) -> float:
        """Share of the time that co-location without a gate saves against one phase after the other."""
        return median(1 - r.colocated_s / (r.gnn_s + r.lm_s) for r in self.rounds)

    def slowdown(self) -> float:
        """Relative increase of an iteration's time with the language model in its bubbles."""
        return median(r.iteration_s[1] / r.iteration_s[0] - 1 for r in self.rounds)

    def slowdown_colocated(self) -> float:
        """Relative increase of an iteration's time with the language model beside it, without a gate."""
        return median(r.iteration_s[2] / r.iteration_s[0] - 1 for r in self.rounds)

    def as_dict(self) -> dict[str, Any]:
        """Numbers and rounds, ready for JSON."""
        return {
            "epochs": self.epochs,
            "lm_steps": self.lm_steps,
            "saving": self.saving(),
            "slowdown": self.slowdown(),
            "saving_colocated": self.saving_colocated(),
            "slowdown_colocated": self.slowdown_colocated(),
            "rounds": [asdict(r) for r in self.rounds],
        }


@sendable
@dataclass(frozen=True)
class MeasurementTask:
    """Amount of work to measure; if ``lm_steps`` is None, the steps fill the bubbles to the fraction ``fill``."""

    rounds: int
    lm_steps: int | None = None
    fill: float = 0.9


def measure(
    graph: Graph, settings: UnitgSettings, task: MeasurementTask, on_round: Callable[[int], None] = lambda _: None
) -> Measurement | None:
    """Measure; returns None in processes of torchrun or srun other than rank 0.

    Raises:
        OfframpError: the settings do not fit the graph, a worker died, or the language model failed.
    """
    with open_launcher(settings.stages, field="stages") as launcher:
        jobs = [(job, task) for job in plan(graph, settings).jobs] if launcher.leads else None
        measured: Measurement | None = launcher.run(measure_rank, jobs, tuple[UnitgJob, MeasurementTask], on_round)
    return measured


def measure_rank(
    group: Group, item: tuple[UnitgJob, MeasurementTask], report: Callable[[Any], None]
) -> Measurement | None:
    """One rank's part of a measurement."""
    job, task = item
    with Rank(group, job) as rank:
        bench = _RunBench(group, job, rank)
        bench.pipeline(_WARM_UP)
        bench.language_model(1)
        steps = task.lm_steps or bench.fitting_steps(task.fill)
        rounds = []
        for number in range(1, task.rounds + 1):
            rounds.append(bench.round(steps))
            if group.rank == 0:
                report(number)
        fault = rank.tuner.progress.fault if rank.tuner is not None else "there is none"
        if fault is not None:
            raise OfframpError(f"rank {group.rank}: the language model: {fault}")
    return Measurement(job.settings.epochs, steps, rounds) if group.rank == 0 else None


class _RunBench:
    """Repeats parts of a run, with all ranks in step."""

    def __init__(self, group: Group, job: UnitgJob, rank: Rank) -> None:
        self._group, self._job, self._rank = group, job, rank
        self._step = 0

    def _together(self) -> float:
        self._group.sum(torch.zeros(1))
        return time.perf_counter()

    def pipeline(self, epochs: int) -> list[float]:
        """Seconds of each iteration, until all ranks have completed it."""
        times = []
        for _ in range(epochs):
            start = time.perf_counter()
            self._step += 1
            self._rank.stage.iteration(self._step)
            times.append(self._together() - start)
        return times

    def alone(self, epochs: int) -> tuple[float, float]:
        """Seconds of the pipeline without the language model, and of its median iteration."""
        self._rank.gate.again()
        start = self._together()
        times = self.pipeline(epochs)
        return self._together() - start, median(times)

    def language_model(self, steps: int) -> float:
        """Seconds of the language model without the pipeline."""
        start = self._together()
        self._rank.start_lm(steps)
        self._rank.finish_lm()
        return self._together() - start

    def together(self, epochs: int, steps: int, *, gated: bool) -> tuple[float, float]:
        """Seconds until both are done, and the median iteration while both ran."""
        start = self._together()
        if gated:
            self._rank.ready()
        else:
            self._rank.gate.open_for_good()
        self._rank.start_lm(steps)
        times: list[float] = []
        while len(times) < epochs and (self._rank.lm_runs or not times):
            times += self.pipeline(1)
        while_both = len(times)
        times += self.pipeline(epochs - len(times))
        self._rank.finish_lm()
        return self._together() - start, median(times[:while_both])

    def fitting_steps(self, fill: float) -> int:
        """Steps that fill the bubbles of all iterations, agreed by all ranks (section 3.6: I min_s b_s / w)."""
        self._rank.stage.spans.clear()
        seconds, _ = self.alone(self._job.settings.epochs)
        busy = sum(done.end - done.start for done in self._rank.stage.spans)
        of_steps = min(self.language_model(2), self.language_model(2)) / 2
        least = -self._group.max(torch.tensor([-fill * (seconds - busy) / of_steps], dtype=torch.float64)).item()
        return max(1, int(least))

    def round(self, steps: int) -> Round:
        """The same work in each mode."""
        epochs = self._job.settings.epochs
        gnn_s, alone = self.alone(epochs)
        lm_s = self.language_model(steps)
        interleaved_s, inside = self.together(epochs, steps, gated=True)
        colocated_s, beside = self.together(epochs, steps, gated=False)
        return Round(gnn_s, lm_s, interleaved_s, colocated_s, (alone, inside, beside))
