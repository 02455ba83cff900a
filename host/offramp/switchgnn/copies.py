# SPDX-License-Identifier: Apache-2.0
"""Copies of vertices' rows that other workers need unchanged; nothing is summed on their way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray


@dataclass(frozen=True, eq=False)
class RowCopies:
    """The copies of rows that workers need; plans accept it in place of a :class:`~offramp.graph.boundary.Boundary`.

    Attributes:
        workers: number of workers.
        owner: ``(n,)`` int32 worker of each vertex.
        copies: ``(R, 2)`` int64 sorted pairs (vertex, worker that needs its row).
    """

    workers: int
    owner: npt.NDArray[np.int32]
    copies: IntArray

    @property
    def R(self) -> int:  # noqa: N802
        """Number of rows that are received."""
        return len(self.copies)

    @property
    def B(self) -> int:  # noqa: N802
        """Number of vertices that other workers need."""
        return len(np.unique(self.copies[:, 0]))

    @property
    def C(self) -> int:  # noqa: N802
        """Edges between a vertex and its copies."""
        return self.R

    @property
    def fan_out(self) -> int:
        """Most workers that need the same vertex."""
        return int(np.unique(self.copies[:, 0], return_counts=True)[1].max(initial=0))
