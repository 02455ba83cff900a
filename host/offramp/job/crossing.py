# SPDX-License-Identifier: Apache-2.0
"""Traffic that must leave a set of workers in an exchange, whoever sums: vertices, or sums for vertices."""

from __future__ import annotations

import numpy as np

from offramp.graph.boundary import Boundary


def crossing_vectors(boundary: Boundary, workers: frozenset[int]) -> int:
    """The least number of vectors that cross from these workers to the others.

    For each edge that crosses, the vector of its source crosses, or a sum for its target: a vertex cover of these
    edges, whose least size is that of a maximum matching (König).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    inside = np.isin(boundary.owner, list(workers))
    ends = boundary.cut_edges
    crossing = ends[inside[ends[:, 0]] != inside[ends[:, 1]]]
    if not len(crossing):
        return 0
    sources = np.where(inside[crossing[:, 0]], crossing[:, 0], crossing[:, 1])
    targets = crossing.sum(axis=1) - sources
    rows, columns = np.unique(sources, return_inverse=True)[1], np.unique(targets, return_inverse=True)[1]
    edges = csr_array((np.ones(len(crossing), np.int8), (rows, columns)))
    return int((maximum_bipartite_matching(edges, perm_type="column") >= 0).sum())
