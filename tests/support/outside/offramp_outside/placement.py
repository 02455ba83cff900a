# SPDX-License-Identifier: Apache-2.0
"""A placement policy: few machines."""

from __future__ import annotations

import numpy as np

from offramp.dgtp.packing import initial_feasible
from offramp.dgtp.problem import IntArray, Problem


def piled(problem: Problem, seed: int) -> IntArray:
    """Every task moves to the first machine that has room for it, from a feasible start."""
    machine = initial_feasible(problem, seed)
    for task in range(len(problem.movable)):
        for target in range(len(problem.cluster)):
            of_movable = machine[problem.movable].copy()
            of_movable[task] = target
            moved = problem.whole(of_movable)
            if problem.feasible(moved):
                machine = moved
                break
    return np.asarray(machine)
