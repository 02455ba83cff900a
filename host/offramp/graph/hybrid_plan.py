# SPDX-License-Identifier: Apache-2.0
"""Remote states of a layer are fetched or recomputed, whichever costs less (NeutronStar; Wang et al., SIGMOD 2022).

A worker that recomputes a state computes all that it depends on, down to input features, of which it has a copy. The
cost of a vertex is of the states that no vertex before it has brought.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp.graph.csr import distinct
from offramp.graph.halo_plan import HaloMessage
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.graph.csr import IntArray
    from offramp.graph.data import Graph

LOCAL_COST: Final = 8.0
"""Cost of a value from a worker of the same machine, in values that a sum reads: 1 GB/s against 2e9 per second."""
READS_PER_S: Final = 2e9
"""Values that a sum over neighbours reads in a second, for links of a known rate."""
DENSE_COST: Final = 1 / 16
"""Cost of a multiplication of a dense product, in the same unit."""
_FETCHES, _COMPUTATIONS = 2, 3
"""A fetched state comes once and its gradient goes once; a computation costs twice itself on the way back."""


@sendable
@dataclass(frozen=True, eq=False)
class HybridLayer:
    """A worker's part of one layer; its sources are own vertices, states that it computes, and fetched states.

    Attributes:
        adjacency: ``(t, t')`` CSR of ones, closed neighbourhoods of the targets, which are the first sources.
        ids: ``(t',)`` sources' vertices of the whole graph.
        degree: ``(t',)`` their neighbours there.
        computed: number of sources that this worker computes, own vertices among them.
        sends: messages of own rows to other workers.
        receives: messages of fetched rows, which are numbered from 0.
    """

    adjacency: sp.csr_matrix
    ids: npt.NDArray[np.int64]
    degree: npt.NDArray[np.int64]
    computed: int
    sends: list[HaloMessage]
    receives: list[HaloMessage]


@sendable
@dataclass(frozen=True, eq=False)
class HybridPlan:
    """One worker's layers.

    Attributes:
        own: number of own vertices.
        ids: own vertices, then those of which it needs input features.
        layers: layers 1 to L.
    """

    own: int
    ids: npt.NDArray[np.int64]
    layers: list[HybridLayer]

    @property
    def received(self) -> npt.NDArray[np.int64]:
        """Vertices of other workers whose input features are needed."""
        return self.ids[self.own :]

    @property
    def recomputed(self) -> int:
        """Number of states of other workers' vertices that are computed in a pass."""
        return sum(layer.adjacency.shape[0] - self.own for layer in self.layers)

    @property
    def fetched(self) -> int:
        """Number of states that are fetched in a pass."""
        return sum(len(layer.ids) - layer.computed for layer in self.layers)


def fetch_cost(link_bps: float | None, size: int) -> float:
    """Cost of fetching a value of ``size`` bytes over a link, in values that a sum over neighbours reads."""
    return LOCAL_COST * size / 4 if link_bps is None else 8 * size / link_bps * READS_PER_S


def plan_hybrid(
    graph: Graph, owner: npt.NDArray[np.int32], workers: int, widths: Sequence[int], cost: float
) -> list[HybridPlan]:
    """Plan the layers of all workers, in rank order.

    Args:
        graph: the whole graph.
        owner: ``(vertices,)`` worker of each vertex.
        workers: number of workers.
        widths: d_0 to d_L: widths of the layers' messages, then of the last state.
        cost: cost of fetching a value; 0 fetches all states, infinity none.
    """
    computed = [choose_recomputed(graph, owner, worker, widths, cost) for worker in range(workers)]
    drafts = [_layers(graph, owner, worker, states) for worker, states in enumerate(computed)]
    own = [np.flatnonzero(owner == worker) for worker in range(workers)]
    sends: list[list[list[HaloMessage]]] = [[[] for _ in widths[1:]] for _ in range(workers)]
    plans = []
    for worker, draft in enumerate(drafts):
        layers = []
        for number, (targets, sources, count) in enumerate(draft):
            fetched, receives = sources[count:], []
            for peer in np.unique(owner[fetched]).tolist():
                rows = np.flatnonzero(owner[fetched] == peer)
                ids, weights = fetched[rows], np.zeros(len(rows))
                receives.append(HaloMessage(peer, 0, rows, ids, weights, number))
                sent = np.searchsorted(own[peer], ids)
                sends[peer][number].append(HaloMessage(worker, 0, sent, ids, weights, number))
            adjacency = _adjacency(graph, targets, sources)
            layers.append(HybridLayer(adjacency, sources, graph.degrees[sources], count, [], receives))
        plans.append(HybridPlan(len(own[worker]), draft[0][1], layers))
    return [
        replace(plan, layers=[replace(layer, sends=of) for layer, of in zip(plan.layers, sends[worker], strict=True)])
        for worker, plan in enumerate(plans)
    ]


def choose_recomputed(
    graph: Graph, owner: npt.NDArray[np.int32], worker: int, widths: Sequence[int], cost: float
) -> npt.NDArray[np.bool_]:
    """``(L, vertices)`` which states h^0 to h^(L-1) of others' vertices ``worker`` computes, h^0 being its copy.

    Layer by layer, a remote neighbour joins if the states that it needs besides those that are there cost less than
    fetching its state, the least first.
    """
    layers = len(widths) - 1
    mine = owner == worker
    there = np.zeros((layers, graph.vertices), np.bool_)
    remote = _neighbours(graph, np.flatnonzero(mine))
    remote = remote[~mine[remote]]
    for state in range(1, layers):
        limit = _FETCHES * cost * widths[state] / _COMPUTATIONS
        alone = _prices(graph, remote, widths[state - 1], widths[state])
        if state == 1:  # all else are features
            there[1, remote[alone < limit]] = True
            continue
        candidates = remote[(alone < limit) & ~there[state, remote]].tolist()
        first = {u: _missing(graph, mine, there, u, state, widths, limit) for u in candidates}
        for u, (price, _) in sorted(first.items(), key=lambda each: (each[1][0], each[0])):
            price, needed = _missing(graph, mine, there, u, state, widths, limit)
            if price < limit:
                for level, vertices in needed:
                    there[level, vertices] = True
    needs = _neighbours(graph, np.flatnonzero(mine | there[1] if layers > 1 else mine))
    there[0, needs] = True
    there[:, mine] = False
    return there


def _missing(
    graph: Graph,
    mine: npt.NDArray[np.bool_],
    there: npt.NDArray[np.bool_],
    vertex: int,
    state: int,
    widths: Sequence[int],
    limit: float,
) -> tuple[float, list[tuple[int, IntArray]]]:
    """Cost of the states that ``vertex`` needs and that are not there, and these by number; not all above ``limit``."""
    price, needed = 0.0, []
    level = np.array([vertex])
    for number in range(state, 0, -1):
        level = level[~mine[level] & ~there[number, level]]
        price += float(_prices(graph, level, widths[number - 1], widths[number]).sum())
        needed.append((number, level))
        if price >= limit or not len(level):
            break
        level = _neighbours(graph, level)
    return price, needed


def _prices(graph: Graph, vertices: IntArray, into: int, out: int) -> npt.NDArray[np.float64]:
    """Cost of a state of each vertex, given those of its neighbours."""
    degree = graph.degrees[vertices].astype(np.float64)
    return (degree + 1.0) * into + DENSE_COST * into * out


def _layers(
    graph: Graph, owner: npt.NDArray[np.int32], worker: int, there: npt.NDArray[np.bool_]
) -> list[tuple[IntArray, IntArray, int]]:
    """Targets, sources and number of sources that are computed, for each layer."""
    mine = np.flatnonzero(owner == worker)
    copies = np.flatnonzero(there.any(axis=0))
    copies = copies[np.lexsort((copies, -there[:, copies].sum(axis=0)))]  # states are nested: those of a layer lead
    counts = [int(there[state].sum()) for state in range(len(there))] + [0]
    drafts = []
    for before, after in pairwise(counts):
        targets = np.concatenate([mine, copies[:after]])
        computed = np.concatenate([mine, copies[:before]])
        fetched = np.setdiff1d(_neighbours(graph, targets), computed)
        fetched = fetched[np.lexsort((fetched, owner[fetched]))]
        drafts.append((targets, np.concatenate([computed, fetched]), len(computed)))
    return drafts


def _neighbours(graph: Graph, vertices: IntArray) -> IntArray:
    """Distinct vertices of the closed neighbourhoods."""
    starts, counts = graph.indptr[vertices], graph.degrees[vertices]
    ends = np.cumsum(counts)
    at = np.arange(int(counts.sum())) + np.repeat(starts - (ends - counts), counts)
    return distinct(np.concatenate([vertices, graph.indices[at]]))


def _adjacency(graph: Graph, targets: IntArray, sources: IntArray) -> sp.csr_matrix:
    """Closed neighbourhoods of the targets over the sources."""
    place = np.full(graph.vertices, -1)
    place[sources] = np.arange(len(sources))
    counts = graph.degrees[targets]
    ends = np.cumsum(counts)
    at = np.arange(int(counts.sum())) + np.repeat(graph.indptr[targets] - (ends - counts), counts)
    rows = np.concatenate([np.repeat(np.arange(len(targets)), counts), np.arange(len(targets))])
    columns = np.concatenate([place[graph.indices[at]], np.arange(len(targets))])
    adjacency = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(targets), len(sources)))
    adjacency.sort_indices()
    return adjacency
