# SPDX-License-Identifier: Apache-2.0
"""Rows that each worker sends to each other, and the bins in which they are computed (g3.md sections 5.1 and 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp.graph.bins import BinLimit, pack_bins, priority_order
from offramp.graph.csr import distinct
from offramp.graph.ready_packing import pack_layers
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.graph.ready_packing import LayerLimits


@sendable
@dataclass(frozen=True, eq=False)
class HaloMessage:
    """Rows that one worker sends to another when a bin is computed; their gradients come back as one.

    Attributes:
        peer: the other worker.
        bin: bin of the sender.
        rows: positions in the state of this end: own rows at the sender, received rows at the receiver; both in the
            same order, so no index travels.
        ids: the same vertices in the whole graph.
        weights: weight of each row: the sum of the squared coefficients (of the symmetric normalisation) with which
            the receiver's vertices aggregate it.
        layer: layer after which it is sent, if each has bins of its own; 0: the same message is sent after all.
    """

    peer: int
    bin: int
    rows: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    layer: int = 0


@sendable
@dataclass(frozen=True, eq=False)
class LayerPlan:
    """A worker's bins of a layer, and the messages of this layer's states.

    Attributes:
        bins: own rows of each bin, each row in one.
        sends: outgoing messages, by bin and receiver, the next worker first, so that not all send to the same one.
        receives: incoming messages, by sender and its bin, in the same order of workers.
    """

    bins: list[npt.NDArray[np.int64]]
    sends: list[HaloMessage]
    receives: list[HaloMessage]


@sendable
@dataclass(frozen=True, eq=False)
class HaloPlan:
    """One worker's part; ``n`` own rows, then ``h`` rows received from other workers.

    Attributes:
        ids: ``(n + h,)`` vertices of the whole graph.
        degree: ``(n + h,)`` their neighbours there.
        adjacency: ``(n, n + h)`` CSR of ones, closed neighbourhoods of the own vertices.
        bins, sends, receives: those of the first layer, and of all layers unless ``later`` says otherwise, as in
            :class:`LayerPlan`.
        later: plans of the layers from the second on, if each has bins of its own.
        pool: ``(d, 2)`` degrees of all rows that any worker receives, ascending, and how many rows have each.
    """

    ids: npt.NDArray[np.int64]
    degree: npt.NDArray[np.int64]
    adjacency: sp.csr_matrix
    bins: list[npt.NDArray[np.int64]]
    sends: list[HaloMessage]
    receives: list[HaloMessage]
    pool: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    later: list[LayerPlan] = field(default_factory=list)

    def layer(self, number: int) -> LayerPlan:
        """Bins and messages of layer ``number``, from 1."""
        if number == 1 or not self.later:
            return LayerPlan(self.bins, self.sends, self.receives)
        return self.later[number - 2]

    @property
    def all_sends(self) -> list[HaloMessage]:
        """Outgoing messages of all layers."""
        return [*self.sends, *(message for layer in self.later for message in layer.sends)]

    @property
    def all_receives(self) -> list[HaloMessage]:
        """Incoming messages of all layers."""
        return [*self.receives, *(message for layer in self.later for message in layer.receives)]

    @property
    def received(self) -> npt.NDArray[np.int64]:
        """``(h,)`` vertices whose messages come from others."""
        return self.ids[self.adjacency.shape[0] :]


def plan_halo_features(
    graph: Graph,
    owner: npt.NDArray[np.int32],
    workers: int,
    *,
    bins: int | BinLimit | LayerLimits = 1,
    boundary_first: bool = True,
    isolated: bool = False,
) -> list[HaloPlan]:
    """Plan the halo features of all workers, in rank order.

    Args:
        graph: the whole graph.
        owner: ``(vertices,)`` worker of each vertex.
        workers: number of workers.
        bins: bins of each worker, as far as it has vertices; what each of them may hold; or limits of each layer, whose
            bins then differ.
        boundary_first: bins of boundary vertices come first.
        isolated: leave out edges between workers.
    """
    tails = np.repeat(np.arange(graph.vertices), graph.degrees)
    crossing = owner[tails] != owner[graph.indices]
    own = [np.flatnonzero(owner == worker) for worker in range(workers)]
    if isinstance(bins, (int, BinLimit)):
        on_boundary = np.zeros(graph.vertices, np.bool_)
        on_boundary[tails[crossing]] = not isolated
        layers = [[_bins(graph, owner == w, on_boundary, bins, boundary_first=boundary_first) for w in range(workers)]]
    else:
        packed = pack_layers(graph, owner, workers, bins, boundary_first=boundary_first, isolated=isolated)
        layers = [
            [[np.sort(np.searchsorted(own[w], part)) for part in parts] for w, parts in enumerate(layer)]
            for layer in packed
        ]
    states, weights = _states(graph, owner, own, _bin_of(graph.vertices, own, layers[0]), isolated=isolated)
    messages = [
        _messages(owner, own, states, weights, _bin_of(graph.vertices, own, each), number * (len(layers) > 1))
        for number, each in enumerate(layers, 1)
    ]
    position = np.zeros(graph.vertices, np.int64)
    pool = _pool(graph, own, states)
    plans = []
    for worker, (vertices, ids) in enumerate(zip(own, states, strict=True)):
        position[ids] = np.arange(len(ids))
        mine = (owner[tails] == worker) & ~(crossing if isolated else np.zeros_like(crossing))
        rows = np.concatenate([position[tails[mine]], np.arange(len(vertices))])
        columns = np.concatenate([position[graph.indices[mine]], np.arange(len(vertices))])
        adjacency = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(vertices), len(ids)))
        adjacency.sort_indices()
        first, *later = (
            LayerPlan(each[worker], sends[worker], receives[worker])
            for each, (sends, receives) in zip(layers, messages, strict=True)
        )
        of_first = first.bins, first.sends, first.receives
        plans.append(HaloPlan(ids, graph.degrees[ids], adjacency, *of_first, pool, later))
    return plans


def _states(
    graph: Graph,
    owner: npt.NDArray[np.int32],
    own: list[npt.NDArray[np.int64]],
    bin_of: npt.NDArray[np.int64],
    *,
    isolated: bool,
) -> tuple[list[npt.NDArray[np.int64]], list[npt.NDArray[np.float64]]]:
    """Vertices of each worker's state, received ones by sender and bin; and the weight of each vertex there."""
    tails, heads = np.repeat(np.arange(graph.vertices), graph.degrees), graph.indices
    crossing, closed = owner[tails] != owner[heads], graph.degrees + 1.0
    states, weights = [], []
    for worker, vertices in enumerate(own):
        into = crossing & (owner[tails] == worker)
        remote = distinct(heads[into]) if not isolated else np.zeros(0, np.int64)
        remote = remote[np.lexsort((remote, bin_of[remote], owner[remote]))]
        states.append(np.concatenate([vertices, remote]))
        squares = 1 / (closed[heads[into]] * closed[tails[into]])
        weights.append(np.bincount(heads[into], squares, graph.vertices).astype(np.float64))
    return states, weights


