# SPDX-License-Identifier: Apache-2.0
"""The cost of fetching every neighbour: the thesis's model (equations 3.3 and 3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from offramp.graph.csr import IntArray, entries_of
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.graph.csr import Adjacency


def halo(graph: Adjacency, owner: npt.ArrayLike, worker: int, hops: int) -> IntArray:
    """Vertices of other workers within ``hops`` of the worker's own, ascending: ``n_rmt`` of them.

    Raises:
        OfframpError: fewer than one hop.
    """
    if hops < 1:
        raise OfframpError(f"hops {hops}: expected at least 1")
    owners = np.asarray(owner)
    reached = owners == worker
    frontier = np.flatnonzero(reached)
    for _ in range(hops):
        entries, _counts = entries_of(graph.indptr, frontier)
        fresh = np.zeros_like(reached)
        fresh[graph.indices[entries]] = True
        fresh &= ~reached
        reached |= fresh
        frontier = np.flatnonzero(fresh)
    return np.flatnonzero(reached & (owners != worker))


def communication(graph: Adjacency, owner: npt.ArrayLike, workers: int, hops: int, features: int) -> IntArray:
    """``(workers,)`` Comm(W_i): feature elements that each worker fetches when it fetches its halo once."""
    return np.array([len(halo(graph, owner, worker, hops)) * features for worker in range(workers)], np.int64)
