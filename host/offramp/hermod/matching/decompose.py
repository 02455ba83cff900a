# SPDX-License-Identifier: Apache-2.0
"""A schedule whose time is the largest row or column sum exactly (specification section 7, V5)."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from offramp.hermod.matching import kernel
from offramp.hermod.matching.schedule import Matrix, SubphaseSchedule, bound, check_matrix
from offramp_base.errors import OfframpError

QUANTUM: Final = 8
"""Quantised matrices have multiples of the bound over this times the ranks; the time grows by about 5 %."""


@cache
def _functions() -> tuple[Any, Any]:
    """``stuff`` and ``phases`` in machine code, or the same functions run by Python where there is no LLVM."""
    from offramp_base.native.library import compiled

    try:
        return compiled(kernel.stuff), compiled(kernel.phases)
    except OfframpError:
        return kernel.stuff, kernel.phases


def decompose(matrix: Any, *, quantum: int = 0, interpreted: bool = False) -> SubphaseSchedule:
    """Sub-phases that move ``matrix[i, j]`` from rank i to rank j, the same on every rank.

    Args:
        matrix: integers, bytes or tokens; what a rank keeps (the diagonal) is not sent.
        quantum: 0 for the exact time; otherwise entries count as multiples of the bound over ``quantum`` times the
            ranks: fewer sub-phases, a longer time (:data:`QUANTUM` is a good choice).
        interpreted: let Python run the algorithm; the result is the same.

    Raises:
        OfframpError: not a square matrix of integers of at least 0, or a negative quantum.
    """
    real = check_matrix(matrix).copy()
    if quantum < 0:
        raise OfframpError(f"quantum {quantum}: expected 0 or more")
    np.fill_diagonal(real, 0)
    size = len(real)
    step = max(1, bound(real) // (quantum * size)) if quantum and size else 1
    units = -(-real // step)
    flat = real.reshape(-1)
    kept: tuple[list[Matrix], list[Matrix], list[Matrix]] = ([], [], [])
    functions: tuple[Any, Any] = (kernel.stuff, kernel.phases) if interpreted else _functions()
    stuff, phases = functions
    full, best, parent = np.empty(size * size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    state = np.zeros(kernel.STATE, np.int64)
    state[kernel.LEFT] = state[kernel.TAU] = stuff(np.ascontiguousarray(units).reshape(-1), full, best, parent, size)
    full *= step
    state *= step
    to, by = np.full(size, kernel.NONE, np.int64), np.full(size, kernel.NONE, np.int64)
    room = max(1, min(size * size, 4096))
    while state[kernel.LEFT]:
        outcome = [np.empty((room, width), np.int64) for width in (size, 1, size)]
        views = [part.reshape(-1) for part in outcome]
        count = phases(full, flat, to, by, best, parent, state, *views, room, size)
        for parts, part in zip(kept, outcome, strict=True):
            parts.append(part[:count].copy())
    return SubphaseSchedule(_joined(kept[0], size), _joined(kept[1], 1)[:, 0], _joined(kept[2], size))


def _joined(parts: list[Matrix], width: int) -> Matrix:
    return np.concatenate(parts) if parts else np.empty((0, width), np.int64)
