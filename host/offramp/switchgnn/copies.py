# SPDX-License-Identifier: Apache-2.0
"""Rows of vertices that other workers need as they are: what travels where nothing is added up on the way there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray


@dataclass(frozen=True, eq=False)
class Copies:
    """Who needs whose rows. Plans take it where they take a :class:`~offramp.graph.boundary.Boundary`.

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
        """Rows that arrive somewhere."""
        return len(self.copies)

    @property
    def B(self) -> int:  # noqa: N802
        """Vertices that another worker needs."""
        return len(np.unique(self.copies[:, 0]))

    @property
    def C(self) -> int:  # noqa: N802
        """Edges between a vertex and its copies."""
        return self.R

    @property
    def fan_out(self) -> int:
        """Most workers that need one vertex."""
        return int(np.unique(self.copies[:, 0], return_counts=True)[1].max(initial=0))
