# SPDX-License-Identifier: Apache-2.0
"""Multi-level block partitioning of the cut graph (paper section 3.3, specification section 8.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from offramp.graph.csr import IntArray, csr_of_sorted, distinct, induced, ranks_of
from offramp.graph.metis import metis_parts
from offramp.graph.pack import pack
from offramp_base.errors import OfframpError
from offramp_base.progress import report

Partitioner = Callable[[IntArray, IntArray, int], npt.ArrayLike]
"""``(indptr, indices, k)`` of a connected graph to the part in ``[0, k)`` of each of its vertices."""

Splitter = Callable[[IntArray, IntArray, IntArray], IntArray]
"""``(indptr, indices, vertices)`` of a connected graph to the part of each of its vertices, none too large."""

MAX_LEVEL = 64
"""Deeper than this, the remaining edges are placed greedily."""


@dataclass(frozen=True, slots=True, eq=False)
class CutBlock:
    """Cut edges that are aggregated together.

    Attributes:
        vertices: ``(k,)`` int64 endpoints of the edges, ascending.
        edges: ``(e, 2)`` int64, ``u < v``, sorted.
        level: depth of the recursion at which it was made (the least one of a packed block).
    """

    vertices: IntArray
    edges: IntArray
    level: int = 0

    @classmethod
    def of(cls, edges: IntArray, level: int = 0) -> CutBlock:
        """The block of ``edges`` ``(e, 2)``, in any order."""
        if not _ascending(edges):
            edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
        return cls(distinct(edges.flatten()), edges, level)

    def csr(self) -> tuple[IntArray, IntArray]:
        """``(indptr, neighbours)`` over ranks in ``vertices``."""
        return csr_of_sorted(len(self.vertices), ranks_of(self.edges, self.vertices))


def plan_blocks(
    cut_edges: npt.ArrayLike,
    limit: int,
    seed: int = 0,
    partitioner: Partitioner | None = None,
    *,
    splitter: Splitter | None = None,
    owner: npt.NDArray[np.int32] | None = None,
) -> list[CutBlock]:
    """Blocks of at most ``limit`` vertices that hold each of ``cut_edges`` ``(C, 2)`` exactly once.

    A component that fits is a block; a larger one is cut into parts, and the edges between parts make up the
    graph of the next level. Small blocks are then packed together, with ``owner`` so that those go together that
    different workers upload. ``partitioner`` defaults to METIS, ``splitter`` to as few of its parts as fit.

    Raises:
        OfframpError: ``limit`` below 2 (an edge needs an aggregator at both ends), or malformed edges.
    """
    edges = np.asarray(cut_edges, np.int64).reshape(-1, 2)
    if limit < 2:
        raise OfframpError(f"limit {limit}: a block needs at least 2 vertices to hold an edge")
    if len(edges) and (edges.min() < 0 or (edges[:, 0] == edges[:, 1]).any()):
        raise OfframpError("cut_edges: expected pairs of different vertex ids of at least 0")
    cut: Partitioner = partitioner or partial(metis_parts, seed=seed)
    split = splitter or (lambda indptr, indices, _: fitting_parts(indptr, indices, limit, cut))
    if not _ascending(edges) or (edges[:, 0] > edges[:, 1]).any():
        edges = np.unique(np.sort(edges, axis=1), axis=0)
    blocks: list[CutBlock] = []
    level, total = 0, len(edges)
    while len(edges):
        report("cutting the boundary into blocks", total - len(edges), total)
        if limit == 2:  # every edge is a block of its own, whatever the partitioner says
            blocks += [CutBlock.of(edge, level) for edge in edges[:, np.newaxis]]
            break
        inside, part = _cut_level(edges, limit, split)
        if not inside.any() or level > MAX_LEVEL:
            blocks += [CutBlock.of(group, level) for group in _greedy(edges, limit)]
            break
        blocks += [CutBlock.of(group, level) for group in _groups(edges[inside], part[inside])]
        edges = edges[~inside]
        level += 1
    return _packed(blocks, limit, owner)


def worker_loads(sets: list[IntArray], owner: npt.NDArray[np.int32]) -> IntArray:
    """``(sets, workers)`` vertices of each set that each worker owns."""
    workers = int(owner.max(initial=0)) + 1
    return np.array([np.bincount(owner[vertices], minlength=workers) for vertices in sets]).reshape(-1, workers)


def imbalance(vertices: IntArray, owner: npt.NDArray[np.int32], workers: int) -> float:
    """Uploads of a block's most loaded worker over the mean, 1 at best (specification section 8.4)."""
    if len(vertices) == 0:
        return 1.0
    return float(np.bincount(owner[vertices]).max() * workers / len(vertices))


