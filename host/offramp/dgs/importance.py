# SPDX-License-Identifier: Apache-2.0
"""Probabilities of FastGCN and LADIES: squared norms of columns of the normalised adjacency."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from offramp.dgs.reference import exponential
from offramp.dgs.sampling import LocalAdjacency
from offramp.graph.csr import IntArray, entries_of
from offramp.splitmix import GOLDEN, mix

if TYPE_CHECKING:
    import numpy.typing as npt


def column_norms(graph: LocalAdjacency, rows: IntArray, ids: IntArray, degree: IntArray) -> npt.NDArray[np.float64]:
    """``(N,)`` sums over ``rows`` of the squared entries of D^-1/2 (A + I) D^-1/2 in each column.

    Over all rows that is FastGCN's q (Chen et al. 2018), over those of a layer LADIES's p (Zou et al. 2019).

    Args:
        graph: adjacency.
        rows: ``(r,)`` rows of it.
        ids: ``(r,)`` vertex ids.
        degree: ``(N,)`` of all vertices, without self-loops.
    """
    closed = 1.0 / (degree + 1)
    entries, counts = entries_of(graph.indptr, rows)
    sums: npt.NDArray[np.float64] = np.bincount(
        graph.indices[entries], np.repeat(closed[ids], counts), minlength=len(degree)
    ).astype(np.float64)
    sums[ids] += closed[ids]
    return sums * closed


def draw(norms: npt.NDArray[np.float64], size: int, stream: int) -> IntArray:
    """``size`` vertices without replacement in proportion to ``norms``, fewer where fewer are above 0; ascending.

    A function of its arguments alone, so that every worker draws the same.
    """
    able = np.flatnonzero(norms > 0)
    if len(able) <= size:
        return able
    words = mix(np.uint64(stream) + able.astype(np.uint64) * np.uint64(GOLDEN))
    keys = exponential(words) / norms[able]
    return np.sort(able[np.argpartition(keys, size)[:size]])
