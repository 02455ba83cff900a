# SPDX-License-Identifier: Apache-2.0
"""One worker's part of the graph: its vertices, the edges among them, and which touch other workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

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


def split_graph(graph: Graph, owner: npt.NDArray[np.int32], workers: int) -> list[LocalGraph]:
    """Cut the graph into the local graphs of all workers, in rank order.

    Args:
        graph: the whole graph, undirected and without self loops.
        owner: ``(vertices,)`` worker of each vertex.
        workers: number of workers; those that own nothing get an empty share.
    """
    n, degree = graph.vertices, graph.degrees
    ones = np.ones(len(graph.indices), np.float32)
    adjacency = sp.csr_matrix((ones, graph.indices, graph.indptr), shape=(n, n))
    tails = np.repeat(np.arange(n), degree)
    on_boundary = np.zeros(n, bool)
    on_boundary[tails[owner[tails] != owner[graph.indices]]] = True
    masks = np.stack([graph.train, graph.val, graph.test])
    shares = []
    for worker in range(workers):
        mine = np.flatnonzero(owner == worker).astype(np.int64)
        inner = adjacency[mine][:, mine] + sp.eye(len(mine), dtype=np.float32, format="csr")
        shares.append(
            LocalGraph(
                vertices=mine,
                adjacency=sp.csr_matrix(inner, dtype=np.float32),
                degree=degree[mine],
                boundary=np.flatnonzero(on_boundary[mine]).astype(np.int64),
                features=graph.features[mine],
                labels=graph.labels[mine],
                masks=masks[:, mine],
            )
        )
    return shares