def _cut_level(edges: IntArray, limit: int, split: Splitter) -> tuple[npt.NDArray[np.bool_], IntArray]:
    """Whether each edge lies inside a part, and the part of its first end; no part exceeds ``limit``."""
    vertices, ends = _compact(edges)
    n = len(vertices)
    indptr, indices = csr_of_sorted(n, ends)
    ones = np.ones(len(indices), np.int8)
    count, component = connected_components(csr_array((ones, indices, indptr), shape=(n, n)), directed=False)
    part = component.astype(np.int64)
    used = int(count)
    for large in np.flatnonzero(np.bincount(component) > limit).tolist():
        members = np.flatnonzero(component == large)
        labels = split(*induced(indptr, indices, members), vertices[members])
        part[members] = used + labels
        used += int(labels.max()) + 1
    first, second = part[ends[:, 0]], part[ends[:, 1]]
    return first == second, first


def _ascending(edges: IntArray) -> bool:
    """Whether edges are sorted and different."""
    u, v = edges.T
    return bool(((u[1:] > u[:-1]) | ((u[1:] == u[:-1]) & (v[1:] > v[:-1]))).all())


def _compact(edges: IntArray) -> tuple[IntArray, IntArray]:
    """Vertices that ``edges`` touch, ascending, and the edges between their ranks; the order of ids is kept."""
    largest = int(edges.max())
    if largest > 8 * edges.size:
        vertices, ends = np.unique(edges, return_inverse=True)
        return vertices, ends.reshape(-1, 2)
    used = np.zeros(largest + 1, np.bool_)
    used[edges] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[edges]


def fitting_parts(indptr: IntArray, indices: IntArray, limit: int, cut: Partitioner) -> IntArray:
    """Parts of at most ``limit`` vertices: as few as the partitioner manages, else consecutive runs."""
    n = len(indptr) - 1
    k = -(-n // limit)
    while k <= n:
        labels = np.asarray(cut(indptr, indices, k), np.int64)
        if np.bincount(labels).max() <= limit:
            return labels
        k = max(k + 1, int(1.03 * k))
    return np.arange(n) // limit


def _groups(edges: IntArray, key: IntArray) -> list[IntArray]:
    """``edges`` split by ``key``, in ascending order of it."""
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order])) + 1
    return np.split(edges[order], starts)


def _greedy(edges: IntArray, limit: int) -> list[IntArray]:
    """Walk the sorted edges and open a new block when the next one does not fit."""
    held: set[int] = set()
    starts = []
    for i, (u, v) in enumerate(edges.tolist()):
        if len(held | {u, v}) > limit:
            held = set()
            starts.append(i)
        held |= {u, v}
    return np.split(edges, starts)


def _packed(blocks: list[CutBlock], limit: int, owner: npt.NDArray[np.int32] | None) -> list[CutBlock]:
    """First-fit or balanced packing; blocks stay in order of level, then of index."""
    sets = [block.vertices for block in blocks]
    loads = None if owner is None else worker_loads(sets, owner)
    bins = sorted(pack(sets, limit, loads), key=lambda members: members[0])
    return [
        blocks[members[0]]
        if len(members) == 1
        else CutBlock.of(np.concatenate([blocks[i].edges for i in members]), blocks[members[0]].level)
        for members in bins
    ]
