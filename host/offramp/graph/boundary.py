# SPDX-License-Identifier: Apache-2.0
"""Boundary vertices and cut edges of a partition (specification section 1)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp.graph.bins import priority_order
from offramp.graph.csr import Adjacency, IntArray, counts_of, distinct_below, is_symmetric
from offramp_base.errors import OfframpError


class Boundary:
    """The cut graph: boundary vertices joined by the edges whose ends have different owners.

    Attributes:
        workers: number of workers M.
        owner: ``(n,)`` int32 worker of each vertex of the whole graph.
        vertices: ``(B,)`` int64 boundary vertices, ascending.
        cut_edges: ``(C, 2)`` int64, ``u < v``, sorted.
        indptr: ``(B+1,)`` int64 rows of the cut graph, by rank in ``vertices``.
        neighbours: ``(2C,)`` int64 ranks of each boundary vertex's remote neighbours N(v), ascending.
        need: ``(B,)`` int64, size of N(v).
        copies: ``(R, 2)`` int64 sorted pairs (vertex, remote worker that needs it): what p2p sends.
        r: ``(B,)`` int64, number of remote workers that need each boundary vertex.
        B: number of boundary vertices.
        C: number of undirected cut edges.
        R: Σ r, the host-based multicast volume in feature vectors.

    Raises:
        OfframpError: ``owner`` does not fit the graph, or the graph is not symmetric.
    """

    def __init__(self, graph: Adjacency, owner: npt.ArrayLike, workers: int | None = None) -> None:
        n = len(graph.indptr) - 1
        self._graph = graph
        self.owner = np.asarray(owner, np.int32)
        self.workers = workers if workers is not None else int(self.owner.max(initial=0)) + 1
        if self.owner.shape != (n,):
            raise OfframpError(f"owner: expected {n} entries, one per vertex, got shape {self.owner.shape}")
        if n and not 0 <= self.owner.min() <= self.owner.max() < self.workers:
            raise OfframpError(f"owner: expected workers from 0 to {self.workers - 1}")
        columns = np.asarray(graph.indices, np.int64)
        cut = np.repeat(self.owner, np.diff(graph.indptr)) != self.owner[columns]
        counts = counts_of(graph.indptr, cut)
        u, v = np.repeat(np.arange(n), counts), columns[cut]
        if not is_symmetric(np.concatenate([[0], np.cumsum(counts)]), v):
            raise OfframpError("graph: expected sorted rows that hold both directions of every edge")
        upper = u < v
        self.cut_edges: IntArray = np.stack([u[upper], v[upper]], axis=1)
        self.vertices: IntArray = np.flatnonzero(counts)
        self.need: IntArray = counts[self.vertices]
        self.indptr: IntArray = np.concatenate([[0], np.cumsum(self.need)])
        rank = np.cumsum(counts > 0) - 1
        self.neighbours: IntArray = rank[v]
        pairs = distinct_below(u * self.workers + self.owner[v], n * self.workers)
        self.copies: IntArray = np.stack(np.divmod(pairs, self.workers), axis=1)
        self.r: IntArray = np.bincount(self.copies[:, 0], minlength=n)[self.vertices]
        self.B, self.C, self.R = len(self.vertices), len(self.cut_edges), len(self.copies)

    @cached_property
    def priority(self) -> IntArray:
        """``(B,)`` place of each boundary vertex in its worker's priority list (G3, section 4.4.3)."""
        place = np.zeros(len(self.owner), np.int64)
        for worker in range(self.workers):
            order = priority_order(self._graph, self.owner == worker)
            place[order] = np.arange(len(order))
        return place[self.vertices]
