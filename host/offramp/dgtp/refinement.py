# SPDX-License-Identifier: Apache-2.0
"""An extension of the paper's search: feasible moves and swaps, kept where simulated time falls.

A walk by critical path meets few feasible placements on a cluster that is nearly full, where one task can only move if
another makes room: swaps stay feasible there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from offramp.dgtp.exploration import Evaluator, Explored
from offramp.dgtp.problem import IntArray, Problem

_MISSES: Final = 10_000


def refine(
    problem: Problem,
    start: IntArray,
    evaluator: Evaluator,
    trials: int,
    seed: int,
    until: float = math.inf,
    known: Explored | None = None,
    *,
    allowed: Callable[[IntArray], bool] | None = None,
    misses: int | None = None,
) -> Explored:
    """Try that many feasible changes, at random, from a feasible placement; never ends with a worse one.

    It stops before a simulation that would end after ``until``, a time of the monotonic clock, and when little is left
    to try, after that many ``misses`` (by default a multiple of the trials). ``known`` is the result for the
    start, ``allowed`` says which feasible placements may be tried.
    """
    rng = np.random.default_rng(seed)
    begun = time.monotonic()
    best = Explored(start.copy(), evaluator.makespan(start) if known is None else known.makespan)
    best.simulation_s = time.monotonic() - begun if known is None else known.simulation_s
    seen = {start.tobytes()}
    missed = 0
    most = min(4 * trials, _MISSES) + 200 if misses is None else misses
    while best.simulated <= trials and missed < most and time.monotonic() + best.simulation_s < until:
        changed = neighbour(problem, best.machine, rng)
        if changed is None or changed.tobytes() in seen or not problem.feasible(changed):
            missed += 1
            continue
        if allowed is not None and not allowed(changed):
            missed += 1
            continue
        seen.add(changed.tobytes())
        best.simulated += 1
        best.feasible += 1
        begun = time.monotonic()
        changed_s = evaluator.makespan(changed)
        best.simulation_s = time.monotonic() - begun
        if changed_s < best.makespan:
            best.machine, best.makespan = changed, changed_s
            best.accepted += 1
    return best


def neighbour(problem: Problem, machine: IntArray, rng: np.random.Generator) -> IntArray | None:
    """One task moved, two swapped, or a task and its suppliers gathered on one machine; None if there is none."""
    movable = problem.movable
    if not len(movable) or len(problem.cluster) < 2:
        return None
    of_movable = machine[movable].copy()
    kind = rng.integers(4)
    i = int(rng.integers(len(movable)))
    if kind == 0:
        of_movable[i] = rng.integers(len(problem.cluster))
    elif kind == 3:
        near = _suppliers(problem, int(movable[i]))
        of_movable[np.isin(movable, near)] = rng.integers(len(problem.cluster))
    else:
        others = np.flatnonzero(of_movable != of_movable[i])
        if not len(others):
            return None
        j = int(others[rng.integers(len(others))])
        of_movable[i], of_movable[j] = of_movable[j], of_movable[i]
    return problem.whole(of_movable)


def _suppliers(problem: Problem, task: int) -> list[int]:
    """A task and the movable ones that feed it directly."""
    graph = problem.graph
    feeding = [graph.edges[e].source for e in graph.inputs[task] if graph.edges[e].lag == 0 and problem.data[e]]
    return [task, *feeding]
