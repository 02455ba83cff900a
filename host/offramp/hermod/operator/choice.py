# SPDX-License-Identifier: Apache-2.0
"""Granularity of the cut: exact sub-phases, fewer of them, or none, by the measured cost of a sub-phase."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from offramp.hermod.matching import SubphaseSchedule, bound
from offramp.hermod.matching.decompose import decompose
from offramp.hermod.matching.schedule import Matrix

QUANTA: Final = (0, 8, 4, 2, 1)
"""Candidates for :func:`~offramp.hermod.matching.decompose`; 0 is exact."""
MOST_EXACT: Final = 64
"""Ranks beyond which exact sub-phases, up to the square of the ranks, are not worth their computation."""
PLAIN_BELOW: Final = 1 << 20
"""Bytes of the busiest port below which nothing is cut (specification section 7)."""
_LEAST_RANKS: Final = 3
"""Least ranks for which there is a choice: two ranks have one order only."""


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Measured cost of the slowest rank: seconds per sub-phase beyond its bytes, and seconds per byte."""

    overhead_s: float
    byte_s: float


def cut(
    rows: Matrix, row_bytes: int, quantum: int | None, cost: Callable[[], OperatorCost], plain_below: int
) -> SubphaseSchedule | None:
    """The schedule of an exchange, the same on every rank; None: all at once.

    Args:
        rows: ``(ranks, ranks)``, its diagonal does not count.
        row_bytes: bytes of a row.
        quantum: as of :func:`~offramp.hermod.matching.decompose`; None: what ``cost`` makes fastest.
        cost: asked for that, only where it matters.
        plain_below: bytes of the busiest port below which nothing is cut.
    """
    moving = rows.copy()
    np.fill_diagonal(moving, 0)
    if bound(moving) * row_bytes < plain_below or len(rows) < _LEAST_RANKS:
        return None
    if quantum is not None:
        return decompose(moving, quantum=quantum)
    measured = cost()
    candidates = [q for q in QUANTA if q or len(rows) <= MOST_EXACT]
    schedules = [decompose(moving, quantum=q) for q in candidates]
    return min(schedules, key=lambda s: s.seconds(row_bytes * measured.byte_s, measured.overhead_s))
