# SPDX-License-Identifier: Apache-2.0
"""Partitions for two levels: racks first, then workers inside a rack."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import Adjacency, IntArray, distinct, induced, rows_of
from offramp_base.errors import OfframpError

Owners = Callable[[Adjacency, int], npt.NDArray[np.int32]]
"""``(graph, parts)`` to the part of each vertex."""


class _Part:
    """A graph of CSR arrays."""

    def __init__(self, indptr: IntArray, indices: IntArray) -> None:
        self.indptr, self.indices = indptr, indices


def rack_of(workers: int, racks: int) -> npt.NDArray[np.int64]:
    """``(workers,)`` rack of each worker: consecutive workers share one, about as many each.

    Raises:
        OfframpError: not at least one worker for each rack.
    """
    if not 1 <= racks <= workers:
        raise OfframpError(f"racks {racks}: expected 1 to {workers}, the number of workers")
    return np.arange(workers) * racks // workers


def cross_rack(graph: Adjacency, owner: npt.NDArray[np.int32], workers: int, racks: int) -> int:
    """Pairs of a vertex and another rack that needs it: feature vectors between racks in one exchange.

    As many partial sums cross, since the graph is undirected (specification section 9).
    """
    if racks == 1:
        return 0
    rack = rack_of(workers, racks)[owner]
    rows, columns = rows_of(graph.indptr), np.asarray(graph.indices, np.int64)
    remote = rack[rows] != rack[columns]
    return len(distinct(rows[remote] * racks + rack[columns[remote]]))


def hierarchical(graph: Adjacency, workers: int, racks: int, owners: Owners) -> npt.NDArray[np.int32]:
    """Partition the graph into racks, then the vertices of each rack among its workers.

    Raises:
        OfframpError: a rack with fewer vertices than workers, or racks of different sizes, which parts of one size do
            not fit.
    """
    each = workers // racks
    if workers % racks:
        raise OfframpError(f"racks {racks}: expected a divisor of the {workers} workers")
    rack = owners(graph, racks)
    owner = np.empty(len(rack), np.int32)
    for number in range(racks):
        members = np.flatnonzero(rack == number)
        if len(members) < each:
            raise OfframpError(f"racks {racks}: rack {number} holds {len(members)} vertices for its {each} workers")
        inside = _Part(*induced(graph.indptr, graph.indices, members))
        owner[members] = number * each + owners(inside, each)
    return owner


def least_cross_rack(
    graph: Adjacency, workers: int, racks: int, owners: list[npt.NDArray[np.int32]]
) -> npt.NDArray[np.int32]:
    """The partition of ``owners`` with the least volume between racks; of equal ones the first."""
    return min(owners, key=lambda owner: cross_rack(graph, owner, workers, racks))
