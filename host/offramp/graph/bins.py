# SPDX-License-Identifier: Apache-2.0
"""Bins of vertices that a worker computes together, while others travel (specification G3, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.graph import kernels
from offramp.graph.csr import Adjacency, IntArray, counts_of
from offramp_base.errors import OfframpError

FLOAT_BYTES: Final = 4


@dataclass(frozen=True)
class BinLimit:
    """The capacity of a bin, and the cost of its vertices.

    Attributes:
        most: limit of what follows; a vertex that takes more by itself has a bin of its own.
        row: what each vertex takes that a bin loads: its targets and their in-neighbours, each once.
        target: what each of its targets takes besides.
        entry: what each entry of the targets' closed neighbourhoods takes.

    Raises:
        OfframpError: a limit below 1, or a cost below 0.
    """

    most: int
    row: int = 0
    target: int = 1
    entry: int = 0

    def __post_init__(self) -> None:
        for name, least in (("most", 1), ("row", 0), ("target", 0), ("entry", 0)):
            if getattr(self, name) < least:
                raise OfframpError(f"bin limit: {name} {getattr(self, name)}: expected at least {least}")


def memory_limit(memory: int, width_in: int, width_out: int, size: int = FLOAT_BYTES, entry: int = 0) -> BinLimit:
    """Bins whose inputs and outputs take half of ``memory`` bytes: one computes while another loads.

    ``entry`` is in bytes, as in :class:`BinLimit`: their piece of the graph, which the paper does not count.
    """
    return BinLimit(max(1, memory // 2), row=width_in * size, target=width_out * size, entry=entry)


def target_limits(initial: int, widths: list[int], memory: int | None = None, size: int = FLOAT_BYTES) -> list[int]:
    """Targets in a bin of each layer: ``initial`` in the first, in others as many as take the same memory.

    Args:
        initial: initial of the first layer.
        widths: d_0 to d_L.
        memory: bytes; no layer's bin takes more than half, by the rule of targets alone.
        size: bytes of a number.

    Raises:
        OfframpError: a number below 1, or fewer than two widths.
    """
    if initial < 1 or len(widths) < 2 or min(widths) < 1:
        raise OfframpError(f"bin of {initial} targets and widths {widths}: expected at least 1, and a width more")
    each = [before + after for before, after in pairwise(widths)]
    limits = [initial * each[0] // one for one in each]
    if memory is not None:
        limits = [min(limit, memory // 2 // (one * size)) for limit, one in zip(limits, each, strict=True)]
    return [max(1, limit) for limit in limits]


def breadth_first(graph: Adjacency, inside: npt.ArrayLike | None = None) -> IntArray:
    """Vertices breadth first from the lowest id of each component, neighbours as their rows list them.

    ``inside`` is a mask of those that take part; vertices without a row cannot.
    """
    return _walk(graph, _mask(graph, inside))


def priority_order(graph: Adjacency, inside: npt.ArrayLike, *, by_count: bool = False) -> IntArray:
    """The priority list of a worker: its vertices breadth first, those with remote neighbours before the others.

    Args:
        graph: rows hold the neighbours of each vertex, ascending.
        inside: mask of the worker's own vertices.
        by_count: those with more remote neighbours first, equals in breadth-first order.

    Raises:
        OfframpError: a mask that does not fit the graph.
    """
    mask = _mask(graph, inside)
    visited = _walk(graph, mask)
    remote = counts_of(graph.indptr, ~mask[np.asarray(graph.indices)])[visited]
    return visited[np.argsort(-remote if by_count else remote == 0, kind="stable")]


def pack_bins(graph: Adjacency, order: npt.ArrayLike, limit: BinLimit) -> list[IntArray]:
    """Bins of the vertices in ``order``, which they keep; each vertex is in one.

    Raises:
        OfframpError: a vertex without a row.
    """
    return ready_bins(graph, order, limit, outstanding=False)[0]


def ready_bins(
    graph: Adjacency, ready: npt.ArrayLike, limit: BinLimit, *, outstanding: bool
) -> tuple[list[IntArray], IntArray]:
    """Bins of the vertices that are ready, and those that wait for more (eager computation).

    While others are ``outstanding``, a last bin below the limit waits.

    Raises:
        OfframpError: a vertex without a row.
    """
    targets = np.ascontiguousarray(ready, np.int64)
    if not len(targets):
        return [], targets
    indptr, indices = _arrays(graph)
    if not 0 <= targets.min() <= targets.max() < len(indptr) - 1:
        raise OfframpError(f"bins: expected vertices from 0 to {len(indptr) - 2}")
    bins, state = np.empty(len(targets), np.int64), np.zeros(2, np.int64)
    loaded = np.full(_columns(indptr, indices), -1, np.int64)
    costs = limit.row, limit.target, limit.entry, limit.most
    kernels.fast(kernels.fill)(indptr, indices, targets, bins, loaded, state, len(targets), *costs)
    packed = np.split(targets, np.flatnonzero(np.diff(bins)) + 1)
    if outstanding and state[kernels.USED] < limit.most:
        return packed[:-1], packed[-1]
    return packed, targets[:0]


def _walk(graph: Adjacency, mask: npt.NDArray[np.bool_]) -> IntArray:
    indptr, indices = _arrays(graph)
    seen, visited = (~mask).astype(np.int64), np.empty(len(mask), np.int64)
    count = kernels.fast(kernels.walk)(indptr, indices, seen, visited, len(mask))
    return visited[:count]


def _mask(graph: Adjacency, inside: npt.ArrayLike | None) -> npt.NDArray[np.bool_]:
    rows = len(graph.indptr) - 1
    columns = _columns(graph.indptr, graph.indices)
    if inside is None:
        return np.arange(columns) < rows
    mask = np.zeros(columns, np.bool_)
    given = np.asarray(inside, np.bool_)
    if given.ndim != 1 or not rows <= len(given) <= columns or given[rows:].any():
        raise OfframpError(f"inside: expected a mask of {rows} vertices, got shape {given.shape}")
    mask[: len(given)] = given
    return mask


def _columns(indptr: IntArray, indices: IntArray) -> int:
    return max(len(indptr) - 1, int(indices.max(initial=-1)) + 1)


def _arrays(graph: Adjacency) -> tuple[IntArray, IntArray]:
    return np.ascontiguousarray(graph.indptr, np.int64), np.ascontiguousarray(graph.indices, np.int64)
