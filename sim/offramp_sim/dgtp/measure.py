# SPDX-License-Identifier: Apache-2.0
"""A training job on its placement: profiled, placed by what was measured, and measured beside what is planned.

The first iterations run on DistDGL's placement. A search over the measured times and volumes places the rest, which
goes on from the parameters that the first iterations left; so may other placements and policies, for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.dgtp.draws import draw
from offramp.dgtp.policies import BLIND
from offramp.dgtp.runtime.profile import measured, with_cards
from offramp.dgtp.runtime.run import TrainingJob
from offramp.dgtp.runtime.settings import AUTO
from offramp.dgtp.search import PLACEMENTS, Search, search
from offramp_base.errors import OfframpError
from offramp_base.progress import report
from offramp_sim.dgtp.comparison import OURS, Comparing
from offramp_sim.dgtp.laboratory import places
from offramp_sim.dgtp.native.machine import FastCluster

if TYPE_CHECKING:
    from offramp.dgtp.problem import IntArray, Problem
    from offramp.dgtp.runtime.run import HostPlace, PlacedTrainingRun
    from offramp.dgtp.runtime.settings import PlacedTraining
    from offramp.graph.data import Graph

COLOCATED: Final = "colocated (DistDGL)"
MOST_PROCESSES: Final = 64
"""Processes of a job that one machine should run."""
_HELD_OUT: Final = 1_000_003


@dataclass(frozen=True, eq=False)
class PlacedRun:
    """Iterations on one placement under one policy.

    Attributes:
        placement: name of the placement.
        policy: rates of flows.
        machine: ``(tasks,)`` machine of each task.
        planned_s: seconds that the simulation of the profiled problem gives.
        run: what was measured.
    """

    placement: str
    policy: str
    machine: IntArray
    planned_s: float
    run: PlacedTrainingRun

    @property
    def measured_s(self) -> float:
        """Seconds by the clock."""
        return self.run.times.makespan

    @property
    def beside_planned(self) -> float:
        """Measured over planned seconds, less 1."""
        return self.measured_s / self.planned_s - 1


@dataclass(frozen=True, eq=False)
class MeasuredTraining:
    """A job's whole training.

    Attributes:
        profile: the first iterations; what is planned for them is known only behind them.
        problem: the problem as it was profiled.
        runs: the other iterations: our placement first.
        network: why the network is not a laboratory; empty if it is.
    """

    profile: PlacedRun
    problem: Problem
    runs: list[PlacedRun]
    network: str

    @property
    def losses(self) -> list[float]:
        """Mean loss of each iteration."""
        return [*self.profile.run.losses.tolist(), *self.runs[0].run.losses.tolist()]

    @property
    def moved(self) -> int:
        """Tasks that our placement moves from where they were profiled."""
        return int((self.profile.machine != self.runs[0].machine).sum())


def expect_processes(problem: Problem) -> int:
    """The number of processes of a job.

    Raises:
        OfframpError: more than this machine should run.
    """
    count = sum(task.follows is None for task in problem.graph.tasks)
    if count > MOST_PROCESSES:
        raise OfframpError(f"the job has {count} processes: expected at most {MOST_PROCESSES} on one machine")
    return count


def measure(
    problem: Problem,
    graph: Graph,
    settings: PlacedTraining,
    *,
    network: str = "auto",
    method: str = "portfolio",
    others: Sequence[tuple[str, str]] = (),
) -> MeasuredTraining:
    """Profile, place and train a job with a process for each task.

    Args:
        problem: tasks and machines.
        graph: what is trained on.
        settings: settings of the training.
        network: one of :data:`~offramp_sim.dgtp.laboratory.NETWORKS`.
        method: search for the placement.
        others: placement policies and policies of flows that do the same iterations, for comparison.

    Raises:
        OfframpError: the job is none of training or too large, a process died, or there is no such network.
    """
    expect_processes(problem)
    rated = with_cards(problem, settings.rates)
    job = TrainingJob(with_cards(rated, 1 - settings.reserve), graph, settings.sampling(len(problem.cluster)))
    start = PLACEMENTS.get("colocated")(job.problem, settings.seed)
    with places(rated, network) as (hosts, reason):
        more = settings.iterations - settings.profile
        first = job.run(
            start,
            hosts,
            job.initial,
            first=0,
            iterations=settings.profile,
            on_iteration=partial(_progress, "profiling", settings.profile),
        )
        profiled = measured(job.problem, start, first)
        planned = _Planned(profiled, settings.seed, more)
        plans = [(OURS, *_placed(profiled, method, settings, more))]
        plans += [(_shown(name), PLACEMENTS.get(name)(profiled, settings.seed), policy) for name, policy in others]
        runs = [_run(job, hosts, first, settings, *plan, planned) for plan in plans]
    before = _Planned(profiled, settings.seed, settings.profile).seconds(start, "oes")
    return MeasuredTraining(PlacedRun(COLOCATED, "oes", start, before, first), profiled, runs, reason)


def _run(
    job: TrainingJob,
    hosts: Sequence[HostPlace],
    first: PlacedTrainingRun,
    settings: PlacedTraining,
    name: str,
    machine: IntArray,
    policy: str,
    planned: _Planned,
) -> PlacedRun:
    more = settings.iterations - settings.profile
    run = job.run(
        machine,
        hosts,
        first.state,
        first=settings.profile,
        iterations=more,
        policy=policy,
        on_iteration=partial(_progress, f"training: {name}, {policy}", more),
    )
    return PlacedRun(name, policy, machine, planned.seconds(machine, policy), run)


def _progress(what: str, total: int, done: int) -> None:
    report(what, done, total)


def _shown(name: str) -> str:
    return COLOCATED if name == "colocated" else name


class _Planned:
    """Simulated seconds of placements on volumes that the search has not seen."""

    def __init__(self, problem: Problem, seed: int, iterations: int) -> None:
        self._judge = FastCluster(problem, draw(problem.graph, iterations, seed + _HELD_OUT))

    def seconds(self, machine: IntArray, policy: str) -> float:
        return self._judge.makespan(machine, policy)


def _placed(problem: Problem, method: str, settings: PlacedTraining, iterations: int) -> tuple[IntArray, str]:
    """Our placement, the best that a search of seconds finds or a baseline that is better, and the rates of flows."""
    how = Search(method, walks=2, steps=1500, reliefs=5000, trials=300, seed=settings.seed)
    best = search(problem, FastCluster, how, processes=1)
    chosen = settings.policy
    comparing = Comparing(problem, iterations, tuple(BLIND) if chosen == AUTO else ("oes",), settings.seed)
    machine = comparing.with_ours(best.machine, fixed=method != "portfolio").machine
    return comparing.fastest(ours_only=method != "portfolio") if chosen == AUTO else (machine, chosen)


def same_losses(training: MeasuredTraining) -> bool:
    """Whether all placements and policies have trained the same model."""
    first = training.runs[0].run
    return all(
        np.array_equal(first.losses, other.run.losses)
        and np.array_equal(first.state.parameters, other.run.state.parameters)
        for other in training.runs[1:]
    )
