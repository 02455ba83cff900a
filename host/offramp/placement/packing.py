"""How many tasks of each kind go where: a feasible start by dynamic programming (section V-A, algorithm 2).

Tasks of one demand are interchangeable here. The table of the dynamic program is an array over how many of each are
placed, one step for each machine; where that would be too large, the same question goes to an integer program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.errors import OfframpError
from offramp.placement.problem import IntArray, Problem

Counts = tuple[int, ...]
Worth = Callable[[Counts], float]

_LARGEST_TABLE: Final = 40_000_000
_UNREACHED: Final = -np.inf


@dataclass(frozen=True, slots=True)
class Classes:
    """Movable tasks by kind and demand.

    Attributes:
        members: task indices of each class, ascending.
        names: kinds.
        demand: of one task of each class.
    """

    members: list[list[int]]
    names: list[str]
    demand: npt.NDArray[np.float64]

    @property
    def sizes(self) -> Counts:
        """How many tasks there are of each."""
        return tuple(map(len, self.members))


def classes(problem: Problem) -> Classes:
    """The classes of a problem, in the order of their first tasks."""
    found: dict[tuple[str, bytes], list[int]] = {}
    for task in problem.movable.tolist():
        found.setdefault((problem.graph.tasks[task].kind, problem.demand[task].tobytes()), []).append(task)
    members = list(found.values())
    demand = problem.demand[[m[0] for m in members]].reshape(len(members), len(problem.resources))
    return Classes(members, [kind for kind, _ in found], demand)


def pack(problem: Problem, order: list[int], worth: Worth | None = None) -> npt.NDArray[np.int64]:
    """Tasks of each class (columns) on each machine (rows), within all capacities.

    Args:
        problem: what to place.
        order: machines in the order in which they are filled.
        worth: what a machine's counts are worth; the sum is maximised. Without, any feasible counts do.

    Raises:
        OfframpError: no placement is feasible; says what is short.
    """
    of = classes(problem)
    _check_totals(problem, of)
    options = {m: _options(problem, of, m) for m in order}
    work = int(np.prod([size + 1 for size in of.sizes], dtype=np.float64)) * sum(map(len, options.values()))
    counts = (
        _by_table(of, order, options, worth)
        if work <= _LARGEST_TABLE
        else _by_integer_program(problem, of, order, options, worth)
    )
    if counts is None:
        raise OfframpError("placement: no way to place the tasks meets every machine's capacities")
    return counts


def identities(problem: Problem, counts: npt.NDArray[np.int64], order: list[int]) -> IntArray:
    """Tasks of each class in index order onto machines in that order, as ``counts`` has it."""
    of = classes(problem)
    where = {}
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
            raise OfframpError(f"placement: the tasks need {needed[r]:g} {name}, all machines together have {there[r]:g}")


def _options(problem: Problem, of: Classes, machine: int) -> list[Counts]:
    """Every combination of counts that fits a machine."""
    free = problem.free[machine] * (1 + 1e-9)
    most = []
    for size, demand in zip(of.sizes, of.demand, strict=True):
        needs = demand > 0
        most.append(min(size, int((free[needs] // demand[needs]).min())) if needs.any() else size)
    if np.prod([n + 1.0 for n in most]) > _LARGEST_TABLE:
        return []  # the integer program does without
    return [c for c in product(*(range(n + 1) for n in most)) if (np.array(c) @ of.demand <= free).all()]


def _by_table(
    of: Classes, order: list[int], options: dict[int, list[Counts]], worth: Worth | None
) -> npt.NDArray[np.int64] | None:
    shape = tuple(size + 1 for size in of.sizes)
    best = np.full(shape, _UNREACHED)
    best[(0,) * len(shape)] = 0
    tables = []
    for machine in order:
        tables.append(best)
        best = np.full(shape, _UNREACHED)
        for option in options[machine]:
            value = 0.0 if worth is None else worth(option)
            into = best[tuple(slice(n, None) for n in option)]
            np.maximum(into, tables[-1][tuple(slice(0, s - n) for s, n in zip(shape, option, strict=True))] + value, out=into)
        if worth is None and best[of.sizes] > _UNREACHED:
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
            value = 0.0 if worth is None else worth(option)
            if table[tuple(before)] > _UNREACHED and table[tuple(before)] + value == reached:
                counts[machine] = option
                left, reached = before, table[tuple(before)]
                break
    return counts


def _by_integer_program(
    problem: Problem, of: Classes, order: list[int], options: dict[int, list[Counts]], worth: Worth | None
) -> npt.NDArray[np.int64] | None:
    """Counts as integers; a worth chooses one option for each machine instead."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import block_diag, csr_array, kron

    sizes = np.array(of.sizes)
    limits: Any
    if worth is None or not all(options.values()):
        # Earlier machines are preferred, as the dynamic program fills them first.
        cost = np.repeat(np.arange(len(order), dtype=float), len(sizes))
        capacity = block_diag([of.demand.T] * len(order), format="csr")
        total = kron(np.ones((1, len(order))), np.eye(len(sizes)), format="csr")
        limits = [LinearConstraint(capacity, ub=problem.free[order].ravel() * (1 + 1e-9)), LinearConstraint(total, sizes, sizes)]
        found = milp(cost, constraints=limits, integrality=1, bounds=Bounds(0, np.inf), options=_GAP)
        if found.x is None:
            return None
        rows = np.rint(found.x).astype(np.int64).reshape(len(order), len(sizes))
    else:
        flat = [(i, option) for i, m in enumerate(order) for option in options[m]]
        cost = -np.array([worth(option) for _, option in flat])
        columns = np.arange(len(flat))
        one = csr_array((np.ones(len(flat)), ([i for i, _ in flat], columns)), shape=(len(order), len(flat)))
        total = csr_array(np.array([option for _, option in flat]).T)
        limits = [LinearConstraint(one, 1, 1), LinearConstraint(total, sizes, sizes)]
        found = milp(cost, constraints=limits, integrality=1, bounds=Bounds(0, 1), options=_GAP)
        if found.x is None:
            return None
        rows = np.array([flat[c][1] for c in np.flatnonzero(found.x > 0.5)], np.int64)
    counts = np.zeros((max(order) + 1, len(sizes)), np.int64)
    counts[order] = rows
    return counts


_GAP: Final = {"mip_rel_gap": 0.01, "time_limit": 20.0}