_Messages = list[list[HaloMessage]]


def _messages(
    owner: npt.NDArray[np.int32],
    own: list[npt.NDArray[np.int64]],
    states: list[npt.NDArray[np.int64]],
    weights: list[npt.NDArray[np.float64]],
    bin_of: npt.NDArray[np.int64],
    layer: int,
) -> tuple[_Messages, _Messages]:
    """Outgoing and incoming messages of each worker, given the bin of each vertex."""
    workers = len(own)
    sends: _Messages = [[] for _ in range(workers)]
    receives: _Messages = [[] for _ in range(workers)]
    for worker, (vertices, ids) in enumerate(zip(own, states, strict=True)):
        remote = ids[len(vertices) :]
        order = np.lexsort((remote, bin_of[remote], owner[remote]))
        for sender, number, places in _runs(owner[remote[order]], bin_of[remote[order]]):
            rows = order[places]
            of = remote[rows]
            weight = weights[worker][of]
            receives[worker].append(HaloMessage(sender, number, len(vertices) + rows, of, weight, layer))
            sent = np.searchsorted(own[sender], of)
            sends[sender].append(HaloMessage(worker, number, sent, of, weight, layer))
    for worker in range(workers):
        sends[worker].sort(key=lambda m: (m.bin, (m.peer - worker) % workers))
        receives[worker].sort(key=lambda m: ((m.peer - worker) % workers, m.bin))
    return sends, receives


def _bin_of(
    vertices: int, own: list[npt.NDArray[np.int64]], binned: list[list[npt.NDArray[np.int64]]]
) -> npt.NDArray[np.int64]:
    """``(vertices,)`` bin of each vertex at its worker."""
    bin_of = np.zeros(vertices, np.int64)
    for mine, parts in zip(own, binned, strict=True):
        for number, rows in enumerate(parts):
            bin_of[mine[rows]] = number
    return bin_of


def _pool(graph: Graph, own: list[npt.NDArray[np.int64]], states: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """``(d, 2)`` degrees of the rows that any worker receives, and how many have each."""
    received = [graph.degrees[ids[len(mine) :]] for mine, ids in zip(own, states, strict=True)]
    return np.stack(np.unique(np.concatenate(received), return_counts=True), 1).astype(np.int64)


def _bins(
    graph: Graph,
    mine: npt.NDArray[np.bool_],
    boundary: npt.NDArray[np.bool_],
    limit: int | BinLimit,
    *,
    boundary_first: bool,
) -> list[npt.NDArray[np.int64]]:
    """Own rows of each bin, which holds boundary vertices or others, where these come first.

    A number of bins gives about as many of one size; a :class:`BinLimit` what it allows.
    """
    if boundary_first and limit != 1:
        order = priority_order(graph, mine)
        groups = [order[boundary[order]], order[~boundary[order]]]
    else:
        groups = [np.flatnonzero(mine)]
    if isinstance(limit, BinLimit):
        parts = [part for group in groups for part in pack_bins(graph, group, limit)]
    else:
        size = -(-int(mine.sum()) // limit)
        parts = [part for group in groups if len(group) for part in np.array_split(group, -(-len(group) // size))]
    row = np.cumsum(mine) - 1
    return [np.sort(row[part]) for part in parts]


def _runs(owner: npt.NDArray[np.int32], number: npt.NDArray[np.int64]) -> list[tuple[int, int, npt.NDArray[np.int64]]]:
    """``(owner, bin, positions)`` of each run of equal pairs."""
    if not len(owner):
        return []
    starts = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(number, prepend=-1))
    ends = np.append(starts[1:], len(owner))
    return [
        (int(owner[a]), int(number[a]), np.arange(a, b)) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
