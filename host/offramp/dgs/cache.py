# SPDX-License-Identifier: Apache-2.0
"""Remote rows that a worker has received: what explanations are made from (specification section 4.1)."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray

Floats = npt.NDArray[np.float32]
CAPACITY_BYTES: Final = 128 << 20


def slots(halo: int, features: int, seed: int, capacity_bytes: int = CAPACITY_BYTES) -> IntArray:
    """Places in the halo that a cache of that size has room for, ascending: all, or a random choice."""
    room = max(1, capacity_bytes // (4 * features))
    if halo <= room:
        return np.arange(halo)
    return np.sort(np.random.default_rng(seed).choice(halo, room, replace=False))


class FeatureCache:
    """Last known values of remote rows; columns that never travelled are 0.

    Attributes:
        rows: ``(c, F)`` float32.
        known: ``(c,)`` bool: received at least once.
        places: ``(c,)`` places in the halo.

    Args:
        halo: ``(h,)`` remote vertices, ascending.
        places: places of :func:`slots`.
        rows, known: memory for both, where another process sees it too.
    """

    def __init__(self, halo: IntArray, places: IntArray, rows: Floats, known: npt.NDArray[np.bool_]) -> None:
        self.places, self.rows, self.known = places, rows, known
        self._ids = halo[places]

    def received(self, ids: IntArray, values: Floats, columns: IntArray | None) -> None:
        """Values of remote vertices, of all columns or of some."""
        at = np.searchsorted(self._ids, ids)
        kept = at < len(self._ids)
        kept[kept] = self._ids[at[kept]] == ids[kept]
        if columns is None:
            self.rows[at[kept]] = values[kept]
        else:
            self.rows[np.ix_(at[kept], columns)] = values[kept]
        self.known[at[kept]] = True

    def content(self) -> tuple[IntArray, Floats]:
        """Places in the halo of what was received, ascending, and a copy of its rows."""
        return self.places[self.known], self.rows[self.known]

    @property
    def missing(self) -> IntArray:
        """Vertices of the cache that were never received."""
        return self._ids[~self.known]
