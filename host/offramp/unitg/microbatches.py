# SPDX-License-Identifier: Apache-2.0
"""Division of the graph into microbatches by affinity: near vertices together, sizes within one (section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from offramp.graph.csr import IntArray, rows_of
from offramp.graph.metis import available, metis_parts
from offramp_base.extras import fall_back
from offramp_base.settings.error import SettingsError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.csr import Adjacency
    from offramp.graph.data import Graph

CLUSTER = 256
"""Vertices per cluster inside a microbatch; clusters keep rows near that are summed together."""
CANDIDATES = 48
"""Vertices of a part that are considered for a swap."""


@sendable
@dataclass(frozen=True, slots=True)
class Microbatch:
    """A piece of the graph with ``n`` vertices, without the edges that leave it.

    Attributes:
        ids: ``(n,)`` int64 vertices of the whole graph.
        adjacency: ``(n, n)`` float32 CSR of ones with self-loops.
        degree: ``(n,)`` int64 number of remaining neighbours.
    """

    ids: IntArray
    adjacency: sp.csr_matrix
    degree: IntArray


def affinity_split(graph: Adjacency, count: int, seed: int = 0) -> list[IntArray]:
    """Vertices of ``count`` microbatches: every vertex in exactly one, sizes within one, few edges cut.

    METIS makes the parts if it is installed, breadth-first search otherwise; they are balanced by the moves that cut
    least, and then improved by swaps of two vertices. When no swap helps, at most as many edges are cut as by an
    average random split of these sizes. Inside a part, the clusters of a finer METIS partition are contiguous.

    Raises:
        OfframpError: a microbatch would be empty.
    """
    n = len(graph.indptr) - 1
    if not 1 <= count <= n:
        raise SettingsError("microbatches", f"expected 1 to {n}, the number of vertices", count)
    if available():
        part = metis_parts(graph.indptr, graph.indices, count, seed)
    else:
        fall_back("microbatches: parts by breadth-first search", "pymetis")
        part = _by_search(graph, count)
    part = _swapped(graph, _evened(graph, part.copy(), count), count)
    order = affinity_order(graph, seed)
    return [order[part[order] == m] for m in range(count)]


def random_split(vertices: int, count: int, seed: int = 0) -> list[IntArray]:
    """Microbatches of the same sizes that ignore the edges, with which affinity is compared."""
    order = np.random.default_rng(seed).permutation(vertices).astype(np.int64)
    return [np.sort(part) for part in np.array_split(order, count)]


def affinity_order(graph: Adjacency, seed: int = 0) -> IntArray:
    """All vertices, with those of a METIS cluster adjacent; connections are unchanged."""
    n = len(graph.indptr) - 1
    clusters = -(-n // CLUSTER)
    if clusters == 1 or not available():
        return np.arange(n, dtype=np.int64)
    part = metis_parts(graph.indptr, graph.indices, clusters, seed)
    return np.argsort(part, kind="stable").astype(np.int64)


def cut_edges(graph: Adjacency, split: list[IntArray]) -> int:
    """Number of edges between microbatches, which training ignores."""
    part = owner(graph, split)
    return int((part[rows_of(graph.indptr)] != part[graph.indices]).sum()) // 2


def owner(graph: Adjacency, split: list[IntArray]) -> IntArray:
    """``(n,)`` microbatch of each vertex."""
    part = np.full(len(graph.indptr) - 1, -1, np.int64)
    for number, ids in enumerate(split):
        part[ids] = number
    return part


def make_microbatches(graph: Graph, split: list[IntArray]) -> list[Microbatch]:
    """The pieces of the graph, each with the edges inside it."""
    ones = np.ones(len(graph.indices), np.float32)
    whole = sp.csr_matrix((ones, graph.indices, graph.indptr), shape=(graph.vertices, graph.vertices))
    microbatches = []
    for ids in split:
        inner = whole[ids][:, ids]
        closed = sp.csr_matrix(inner + sp.eye(len(ids), dtype=np.float32, format="csr"), dtype=np.float32)
        closed.sort_indices()
        microbatches.append(Microbatch(ids, closed, np.diff(inner.indptr).astype(np.int64)))
    return microbatches


def _by_search(graph: Adjacency, count: int) -> IntArray:
    """Consecutive pieces of a breadth-first order."""
    n = len(graph.indptr) - 1
    matrix = sp.csr_matrix((np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=(n, n))
    order = sp.csgraph.reverse_cuthill_mckee(matrix, symmetric_mode=True)
    part = np.empty(n, np.int64)
    part[order] = np.arange(n) * count // n
    return part


def _evened(graph: Adjacency, part: IntArray, count: int) -> IntArray:
    """Balance sizes to within one: vertices move to parts that lack some, starting with the best gain."""
    n = len(part)
    sizes = np.bincount(part, minlength=count)
    wanted = np.full(count, n // count)
    wanted[np.argsort(-sizes, kind="stable")[: n % count]] += 1
    near = _near(graph, part, count)
    for _ in range(int(np.maximum(sizes - wanted, 0).sum())):
        movable = np.flatnonzero(sizes[part] > wanted[part])
        short = np.flatnonzero(sizes < wanted)
        gain = near[np.ix_(movable, short)] - near[movable, part[movable]][:, np.newaxis]
        vertex, into = (int(i) for i in np.unravel_index(gain.argmax(), gain.shape))
        vertex, into = int(movable[vertex]), int(short[into])
        old = int(part[vertex])
        _move(graph, part, near, vertex, into)
        sizes[old] -= 1
        sizes[into] += 1
    return part


def _swapped(graph: Adjacency, part: IntArray, count: int) -> IntArray:
    """Swap the two vertices with the greatest gain, among the best of each pair of parts, until no swap gains."""
    near = _near(graph, part, count)
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    for _ in range(len(part)):
        best, chosen = 0, None
        for a, b in pairs:
            gain, vertices = _best_swap(graph, part, near, a, b)
            if gain > best:
                best, chosen = gain, (vertices, (a, b))
        if chosen is None:
            break
        (u, v), (a, b) = chosen
        _move(graph, part, near, u, b)
        _move(graph, part, near, v, a)
    return part


def _best_swap(graph: Adjacency, part: IntArray, near: IntArray, a: int, b: int) -> tuple[int, tuple[int, int]]:
    """Gain of the best swap between two parts, and its vertices."""
    ends, gains = [], []
    for own, other in ((a, b), (b, a)):
        members = np.flatnonzero(part == own)
        gain = near[members, other] - near[members, own]
        if len(members) > CANDIDATES:
            chosen = np.argpartition(-gain, CANDIDATES)[:CANDIDATES]
            members, gain = members[chosen], gain[chosen]
        ends.append(members)
        gains.append(gain)
    joined = np.array([np.isin(ends[1], graph.indices[graph.indptr[u] : graph.indptr[u + 1]]) for u in ends[0]])
    total = gains[0][:, np.newaxis] + gains[1] - 2 * joined
    i, j = (int(k) for k in np.unravel_index(total.argmax(), total.shape))
    return int(total[i, j]), (int(ends[0][i]), int(ends[1][j]))


def _near(graph: Adjacency, part: IntArray, count: int) -> IntArray:
    """``(n, count)`` number of neighbours of each vertex in each part."""
    near = np.zeros((len(part), count), np.int64)
    np.add.at(near, (rows_of(graph.indptr), part[graph.indices]), 1)
    return near


def _move(graph: Adjacency, part: IntArray, near: IntArray, vertex: int, into: int) -> None:
    neighbours = graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]
    near[neighbours, part[vertex]] -= 1
    near[neighbours, into] += 1
    part[vertex] = into
