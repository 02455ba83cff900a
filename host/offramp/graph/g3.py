# SPDX-License-Identifier: Apache-2.0
"""The first stage of G3's partitioning: vertices and edges balanced, least communication volume (specification 3)."""

from __future__ import annotations

import numpy as np

from offramp.graph.bins import breadth_first
from offramp.graph.csr import Adjacency, IntArray
from offramp.graph.metis import available, balanced_parts, weighted_parts
from offramp_base.errors import OfframpError
from offramp_base.extras import fall_back

SCALE = 1 << 20
"""Sum of the weights of all vertices where one weight stands for both constraints."""


def first_stage(graph: Adjacency, workers: int, seed: int = 0) -> IntArray:
    """``(n,)`` part of each vertex of a symmetric graph; the method depends on the installed packages.

    METIS with two weights (1, d_v) for each vertex; where its library cannot be called directly, with one weight
    1/n + d_v/Σd; without METIS, a breadth-first order cut into pieces of equal weight. A part may be empty.
    """
    n = len(graph.indptr) - 1
    degree = np.diff(graph.indptr)
    if workers == 1 or not len(graph.indices):
        return np.arange(n) * workers // n
    try:
        return balanced_parts(graph.indptr, graph.indices, workers, np.stack([np.ones_like(degree), degree], 1), seed)
    except OfframpError:
        pass
    share = 1 / n + degree / degree.sum()
    if available():
        weight = np.maximum(1, np.rint(share * SCALE / 2)).astype(np.int64)
        return weighted_parts(graph.indptr, graph.indices, workers, weight, seed)
    fall_back("partition g3: pieces of a breadth-first order", "pymetis")
    order = breadth_first(graph)
    part = np.empty(n, np.int64)
    before = np.cumsum(share[order]) - share[order]  # half of a vertex decides where it falls
    part[order] = np.minimum((before + share[order] / 2) / 2 * workers, workers - 1).astype(np.int64)
    return part
