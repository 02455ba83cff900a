# SPDX-License-Identifier: Apache-2.0
"""The drawing of neighbours: machine code where there is LLVM, NumPy where there is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offramp.dgs import kernels, reference
from offramp.graph.csr import IntArray, entries_of
from offramp.splitmix import mix_word
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

ALL: Final = -1
"""The fan-out that takes every neighbour."""


class SampledNeighbours(NamedTuple):
    """Neighbours drawn for some rows.

    Attributes:
        counts: ``(rows,)`` of each.
        neighbours: ``(sum of counts,)`` vertices, row by row.
    """

    counts: IntArray
    neighbours: IntArray


@sendable
class LocalAdjacency(NamedTuple):
    """Adjacency of some vertices: ``indices`` are vertices of the whole graph.

    Attributes:
        indptr: ``(n + 1,)``.
        indices: neighbours, ascending in each row.
    """

    indptr: IntArray
    indices: IntArray

    def room(self, rows: IntArray, fanout: int) -> int:
        """The most neighbours that can be drawn."""
        return int(np.minimum(self.indptr[rows + 1] - self.indptr[rows], fanout).sum())


@cache
def machine_code(kernel: Callable[..., int]) -> Callable[..., int] | None:
    """A kernel compiled, or None where there is no LLVM."""
    from offramp_base.native.library import compiled

    try:
        return compiled(kernel)
    except OfframpError:
        return None


def whole(words: IntArray) -> IntArray:
    """The words in contiguous memory, as machine code reads them."""
    return np.ascontiguousarray(words, np.int64)


def stream_of(seed: int, worker: int, batch: int, layer: int) -> int:
    """The word that the draws of one worker, batch and layer start from, below 2^63 so that it fits everywhere."""
    word = mix_word(seed)
    for part in (worker, batch, layer):
        word = mix_word(word ^ mix_word(part + 1))
    return word >> 1


def every(graph: LocalAdjacency, rows: IntArray) -> SampledNeighbours:
    """All neighbours of ``rows``."""
    entries, counts = entries_of(graph.indptr, rows)
    return SampledNeighbours(counts, graph.indices[entries])


def uniform(graph: LocalAdjacency, rows: IntArray, ids: IntArray, fanout: int, stream: int) -> SampledNeighbours:
    """``fanout`` neighbours of each row without replacement, all alike; whole rows where there are no more.

    Args:
        graph: adjacency.
        rows: ``(r,)`` rows of it.
        ids: ``(r,)`` vertices that they are: with ``stream`` they decide what is drawn.
        fanout: fanout of each row, or :data:`ALL`.
        stream: stream of :func:`stream_of`.
    """
    if fanout == ALL:
        return every(graph, rows)
    kernel = machine_code(kernels.uniform)
    if kernel is None:
        return SampledNeighbours(*reference.uniform(*graph, rows, ids, fanout, stream))
    rows, ids = whole(rows), whole(ids)
    counts, out = np.empty(len(rows), np.int64), np.empty(graph.room(rows, fanout), np.int64)
    kernel(*graph, rows, ids, len(rows), fanout, stream, counts, out)
    return SampledNeighbours(counts, out)


def places(indptr: IntArray, rows: IntArray, ids: IntArray, fanout: int, stream: int) -> SampledNeighbours:
    """Positions in the indices of the neighbours that :func:`uniform` draws, for values that lie beside them."""
    if fanout == ALL:
        entries, counts = entries_of(indptr, rows)
        return SampledNeighbours(counts, entries)
    kernel = machine_code(kernels.places)
    if kernel is None:
        return SampledNeighbours(*reference.uniform(indptr, np.arange(indptr[-1]), rows, ids, fanout, stream))
    rows, ids = whole(rows), whole(ids)
    room = int(np.minimum(indptr[rows + 1] - indptr[rows], fanout).sum())
    counts, out = np.empty(len(rows), np.int64), np.empty(room, np.int64)
    kernel(indptr, rows, ids, len(rows), fanout, stream, counts, out)
    return SampledNeighbours(counts, out)


def weighted(
    graph: LocalAdjacency,
    rows: IntArray,
    ids: IntArray,
    fanout: int,
    stream: int,
    weights: npt.NDArray[np.float64],
    owner: npt.NDArray[np.int32],
    worker: int,
    shift: int = 0,
) -> SampledNeighbours:
    """Like :func:`uniform`, with each draw proportional to ``weights`` (of all vertices) among the rest.

    ``shift`` more of a row's draws are of other workers than ``worker`` than that, with clamps where a row has too few
    of either (specification section 7.1); their number does not change.
    """
    if fanout == ALL:
        return every(graph, rows)
    kernel = machine_code(kernels.weighted)
    if kernel is None:
        return SampledNeighbours(
            *reference.weighted(*graph, rows, ids, fanout, shift, owner != worker, weights, stream)
        )
    rows, ids, weights = whole(rows), whole(ids), np.ascontiguousarray(weights, np.float64)
    owner = np.ascontiguousarray(owner, np.int32)
    counts, out = np.empty(len(rows), np.int64), np.empty(graph.room(rows, fanout), np.int64)
    keys, places = np.empty(2 * fanout), np.empty(2 * fanout, np.int64)
    kernel(
        *graph, rows, ids, len(rows), fanout, shift, owner, worker, weights, stream, keys, places, counts, out
    )  # fmt: skip
    return SampledNeighbours(counts, out)


def in_order(parts: list[SampledNeighbours], places: IntArray) -> SampledNeighbours:
    """Neighbours sampled for groups of rows, in the order of all rows; ``places`` are those of the groups' rows."""
    counts = np.concatenate([each.counts for each in parts])
    neighbours = np.concatenate([each.neighbours for each in parts])
    order = np.empty(len(places), np.int64)
    order[places] = np.arange(len(places))
    entries, ordered = entries_of(np.concatenate([[0], np.cumsum(counts)]), order)
    return SampledNeighbours(ordered, neighbours[entries])


class Numbering:
    """Gives the vertices of a batch their places; holds a table of the whole graph's vertices for that."""

    def __init__(self, vertices: int) -> None:
        self._slot = np.full(vertices, -1, np.int32)

    def __call__(self, targets: IntArray, neighbours: IntArray) -> tuple[IntArray, IntArray]:
        """Sources (targets first, then neighbours as they come), and each neighbour's place among them."""
        kernel = machine_code(kernels.number)
        if kernel is None:
            return reference.number(targets, neighbours)
        targets, neighbours = whole(targets), whole(neighbours)
        sources = np.empty(len(targets) + len(neighbours), np.int64)
        columns = np.empty(len(neighbours), np.int64)
        n = kernel(targets, len(targets), neighbours, len(neighbours), self._slot, sources, columns)
        return sources[:n].copy(), columns
