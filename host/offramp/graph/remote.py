# SPDX-License-Identifier: Apache-2.0
"""Remote neighbours of each worker, kept while vertices move (specification G3, section 4.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import Adjacency, IntArray, rows_of
from offramp_base.errors import OfframpError

_CHUNK = 1 << 24


class RemoteNeighbours:
    """Numbers of remote vertices that each worker needs and sends, exact after every move, in O(degree + workers) each.

    Worker p's remote vertices are those outside V_p with an edge into V_p.

    Attributes:
        owner: ``(n,)`` int64 worker of each vertex.
        edges: ``(workers, n)`` int32, edges from each vertex into each worker's part: ``cnt[p][u]``.
        recv: ``(workers,)`` int64, |V_p^remote|: rows that a worker receives for a layer.
        send: ``(workers,)`` int64, rows that it sends: for each of its vertices the workers that need it.

    Args:
        graph: rows hold the in-neighbours of each vertex; of an undirected graph, its neighbours.
        owner: ``(n,)`` worker of each vertex.
        workers: number of workers.

    Raises:
        OfframpError: an owner that does not fit, self-loops, parallel edges or rows that are not sorted.
    """

    def __init__(self, graph: Adjacency, owner: npt.ArrayLike, workers: int) -> None:
        self._indptr, self._indices = graph.indptr, graph.indices
        n = len(self._indptr) - 1
        self.owner: IntArray = np.array(owner, np.int64)
        if self.owner.shape != (n,):
            raise OfframpError(f"owner: expected {n} entries, one per vertex, got shape {self.owner.shape}")
        if n and not 0 <= self.owner.min() <= self.owner.max() < workers:
            raise OfframpError(f"owner: expected workers from 0 to {workers - 1}")
        rows = rows_of(self._indptr)
        if ((np.diff(self._indices) <= 0) & (np.diff(rows) == 0)).any() or (rows == self._indices).any():
            raise OfframpError("graph: expected sorted rows without self-loops or parallel edges")
        self.edges = np.zeros((workers, n), np.int32)
        for start in range(0, len(rows), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            flat = self.owner[rows[chunk]] * n + self._indices[chunk]
            self.edges += np.bincount(flat, minlength=workers * n).reshape(workers, n).astype(np.int32)
        self.recv: IntArray = np.empty(workers, np.int64)
        self.send: IntArray = np.zeros(workers, np.int64)
        for worker, counts in enumerate(self.edges):
            remote = (counts > 0) & (self.owner != worker)
            self.recv[worker] = remote.sum()
            self.send += np.bincount(self.owner[remote], minlength=workers)

    def move(self, vertex: int, to: int) -> None:
        """Move ``vertex`` to worker ``to``, unless it is there already."""
        owner, edges = self.owner, self.edges
        left = int(owner[vertex])
        if left == to:
            return
        near = self._indices[self._indptr[vertex] : self._indptr[vertex + 1]]
        edges[left, near] -= 1
        self._count(near[(edges[left, near] == 0) & (owner[near] != left)], left, -1)
        self._count(near[(edges[to, near] == 0) & (owner[near] != to)], to, 1)
        edges[to, near] += 1
        needed = edges[:, vertex] > 0  # by whom, the vertex's own worker left out below
        self.recv[to] -= needed[to]
        self.recv[left] += needed[left]
        self.send[left] -= needed.sum() - needed[left]
        self.send[to] += needed.sum() - needed[to]
        owner[vertex] = to

    def _count(self, vertices: IntArray, worker: int, by: int) -> None:
        self.recv[worker] += by * len(vertices)
        self.send += by * np.bincount(self.owner[vertices], minlength=len(self.send))

    def swap(self, first: int, second: int) -> None:
        """The two vertices change workers; called again, they change back."""
        a, b = int(self.owner[first]), int(self.owner[second])
        self.move(first, b)
        self.move(second, a)
