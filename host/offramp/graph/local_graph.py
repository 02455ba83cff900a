# SPDX-License-Identifier: Apache-2.0
"""One worker's part of the graph: its vertices, the edges among them, and which touch other workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp.graph.csr import ends_of
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph


@sendable
@dataclass(frozen=True)
class LocalGraph:
    """One worker's share of a partitioned graph; ``n`` local vertices, ``b`` of them boundary vertices.

    Attributes:
        vertices: ``(n,)`` int64 global ids, ascending.
        adjacency: ``(n, n)`` float32 CSR of ones: edges between local vertices, with self loops.
        degree: ``(n,)`` int64 neighbours in the *whole* graph, without the self loop.
        boundary: ``(b,)`` int64 local positions of the boundary vertices, ascending.
        features: ``(n, F)`` float32, dense or CSR.
        labels: ``(n,)`` int64.
        masks: ``(3, n)`` bool: training, validation, test vertices.
    """

    vertices: npt.NDArray[np.int64]
    adjacency: sp.csr_matrix
    degree: npt.NDArray[np.int64]
    boundary: npt.NDArray[np.int64]
    features: npt.NDArray[np.float32] | sp.csr_matrix
    labels: npt.NDArray[np.int64]
    masks: npt.NDArray[np.bool_]


def split_graph(graph: Graph, owner: npt.NDArray[np.int32], workers: int) -> Iterator[LocalGraph]:
    """Cut the graph into the local graphs of all workers, in rank order, one at a time: all may be beyond memory.

    Args:
        graph: the whole graph, undirected and without self loops.
        owner: ``(vertices,)`` worker of each vertex.
        workers: number of workers; those that own nothing get an empty share.
    """
    masks = np.stack([graph.train, graph.val, graph.test])
    position = np.zeros(graph.vertices, np.int32)
    for worker in range(workers):
        yield _part(graph, owner, worker, masks, position)


def _part(
    graph: Graph,
    owner: npt.NDArray[np.int32],
    worker: int,
    masks: npt.NDArray[np.bool_],
    position: npt.NDArray[np.int32],
) -> LocalGraph:
    """The local graph of one worker; ``position`` is room for a number of each vertex."""
    mine = np.flatnonzero(owner == worker).astype(np.int64)
    position[mine] = np.arange(len(mine))
    tails, heads = ends_of(graph.indptr, graph.indices, owner == worker)
    here = owner[heads] == worker
    loops = np.arange(len(mine))
    ends = np.concatenate([tails[here], loops]), np.concatenate([position[heads[here]], loops])
    adjacency = sp.csr_matrix((np.ones(len(ends[0]), np.float32), ends), shape=(len(mine), len(mine)))
    adjacency.sort_indices()
    return LocalGraph(
        vertices=mine,
        adjacency=adjacency,
        degree=graph.degrees[mine],
        boundary=np.unique(tails[~here]),
        features=graph.features[mine],
        labels=graph.labels[mine],
        masks=masks[:, mine],
    )
