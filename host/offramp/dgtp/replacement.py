# SPDX-License-Identifier: Apache-2.0
"""Placing a job again when machines have left or come: as few tasks as possible move, and what moving them costs.

An extension. An integer program finds the fewest moves that fit, by classes of tasks that are interchangeable; then
changes are tried that move no more than is allowed, and kept where simulated time falls.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from offramp.dgtp.exploration import Evaluator
from offramp.dgtp.packing import Classes, classes
from offramp.dgtp.plan import PlacementPlan
from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.refinement import refine
from offramp_base.errors import OfframpError

NOWHERE: Final = -1
_MISSES: Final = 10_000
_PROGRAM_S: Final = 10.0
_TRIALS: Final = 300


@dataclass(frozen=True, slots=True)
class Moves:
    """The differences between a placement and the one before it.

    Attributes:
        kept, moved: tasks that stay, and that go to another machine though theirs is still there.
        lost: tasks whose machine has left. new: tasks that are not in the plan.
        bytes: memory of the tasks that have moved, which is the most that has to travel.
        seconds: seconds that the busiest network card takes for it.
    """

    kept: int
    moved: int
    lost: int
    new: int
    bytes: float
    seconds: float


def carried_over(problem: Problem, plan: PlacementPlan) -> tuple[IntArray, IntArray]:
    """``(tasks,)`` machine of each task in the plan, and whether it had one; by kind, number and the machine's name.

    A task whose machine has left, or that is new, has :data:`NOWHERE`.
    """
    names = {machine.name: m for m, machine in enumerate(problem.cluster.machines)}
    where = {(role.kind, role.index): role.machine for role in plan.roles}
    seen: Counter[str] = Counter()
    before = np.full(len(problem.graph.tasks), NOWHERE, np.int64)
    known = np.zeros(len(before), np.int64)
    for i, task in enumerate(problem.graph.tasks):
        name = where.get((task.kind, seen[task.kind]))
        seen[task.kind] += 1
        if name is not None:
            known[i] = 1
            before[i] = names.get(name, NOWHERE)
    return before, known


def place_again(
    problem: Problem,
    before: IntArray,
    evaluator: Evaluator,
    *,
    moves: int = 0,
    seed: int = 0,
    within: float = math.inf,
) -> IntArray:
    """A placement near the one before.

    Args:
        problem: the job on the machines of now.
        before: result of :func:`carried_over`.
        evaluator: judges placements.
        moves: tasks that may move beyond those that must.
        seed: seed of the changes that are tried.
        within: seconds after which no other change is tried.

    Raises:
        OfframpError: no placement is feasible.
    """
    until = time.monotonic() + within
    best = _fewest_moves(problem, before)
    most = len(moved(problem, before, best)) + moves
    near = partial(_within, problem, before, most)
    return refine(problem, best, evaluator, _TRIALS, seed, until, allowed=near, misses=_MISSES).machine


def _within(problem: Problem, before: IntArray, most: int, machine: IntArray) -> bool:
    return len(moved(problem, before, machine)) <= most


def moved(problem: Problem, before: IntArray, machine: IntArray) -> IntArray:
    """Movable tasks that leave a machine that is still there."""
    mine = problem.movable
    tasks: IntArray = mine[(before[mine] != NOWHERE) & (before[mine] != machine[mine])]
    return tasks


def moves_of(problem: Problem, before: IntArray, known: IntArray, machine: IntArray) -> Moves:
    """The moves that a placement needs; tasks that are bound to their machines do not count."""
    mine = problem.movable
    leaving = moved(problem, before, machine)
    size = np.zeros(len(machine))
    if "memory" in problem.resources:
        size = problem.demand[:, problem.resources.index("memory")]
    out = np.bincount(before[leaving], size[leaving], len(problem.cluster)) / problem.egress
    into = np.bincount(machine[leaving], size[leaving], len(problem.cluster)) / problem.ingress
    lost = int(((before[mine] == NOWHERE) & (known[mine] == 1)).sum())
    new = int((known[mine] == 0).sum())
    return Moves(
        kept=len(mine) - len(leaving) - lost - new,
        moved=len(leaving),
        lost=lost,
        new=new,
        bytes=float(size[leaving].sum()),
        seconds=float(max(out.max(initial=0.0), into.max(initial=0.0))),
    )


def _fewest_moves(problem: Problem, before: IntArray) -> IntArray:
    """Keep as many tasks of each class in place as fit; the others go where there is room."""
    of = classes(problem)
    there = np.zeros((len(problem.cluster), len(of.sizes)), np.int64)
    for k, members in enumerate(of.members):
        at = before[members]
        there[:, k] = np.bincount(at[at != NOWHERE], minlength=len(problem.cluster))
    counts = _counts(problem, of, there)
    where = before.copy()
    for k, members in enumerate(of.members):
        room = counts[:, k].copy()
        homeless = []
        for task in members:
            if before[task] != NOWHERE and room[before[task]] > 0:
                room[before[task]] -= 1
            else:
                homeless.append(task)
        where[homeless] = np.repeat(np.arange(len(room)), room)
    return problem.whole(where[problem.movable])


def _counts(problem: Problem, of: Classes, there: IntArray) -> IntArray:
    """The integer program: how many of each class on each machine, so that most of what is there stays."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import block_diag, csr_array, eye_array, hstack, kron

    machines, kinds = there.shape
    count = machines * kinds
    none, one = csr_array((kinds, count)), eye_array(count, format="csr")
    limits = [
        LinearConstraint(hstack([kron(np.ones((1, machines)), np.eye(kinds)), none]), of.sizes, of.sizes),
        LinearConstraint(hstack([-one, one]), ub=0),
    ]
    if problem.resources:
        capacity = block_diag([of.demand.T] * machines, format="csr")
        beside = csr_array((capacity.shape[0], count))
        limits.append(LinearConstraint(hstack([capacity, beside]), ub=problem.free.ravel() * (1 + 1e-9)))
    most = np.concatenate([np.full(count, np.inf), there.ravel()])
    solution = milp(
        np.concatenate([np.zeros(count), -np.ones(count)]),
        constraints=limits,
        integrality=np.arange(2 * count) < count,
        bounds=Bounds(0, most),
        options={"time_limit": _PROGRAM_S},
    )
    if solution.x is None:
        raise OfframpError("placement: no way to place the tasks meets every machine's capacities")
    counts: IntArray = np.rint(solution.x[:count]).astype(np.int64).reshape(machines, kinds)
    return counts
