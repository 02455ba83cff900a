# SPDX-License-Identifier: Apache-2.0
"""Traffic and computation of sampled and replicated training, with which G3 is compared (g3.md section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.graph.csr import Adjacency

    Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MiniBatchWork:
    """The work of one worker in an epoch: features that it loads, vertices and edges that it computes.

    Attributes:
        rows: input features that it loads.
        remote: vertices among them that other workers own.
        targets: vertices computed, over all layers.
        edges: edges into them.
    """

    rows: int = 0
    remote: int = 0
    targets: int = 0
    edges: int = 0

    def times(self, factor: float) -> MiniBatchWork:
        """The work scaled by a factor, rounded."""
        numbers = (self.rows, self.remote, self.targets, self.edges)
        return MiniBatchWork(*(round(number * factor) for number in numbers))

    def __add__(self, other: MiniBatchWork) -> MiniBatchWork:
        return MiniBatchWork(
            self.rows + other.rows, self.remote + other.remote, self.targets + other.targets, self.edges + other.edges
        )


def replicated(graph: Adjacency, owner: npt.ArrayLike, worker: int, layers: int) -> MiniBatchWork:
    """Work with full neighbourhoods over ``layers`` hops, which the worker computes itself."""
    n = len(graph.indptr) - 1
    adjacency = sp.csr_matrix((np.ones(len(graph.indices), np.int8), graph.indices, graph.indptr), shape=(n, n))
    degrees = np.diff(graph.indptr)
    mine = np.asarray(owner) == worker
    needed, targets, edges = mine, 0, 0
    for _ in range(layers):
        targets += int(needed.sum())
        edges += int(degrees[needed].sum())
        needed = needed | (adjacency[needed].sum(axis=0).A1 > 0)
    return MiniBatchWork(int(needed.sum()), int((needed & ~mine).sum()), targets, edges)


def sampled(
    graph: Adjacency, owner: npt.ArrayLike, worker: int, fan_out: Sequence[int], batch: int, seed: int, most: int = 8
) -> MiniBatchWork:
    """Work with batches of the worker's vertices, at most ``fan_out`` neighbours per hop, the targets' first (DGL).

    At most ``most`` batches are drawn, and stand for all.
    """
    rng = np.random.default_rng([seed, worker])
    mine = np.asarray(owner) == worker
    order = rng.permutation(np.flatnonzero(mine))
    total = MiniBatchWork()
    drawn = min(len(order), most * batch)
    for start in range(0, drawn, batch):
        needed = order[start : min(start + batch, drawn)]
        targets = edges = 0
        for limit in fan_out:
            neighbours = _neighbours(graph, needed, limit, rng)
            targets += len(needed)
            edges += len(neighbours)
            needed = np.union1d(needed, neighbours)
        total += MiniBatchWork(len(needed), int((~mine[needed]).sum()), targets, edges)
    return total.times(len(order) / drawn) if drawn else total


def _neighbours(graph: Adjacency, rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Up to ``most`` neighbours of each row, without repetition."""
    starts, ends = graph.indptr[rows], graph.indptr[rows + 1]
    counts = ends - starts
    which = np.repeat(np.arange(len(rows)), counts)
    places = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    shuffled = np.lexsort((rng.random(len(which)), which))
    kept = shuffled[places < most]
    neighbours: Ints = np.asarray(graph.indices, np.int64)[starts[which[kept]] + places[kept]]
    return neighbours
