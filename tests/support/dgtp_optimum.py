# SPDX-License-Identifier: Apache-2.0
"""The best schedule of a small job by an integer program in slots, and the best placement by trying all of them.

The program is that of section III-B, equations 6 to 16. Its optimum is at least that of continuous time, which slots
restrict, so a ratio to it may look smaller than it is; shorter slots come closer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from offramp.dgtp.problem import IntArray, Problem
from offramp_base.errors import OfframpError


def optimal_slots(problem: Problem, placement: Sequence[int], drawn: Sequence[Sequence[float]], horizon: int) -> int:
    """The least makespan in slots; execution times are whole slots, bandwidths bytes a slot.

    Args:
        problem: tasks and machines.
        placement: machine of each task.
        drawn: bytes of each edge in each iteration.
        horizon: slots in which some schedule is known to end.

    Raises:
        OfframpError: no schedule ends within the horizon, or the solver gives up.
    """
    return _Program(problem, problem.check(placement), drawn, horizon).solve()


class _Program:
    """Variables: starts, bytes of flows and whether they have ended by the end of a slot, and the makespan."""

    def __init__(self, problem: Problem, machine: IntArray, drawn: Sequence[Sequence[float]], horizon: int) -> None:
        self.problem, self.machine, self.drawn, self.horizon = problem, machine, drawn, horizon
        self.seconds = np.rint(problem.seconds[np.arange(len(machine)), machine]).astype(int)
        self.iterations = len(drawn)
        self.count = 0
        self.integer: list[bool] = []
        self.rows: list[dict[int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def solve(self) -> int:
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        tasks, iterations = range(len(self.machine)), range(self.iterations)
        self.start = {(j, n): self._variables(integer=True) for j in tasks for n in iterations}
        (makespan,) = self._variables(1, integer=False)
        for (j, n), x in self.start.items():
            self._row(dict.fromkeys(x, 1.0), 1, 1)
            if n == self.iterations - 1:
                self._row({v: float(t + self.seconds[j]) for t, v in enumerate(x)} | {makespan: -1.0}, high=0)
            if n:
                self._after(x, self.start[j, n - 1], self.seconds[j])
        self._flows()
        flat = [(r, c, v) for r, row in enumerate(self.rows) for c, v in row.items()]
        rows, columns, values = zip(*flat, strict=True)
        matrix = coo_array((values, (rows, columns)), shape=(len(self.rows), self.count)).tocsr()
        cost = np.zeros(self.count)
        cost[makespan] = 1
        upper = np.where(self.integer, 1.0, np.inf)
        solution = milp(
            cost,
            constraints=LinearConstraint(matrix, self.low, self.high),
            integrality=np.array(self.integer, int),
            bounds=Bounds(0, upper),
            options={"time_limit": 120.0},
        )
        if solution.status != 0:
            raise OfframpError(f"optimum: {solution.message}")
        return int(np.rint(solution.fun))

    def _variables(self, count: int | None = None, *, integer: bool) -> list[int]:
        variables = list(range(self.count, self.count + (self.horizon + 1 if count is None else count)))
        self.count += len(variables)
        self.integer += [integer] * len(variables)
        return variables

    def _row(self, coefficients: dict[int, float], low: float = -np.inf, high: float = np.inf) -> None:
        self.rows.append(coefficients)
        self.low.append(low)
        self.high.append(high)

    def _after(self, later: list[int], earlier: list[int], span: int) -> None:
        """``later`` starts no sooner than ``span`` slots after ``earlier`` (equations 10 and 11)."""
        for t in range(self.horizon + 1):
            row = dict.fromkeys(later[: t + 1], 1.0) | dict.fromkeys(earlier[: max(0, t - span + 1)], -1.0)
            self._row(row, high=0)

    def _flows(self) -> None:
        problem, horizon = self.problem, self.horizon
        remote = problem.remote(self.machine)
        cards: dict[tuple[str, int, int], dict[int, float]] = {}
        for e, edge in enumerate(problem.graph.edges):
            previous: list[int] | None = None
            for n in range(self.iterations - edge.lag):
                source, target = self.start[edge.source, n], self.start[edge.target, n + edge.lag]
                span, size = int(self.seconds[edge.source]), float(self.drawn[n][e])
                if not remote[e] or size == 0:
                    self._after(target, source, span)
                    continue
                sent, ended = self._variables(integer=False), self._variables(integer=True)
                for t in range(horizon + 1):
                    so_far = dict.fromkeys(sent[: t + 1], 1.0)
                    self._row(so_far | dict.fromkeys(source[: max(0, t - span + 1)], -size), high=0)  # (8), (13)
                    self._row(so_far | {ended[t]: -size}, low=0)
                    if previous is not None:  # (12)
                        self._row(so_far | ({previous[t - 1]: -size} if t else {}), high=0)
                    row = dict.fromkeys(target[: t + 1], 1.0)
                    self._row(row | ({ended[t - 1]: -1.0} if t else {}), high=0)  # (9)
                    for way, task in (("in", edge.target), ("out", edge.source)):
                        cards.setdefault((way, int(self.machine[task]), t), {})[sent[t]] = 1.0
                previous = ended
        for (way, m, _), row in cards.items():  # (14), (15)
            self._row(row, high=float((problem.ingress if way == "in" else problem.egress)[m]))


def feasible_placements(problem: Problem) -> Iterator[IntArray]:
    """Every feasible placement."""
    for of_movable in product(range(len(problem.cluster)), repeat=len(problem.movable)):
        machine = problem.whole(of_movable)
        if problem.feasible(machine):
            yield machine


def best_placement(problem: Problem, makespan: Callable[[IntArray], float]) -> tuple[IntArray, float]:
    """The placement of least makespan, by trying all.

    Raises:
        OfframpError: none is feasible.
    """
    best = min(
        ((makespan(machine), i, machine) for i, machine in enumerate(feasible_placements(problem))), default=None
    )
    if best is None:
        raise OfframpError("placement: no way to place the tasks meets every machine's capacities")
    return best[2], best[0]
