# SPDX-License-Identifier: Apache-2.0
"""Partitions of graphs whose edges are read as a stream, in memory that grows with the vertices alone.

Two passes find clusters (Hollocou et al. 2017; 2PS, Mayer et al. 2022): an edge moves the end in the smaller cluster
to the other one, unless that is full. Clusters are packed into parts, the largest first. Each further pass counts every
vertex's neighbours in each part and moves those that have more elsewhere, or that their part has no room for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from offramp.graph import kernels
from offramp_base.errors import OfframpError
from offramp_base.native.subset import Ints, Words, native
from offramp_base.progress import report

if TYPE_CHECKING:
    from offramp.graph.csr import IntArray

Chunks = Callable[[], Iterable["tuple[IntArray, IntArray]"]]
"""Reads the edges from the start: sources and targets of some at a time."""

BALANCE: Final = 1.05
"""Vertices of the largest part, of the mean."""
_CLUSTERS: Final = 4
"""Clusters of a part's size, at least."""


@native
def cluster(u: Words, v: Words, count: int, of: Ints, degree: Ints, volume: Words, limit: int, first: int) -> int:
    """Let edges move vertices between clusters; in the ``first`` pass degrees are counted on the way."""
    moved = 0
    for i in range(count):
        a = u[i]
        b = v[i]
        if first > 0:
            degree[a] = degree[a] + 1
            degree[b] = degree[b] + 1
            volume[of[a]] = volume[of[a]] + 1
            volume[of[b]] = volume[of[b]] + 1
        ca = of[a]
        cb = of[b]
        if ca != cb and volume[ca] <= limit and volume[cb] <= limit:
            if volume[ca] - degree[a] <= volume[cb] - degree[b]:
                if volume[cb] + degree[a] <= limit:
                    volume[ca] = volume[ca] - degree[a]
                    volume[cb] = volume[cb] + degree[a]
                    of[a] = cb
                    moved += 1
            elif volume[ca] + degree[b] <= limit:
                volume[cb] = volume[cb] - degree[b]
                volume[ca] = volume[ca] + degree[b]
                of[b] = ca
                moved += 1
    return moved


@native
def tally(u: Words, v: Words, count: int, owner: Ints, near: Ints, parts: int) -> int:
    """Count neighbours in each part, ``near[vertex * parts + part]``."""
    for i in range(count):
        a = u[i]
        b = v[i]
        near[a * parts + owner[b]] = near[a * parts + owner[b]] + 1
        near[b * parts + owner[a]] = near[b * parts + owner[a]] + 1
    return count


@native
def refine(owner: Ints, near: Ints, sizes: Words, vertices: int, parts: int, most: int, turn: int, loss: int) -> int:
    """Move vertices to the part with most of their neighbours, every second one in each turn; returns how many.

    A part of more than ``most`` vertices gives away those that lose at most ``loss`` neighbours, until it has as many.
    """
    moved = 0
    for v in range(vertices):
        own = owner[v]
        if (v + turn) % 2 == 0 and sizes[own] > 1:
            best = own
            most_near = near[v * parts + own]
            if sizes[own] > most:
                most_near = near[v * parts + own] - loss - 1
            for p in range(parts):
                if p != own and near[v * parts + p] > most_near and sizes[p] < most:
                    best = p
                    most_near = near[v * parts + p]
            if best != own:
                sizes[own] = sizes[own] - 1
                sizes[best] = sizes[best] + 1
                owner[v] = best
                moved += 1
    return moved


def stream_partition(
    chunks: Chunks, vertices: int, edges: int, parts: int, *, refinements: int = 8
) -> npt.NDArray[np.int32]:
    """``(n,)`` part of each vertex, from ``2 + refinements`` passes over the edges.

    Takes ``20 + 4 * parts`` bytes for each vertex, and what a chunk takes.

    Raises:
        OfframpError: fewer vertices than parts, or an edge with a vertex that is not there.
    """
    if not 1 <= parts <= vertices:
        raise OfframpError(f"parts {parts}: expected 1 to {vertices}, the number of vertices")
    if vertices >= 1 << 31:
        raise OfframpError(f"{vertices} vertices: expected fewer than 2^31")
    if parts == 1:
        return np.zeros(vertices, np.int32)
    of, degree = np.arange(vertices, dtype=np.int32), np.zeros(vertices, np.int32)
    volume = np.zeros(vertices, np.int64)
    limit = max(2, int(2 * edges / (parts * _CLUSTERS)))
    for turn in range(2):
        for u, v in _checked(chunks, f"clusters, pass {turn + 1} of 2", edges, vertices):
            kernels.fast(cluster)(u, v, len(u), of, degree, volume, limit, int(turn == 0))
    del degree, volume
    owner = _packed(of, parts)
    del of
    sizes = np.bincount(owner, minlength=parts).astype(np.int64)
    most = int(np.ceil(vertices / parts * BALANCE))
    for turn in range(refinements):
        loss = (1 << turn) - 1 if turn < refinements - 2 else vertices  # the last two make the sizes what they must be
        near = np.zeros(vertices * parts, np.int32)
        for u, v in _checked(chunks, f"refinement {turn + 1} of {refinements}", edges, vertices):
            kernels.fast(tally)(u, v, len(u), owner, near, parts)
        kernels.fast(refine)(owner, near, sizes, vertices, parts, most, turn, loss)
    return owner


def _checked(chunks: Chunks, what: str, edges: int, vertices: int) -> Iterable[tuple[IntArray, IntArray]]:
    done = 0
    for u, v in chunks():
        u, v = np.ascontiguousarray(u, np.int64), np.ascontiguousarray(v, np.int64)
        if len(u) and not 0 <= min(u.min(), v.min()) <= max(u.max(), v.max()) < vertices:
            raise OfframpError(f"edges {done} to {done + len(u)}: expected vertices from 0 to {vertices - 1}")
        yield u, v
        done += len(u)
        report(what, done, edges)


def _packed(of: npt.NDArray[np.int32], parts: int) -> npt.NDArray[np.int32]:
    """Whole clusters into parts, the largest first, each into the smallest part; single vertices fill up the rest."""
    sizes = np.bincount(of, minlength=len(of))
    order = np.argsort(-sizes, kind="stable")
    order = order[: int((sizes > 0).sum())]
    part_of = np.zeros(len(of), np.int32)
    loads = [0] * parts
    large = int((sizes[order] > 1).sum())
    for each in order[:large].tolist():
        part = loads.index(min(loads))
        part_of[each] = part
        loads[part] += int(sizes[each])
    room = np.maximum(0, int(np.ceil(len(of) / parts)) - np.array(loads))
    single = order[large:]
    places = np.repeat(np.arange(parts, dtype=np.int32), room)
    part_of[single] = places[: len(single)] if len(places) >= len(single) else np.arange(len(single)) % parts
    return part_of[of]
