# SPDX-License-Identifier: Apache-2.0
"""A feasible start by dynamic programming: the number of tasks of each kind on each machine (algorithm 2).

Tasks of one demand are interchangeable here (section V-A). The table of the dynamic program is an array over the
numbers of tasks placed of each class, one step for each machine; if it would be too large, an integer program is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.dgtp.problem import IntArray, Problem
from offramp_base.errors import OfframpError

Counts = tuple[int, ...]

_LARGEST_TABLE: Final = 40_000_000
_UNREACHED: Final = -np.inf
_PROGRAM_S: Final = 10.0
_most_s: ContextVar[float] = ContextVar("_most_s", default=_PROGRAM_S)
_GAP: Final = 0.002


@dataclass(frozen=True, slots=True)
class Classes:
    """Movable tasks by kind and demand.

    Attributes:
        members: task indices of each class, ascending.
        names: kinds.
        demand: demand of one task of each class.
    """

    members: list[list[int]]
    names: list[str]
    demand: npt.NDArray[np.float64]

    @property
    def sizes(self) -> Counts:
        """Number of tasks of each class."""
        return tuple(map(len, self.members))


def classes(problem: Problem) -> Classes:
    """The classes of a problem, in the order of their first tasks."""
    members_of: dict[tuple[str, bytes], list[int]] = {}
    for task in problem.movable.tolist():
        members_of.setdefault((problem.graph.tasks[task].kind, problem.demand[task].tobytes()), []).append(task)
    members = list(members_of.values())
    demand = problem.demand[[m[0] for m in members]].reshape(len(members), len(problem.resources))
    return Classes(members, [kind for kind, _ in members_of], demand)


@dataclass(frozen=True, slots=True)
class Groups:
    """Classes worth placing together: up to ``each`` tasks of class ``members`` for one of class ``leaders``."""

    members: int
    leaders: int
    each: float

    def worth(self, counts: Counts) -> float:
        """Number of members on a machine with these counts that have a leader beside them."""
        return min(counts[self.members], self.each * counts[self.leaders])


@contextmanager
def program_within(seconds: float) -> Iterator[None]:
    """Within the context, integer programs of starts take at most ``seconds``, and never more than ten."""
    token = _most_s.set(min(_PROGRAM_S, max(seconds, 0.1)))
    try:
        yield
    finally:
        _most_s.reset(token)


def pack(problem: Problem, order: list[int], groups: Groups | None = None) -> npt.NDArray[np.int64]:
    """Tasks of each class (columns) on each machine (rows), within all capacities.

    Args:
        problem: the problem whose tasks are placed.
        order: machines in the order in which they are filled.
        groups: classes to keep together as often as possible; None: any feasible counts will do.

    Raises:
        OfframpError: no placement is feasible; the message names the resource that is short.
    """
    of = classes(problem)
    _check_totals(problem, of)
    states = float(np.prod([size + 1.0 for size in of.sizes]))
    if states * sum(float(np.prod(_most(problem, of, m) + 1.0)) for m in order) <= _LARGEST_TABLE:
        counts = _by_table(of, order, {m: _options(problem, of, m) for m in order}, groups)
    else:
        counts = _by_integer_program(problem, of, order, groups)
    if counts is None:
        raise OfframpError("placement: no way to place the tasks meets every machine's capacities")
    return counts


def identities(problem: Problem, counts: npt.NDArray[np.int64], order: list[int]) -> IntArray:
    """Assign the tasks of each class, in index order, to machines in ``order``, as many as ``counts`` says."""
    of = classes(problem)
    where: dict[int, int] = {}
    for k, members in enumerate(of.members):
        hosts = [m for m in order for _ in range(counts[m, k])]
        where.update(zip(members, hosts, strict=True))
    return problem.whole([where[task] for task in problem.movable.tolist()])


def initial_feasible(problem: Problem, seed: int) -> IntArray:
    """IFS: a feasible placement, machines in random order (algorithm 2).

    Raises:
        OfframpError: there is none.
    """
    order = np.random.default_rng(seed).permutation(len(problem.cluster)).tolist()
    return identities(problem, pack(problem, order), order)


def _check_totals(problem: Problem, of: Classes) -> None:
    needed = sum((size * d for size, d in zip(of.sizes, of.demand, strict=True)), np.zeros(len(problem.resources)))
    there = problem.free.sum(axis=0)
    for r, name in enumerate(problem.resources):
        if needed[r] > there[r] * (1 + 1e-9):
            raise OfframpError(
                f"placement: the tasks need {needed[r]:g} {name}, all machines together have {there[r]:g}"
            )


def _most(problem: Problem, of: Classes, machine: int) -> IntArray:
    """Most tasks of each class that fit a machine with nothing else on it."""
    free = problem.free[machine] * (1 + 1e-9)
    most = []
    for size, demand in zip(of.sizes, of.demand, strict=True):
        needs = demand > 0
        most.append(min(size, int((free[needs] // demand[needs]).min())) if needs.any() else size)
    return np.array(most, np.int64)


def _options(problem: Problem, of: Classes, machine: int) -> list[Counts]:
    """Every combination of counts that fits a machine."""
    counts = np.array(list(product(*(range(n + 1) for n in _most(problem, of, machine)))), np.int64)
    fits = (counts @ of.demand <= problem.free[machine] * (1 + 1e-9)).all(axis=1)
    return [tuple(c) for c in counts[fits].tolist()]


def _by_table(
    of: Classes, order: list[int], options: dict[int, list[Counts]], groups: Groups | None
) -> npt.NDArray[np.int64] | None:
    shape = tuple(size + 1 for size in of.sizes)
    best = np.full(shape, _UNREACHED)
    best[(0,) * len(shape)] = 0
    tables = []
    for machine in order:
        tables.append(best)
        best = np.full(shape, _UNREACHED)
        for option in options[machine]:
            value = 0.0 if groups is None else groups.worth(option)
            into = best[tuple(slice(n, None) for n in option)]
            np.maximum(
                into, tables[-1][tuple(slice(0, s - n) for s, n in zip(shape, option, strict=True))] + value, out=into
            )
        if groups is None and best[of.sizes] > _UNREACHED:
            break
    if best[of.sizes] == _UNREACHED:
        return None
    counts = np.zeros((max(order) + 1, len(shape)), np.int64)
    left = np.array(of.sizes)
    reached = best[of.sizes]
    for machine, table in zip(reversed(order[: len(tables)]), reversed(tables), strict=True):
        for option in options[machine]:
            before = left - option
            if (before < 0).any():
                continue
            value = 0.0 if groups is None else groups.worth(option)
            if table[tuple(before)] > _UNREACHED and table[tuple(before)] + value == reached:
                counts[machine] = option
                left, reached = before, table[tuple(before)]
                break
    return counts


def _by_integer_program(
    problem: Problem, of: Classes, order: list[int], groups: Groups | None
) -> npt.NDArray[np.int64] | None:
    """Counts by an integer program; with groups, also how many are kept together on each machine."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import block_diag, csr_array, hstack, kron

    machines, sizes = len(order), np.array(of.sizes)
    kinds = len(sizes)
    none = csr_array((machines, machines))
    capacity = (
        block_diag([of.demand.T] * machines, format="csr") if problem.resources else csr_array((0, machines * kinds))
    )
    room = problem.free[order].ravel() * (1 + 1e-9)
    total = kron(np.ones((1, machines)), np.eye(kinds), format="csr")
    if groups is None:
        # Earlier machines are preferred, as the dynamic program fills them first.
        cost = np.repeat(np.arange(machines, dtype=float), kinds)
        limits = [LinearConstraint(capacity, ub=room), LinearConstraint(total, sizes, sizes)]
    else:
        eye, unit = np.eye(machines), np.eye(kinds)
        cost = np.concatenate([np.zeros(machines * kinds), -np.ones(machines)])
        limits = [
            LinearConstraint(hstack([capacity, csr_array((len(room), machines))]), ub=room),
            LinearConstraint(hstack([total, csr_array((kinds, machines))]), sizes, sizes),
            LinearConstraint(hstack([kron(eye, -unit[[groups.members]]), none + eye]), ub=0),
            LinearConstraint(hstack([kron(eye, -groups.each * unit[[groups.leaders]]), none + eye]), ub=0),
        ]
    integer = np.arange(len(cost)) < machines * kinds
    options = {"mip_rel_gap": _GAP, "time_limit": _most_s.get()}
    solution = milp(cost, constraints=limits, integrality=integer, bounds=Bounds(0, np.inf), options=options)
    if solution.x is None:
        if solution.status == 1:
            raise OfframpError(f"placement: no feasible start was found in {_most_s.get():g} s")
        return None
    counts = np.zeros((max(order) + 1, kinds), np.int64)
    counts[order] = np.rint(solution.x[integer]).astype(np.int64).reshape(machines, kinds)
    return counts
