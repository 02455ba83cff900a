# SPDX-License-Identifier: Apache-2.0
"""Exploratory task placement: a Metropolis walk over placements (section V-B, algorithm 3)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Final, Protocol

import numpy as np

from offramp.dgtp.problem import IntArray, Problem
from offramp_base.progress import report
from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field

_TELL: Final = 250
"""Steps between two reports of progress."""
_REMEMBERED_BYTES: Final = 1 << 27
"""Bytes of placements whose costs are kept, so that a long walk takes no more memory than a short one."""


class Evaluator(Protocol):
    """The questions that a search asks about a placement, always on the same volumes."""

    def critical_path(self, machine: IntArray) -> float:
        """Length of the critical path in seconds."""
        ...

    def makespan(self, machine: IntArray) -> float:
        """Seconds that online execution takes."""
        ...


@dataclass(frozen=True, slots=True)
class Exploration:
    """Parameters of a random walk over placements.

    Attributes:
        steps: I, transitions.
        beta: beta of equation 29, divided by the cost of the start: 20 accepts a cost 5 % higher with probability 1/e.
        gamma: feasible placements whose critical path is within this share of the shortest are simulated.
        mu: share by which capacities may be exceeded on the way.
        by_makespan: walk by simulated time instead of the critical path (figure 9).
        simulations: at most this many placements are simulated; the paper sets no limit.
    """

    steps: int = 10_000
    beta: Annotated[
        float, Field("Greed of a walk: 1 / the relative increase in cost that it tolerates", least=0, group="Search")
    ] = 20.0
    gamma: Annotated[float, Field("Simulate placements within this share of the best path", least=0)] = 0.1
    mu: Annotated[float, Field("Capacities may be exceeded by this share on the way", least=0)] = 1.0
    by_makespan: bool = False
    simulations: int | None = None

    def __post_init__(self) -> None:
        check(self)
        if self.steps < 0:
            raise SettingsError("steps", "expected at least 0", self.steps)


@dataclass(slots=True)
class Explored:
    """The best placement that a walk has found, and its counts.

    Attributes:
        machine: the best feasible placement. makespan: its simulated seconds.
        accepted, feasible, simulated: transitions taken, those among them to feasible placements, simulations.
        simulation_s: seconds that the latest simulation took by the clock.
    """

    machine: IntArray
    makespan: float
    accepted: int = 0
    feasible: int = 0
    simulated: int = 1
    simulation_s: float = field(default=0.0, compare=False)


def explore(
    problem: Problem,
    start: IntArray,
    evaluator: Evaluator,
    how: Exploration,
    seed: int,
    visit: Callable[[IntArray], None] | None = None,
    until: float = math.inf,
) -> Explored:
    """Walk from a feasible placement; the same seed takes the same walk.

    Args:
        problem: the problem.
        start: the placement at which the walk begins.
        evaluator: judges placements.
        how: settings.
        seed: moves everything random.
        visit: is shown the state after every step.
        until: the walk ends at this time of the monotonic clock, or after its steps.
    """
    return _ExplorationWalk(problem, start, evaluator, how, seed).run(visit, until)


class _ExplorationWalk:
    def __init__(self, problem: Problem, start: IntArray, evaluator: Evaluator, how: Exploration, seed: int) -> None:
        self.problem, self.evaluator, self.how = problem, evaluator, how
        self.rng = np.random.default_rng(seed)
        self.machine = start.copy()
        self.used = problem.usage(start)
        begun = time.monotonic()
        self.best = Explored(start.copy(), evaluator.makespan(start))
        self.best.simulation_s, self._until = time.monotonic() - begun, math.inf
        self._base = evaluator.makespan if how.by_makespan else evaluator.critical_path
        self._costs: dict[bytes, float] = {}
        self._makespans: dict[bytes, float] = {start.tobytes(): self.best.makespan}
        self.base = self.least = self._base_cost(start)
        self.cost = self.base * (1 + problem.excess(self.used))
        self.beta = how.beta / self.base if self.base else 0.0
        self.followers: dict[int, list[int]] = {int(t): [] for t in problem.movable} | {
            leader: [i for i, task in enumerate(problem.graph.tasks) if task.follows == leader]
            for leader in {t.follows for t in problem.graph.tasks if t.follows is not None}
        }

    def run(self, visit: Callable[[IntArray], None] | None, until: float) -> Explored:
        movable, self._until = self.problem.movable, until
        for step in range(self.how.steps if len(movable) else 0):
            if step % _TELL == 0:
                report("walking", step, self.how.steps)
            if time.monotonic() >= until:
                break
            self._step(int(movable[self.rng.integers(len(movable))]))
            if visit is not None:
                visit(self.machine)
        return self.best

    def _step(self, task: int) -> None:
        here = int(self.machine[task])
        fits = self.problem.hosts(self.used, task, self.how.mu)
        fits[here] = False
        open_ = np.flatnonzero(fits)
        if not len(open_):
            return
        there = int(open_[self.rng.integers(len(open_))])
        moved = [task, *self.followers[task]]
        self._move(moved, here, there)
        base = self._base_cost(self.machine)
        excess = self.problem.excess(self.used)
        cost = base * (1 + excess)
        if not self._accepts(cost):
            self._move(moved, there, here)
            return
        self.cost = cost
        self.best.accepted += 1
        if excess == 0:
            self.best.feasible += 1
            if base <= (1 + self.how.gamma) * self.least:
                self.least = min(self.least, base)
                self._simulate()

    def _move(self, moved: list[int], here: int, there: int) -> None:
        self.machine[moved] = there
        # Rounding must not build up over many moves: both rows are added up anew.
        for m in (here, there):
            self.used[m] = self.problem.demand[self.machine == m].sum(axis=0)

    def _accepts(self, cost: float) -> bool:
        draw = self.rng.random()
        if cost <= self.cost:
            return True
        worse = cost - self.cost
        return bool(draw <= math.exp(-min(self.beta * worse, 700.0))) if worse < math.inf else False

    def _base_cost(self, machine: IntArray) -> float:
        key = machine.tobytes()
        if key not in self._costs:
            if len(self._costs) * len(key) > _REMEMBERED_BYTES:
                self._costs.clear()
            self._costs[key] = self._base(machine)
        return self._costs[key]

    def _simulate(self) -> None:
        key = self.machine.tobytes()
        if key not in self._makespans:
            if self.how.simulations is not None and self.best.simulated > self.how.simulations:
                return
            begun = time.monotonic()
            if begun + self.best.simulation_s >= self._until:
                return
            self._makespans[key] = self.evaluator.makespan(self.machine)
            self.best.simulation_s = time.monotonic() - begun
            self.best.simulated += 1
        if self._makespans[key] < self.best.makespan:
            self.best.makespan = self._makespans[key]
            self.best.machine = self.machine.copy()
