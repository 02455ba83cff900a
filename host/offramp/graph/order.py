# SPDX-License-Identifier: Apache-2.0
"""Graph-aware multicast reordering: in which order a block is uploaded (paper section 3.2)."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

import numpy as np

from offramp.graph.blocks import Block
from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError

METHODS = ("gamr", "degree", "bfs", "random", "id")
ROOTS = ("max", "random")


def order(block: Block, method: str = "gamr", seed: int = 0, root: str = "max") -> IntArray:
    """``(k,)`` vertex ids of ``block`` in upload order; see :func:`order_ranks`."""
    return block.vertices[order_ranks(*block.csr(), method, seed, root)]


def order_ranks(
    indptr: IntArray, neighbours: IntArray, method: str = "gamr", seed: int = 0, root: str = "max"
) -> IntArray:
    """``(k,)`` ranks of a block graph's vertices in upload order.

    ``gamr`` is the priority BFS: the enqueued vertex of highest degree goes next, ties to the one enqueued
    first, neighbours are enqueued by ascending id, and a queue that runs empty restarts at the unvisited
    vertex of highest degree, lowest id (specification section 7.1). ``bfs`` is its plain form, ``degree``
    sorts by falling degree. ``root``: start at the highest degree (``max``) or at a seeded one (``random``).

    Raises:
        OfframpError: unknown ``method`` or ``root``.
    """
    if method not in METHODS:
        raise OfframpError(f"order {method!r}: expected one of {', '.join(METHODS)}")
    if root not in ROOTS:
        raise OfframpError(f"root {root!r}: expected one of {', '.join(ROOTS)}")
    degrees = np.diff(indptr)
    n = len(degrees)
    rng = np.random.default_rng(seed)
    if method == "id":
        return np.arange(n)
    if method == "random":
        return rng.permutation(n)
    by_degree = np.argsort(-degrees, kind="stable")
    if method == "degree":
        return by_degree
    roots = by_degree.tolist()
    if root == "random" and n:
        roots.insert(0, int(rng.integers(n)))
    unvisited = _Unvisited(indptr, neighbours)
    visited = _priority_bfs(unvisited, degrees.tolist(), roots) if method == "gamr" else _bfs(unvisited, roots)
    return np.array(visited, np.int64)


class _Unvisited:
    """Vertices that have not been enqueued; rows are read only while there are any."""

    def __init__(self, indptr: IntArray, neighbours: IntArray) -> None:
        self.starts = indptr.tolist()
        self.neighbours = neighbours
        self.left = len(indptr) - 1
        self.waiting = [True] * self.left

    def take(self, vertex: int) -> bool:
        """Enqueue ``vertex`` unless it has been."""
        if not self.waiting[vertex]:
            return False
        self.waiting[vertex] = False
        self.left -= 1
        return True

    def take_neighbours(self, vertex: int) -> list[int]:
        """Enqueue the neighbours of ``vertex`` that have not been, by ascending id."""
        if not self.left:
            return []
        row = self.neighbours[self.starts[vertex] : self.starts[vertex + 1]].tolist()
        return [w for w in row if self.take(w)]


def _priority_bfs(unvisited: _Unvisited, degrees: list[int], roots: list[int]) -> list[int]:
    visited: list[int] = []
    heap: list[tuple[int, int, int]] = []
    ticket = 0
    for start in roots:
        if not unvisited.take(start):
            continue
        heap.append((-degrees[start], ticket, start))
        while heap:
            u = heappop(heap)[2]
            visited.append(u)
            for w in unvisited.take_neighbours(u):
                ticket += 1
                heappush(heap, (-degrees[w], ticket, w))
    return visited


def _bfs(unvisited: _Unvisited, roots: list[int]) -> list[int]:
    visited: list[int] = []
    queue: deque[int] = deque()
    for start in roots:
        if not unvisited.take(start):
            continue
        queue.append(start)
        while queue:
            u = queue.popleft()
            visited.append(u)
            queue.extend(unvisited.take_neighbours(u))
    return visited
