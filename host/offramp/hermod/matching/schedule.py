# SPDX-License-Identifier: Apache-2.0
"""The result of a decomposition: sub-phases in which every port sends to one peer and hears from one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

Matrix = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SubphaseSchedule:
    """Sub-phases, one after the other.

    Attributes:
        peer: ``(phases, ranks)``, to whom each rank sends; a permutation in each row.
        weight: ``(phases,)``, the length of each sub-phase in units of the matrix.
        send: ``(phases, ranks)``, what of it carries data; the rest of a sub-phase is idle.
    """

    peer: Matrix
    weight: Matrix
    send: Matrix

    @property
    def total(self) -> int:
        """The time of all sub-phases, in units of the matrix."""
        return int(self.weight.sum())

    def __len__(self) -> int:
        return len(self.weight)

    def __iter__(self) -> Iterator[tuple[list[int], int, list[int]]]:
        return zip(self.peer.tolist(), self.weight.tolist(), self.send.tolist(), strict=True)

    def transposed(self) -> SubphaseSchedule:
        """The combine of this dispatch: every sub-phase the other way round, with the same weights."""
        back = np.argsort(self.peer, axis=1)
        return SubphaseSchedule(back, self.weight, np.take_along_axis(self.send, back, axis=1))

    def sent(self) -> Matrix:
        """The matrix that the sub-phases have moved."""
        ranks = self.peer.shape[1]
        moved = np.zeros((ranks, ranks), np.int64)
        np.add.at(moved, (np.arange(ranks)[None, :], self.peer), self.send)
        return moved

    def seconds(self, unit_s: float, overhead_s: float = 0.0) -> float:
        """Time at ``unit_s`` a unit of the matrix with an overhead for each sub-phase."""
        return self.total * unit_s + len(self) * overhead_s


def check_matrix(matrix: Any) -> Matrix:
    """The matrix as integers.

    Raises:
        OfframpError: not square, not integers, negative, or sums beyond 62 bits.
    """
    try:
        given = np.asarray(matrix)
    except ValueError:
        raise OfframpError("matrix: rows differ in length, expected a square matrix") from None
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise OfframpError(f"matrix: {' x '.join(map(str, given.shape))}, expected a square matrix")
    if given.size == 0:
        return np.zeros((0, 0), np.int64)
    whole = given.dtype.kind in "iu" or (given.dtype.kind == "f" and bool(np.all(given == np.floor(given))))
    if not whole:
        raise OfframpError("matrix: expected integers (bytes or tokens)")
    at = np.unravel_index(int(np.argmin(given)), given.shape)
    if given[at] < 0:
        raise OfframpError(f"matrix: entry ({at[0]}, {at[1]}) is {given[at]}, expected none below 0")
    if not float(given.max()) * len(given) < 2.0**62:
        raise OfframpError("matrix: a row or column may sum to 2^62 or more")
    return np.ascontiguousarray(given, np.int64)


def bound(matrix: Matrix) -> int:
    """The largest row or column sum: one port has to move that much."""
    if not matrix.size:
        return 0
    return int(max(matrix.sum(axis=0).max(), matrix.sum(axis=1).max()))
