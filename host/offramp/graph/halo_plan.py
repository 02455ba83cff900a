# SPDX-License-Identifier: Apache-2.0
"""Rows that each worker sends to each other, and the bins in which they are computed (g3.md sections 5.1 and 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp.graph.bins import BinLimit, pack_bins, priority_order
from offramp.graph.csr import distinct_below, ends_of
from offramp.graph.ready_packing import pack_layers
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from offramp.graph.csr import IntArray
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
) -> Iterator[HaloPlan]:
    """Plan the halo features of all workers, in rank order, one at a time: all may be beyond memory.

    A worker's edges say what it sends, too, since the graph is undirected.

    Args:
        graph: the whole graph.
        owner: ``(vertices,)`` worker of each vertex.
        workers: number of workers.
        bins: bins of each worker, as far as it has vertices; what each of them may hold; or limits of each layer, whose
            bins then differ.
        boundary_first: bins of boundary vertices come first.
        isolated: leave out edges between workers.
    """
    edges = _Edges(graph, owner, isolated=isolated)
    copies = np.zeros(graph.vertices, np.int64)
    for worker in range(workers):
        copies[edges.remote(worker)] += 1
    if isinstance(bins, (int, BinLimit)):
        layers = [[_bins(graph, owner == w, copies > 0, bins, boundary_first=boundary_first) for w in range(workers)]]
    else:
        packed = pack_layers(graph, owner, workers, bins, boundary_first=boundary_first, isolated=isolated)
        own = [np.flatnonzero(owner == worker) for worker in range(workers)]
        layers = [
            [[np.sort(np.searchsorted(own[w], part)) for part in parts] for w, parts in enumerate(layer)]
            for layer in packed
        ]
    bin_of = [_bin_of(owner, each) for each in layers]
    numbers = np.bincount(graph.degrees, copies).astype(np.int64)
    pool = np.stack([np.flatnonzero(numbers), numbers[numbers > 0]], 1)
    for worker in range(workers):
        yield _plan(edges, worker, workers, [each[worker] for each in layers], bin_of, pool)


class _Edges:
    """The edges of each worker, those between workers left out if they are ``isolated``."""

    def __init__(self, graph: Graph, owner: npt.NDArray[np.int32], *, isolated: bool) -> None:
        self.graph, self.owner, self._isolated = graph, owner, isolated

    def of(self, worker: int) -> tuple[IntArray, IntArray, npt.NDArray[np.int32]]:
        """Rank among its own vertices of each edge's end there, the other end, and the other end's worker."""
        rows, heads = ends_of(self.graph.indptr, self.graph.indices, self.owner == worker)
        peers = self.owner[heads]
        if self._isolated:
            inside = peers == worker
            return rows[inside], heads[inside], peers[inside]
        return rows, heads, peers

    def remote(self, worker: int) -> IntArray:
        """Neighbours of a worker's vertices that others own, ascending."""
        _, heads, peers = self.of(worker)
        return distinct_below(heads[peers != worker], self.graph.vertices)


def _plan(
    edges: _Edges,
    worker: int,
    workers: int,
    bins: list[list[IntArray]],
    bin_of: list[IntArray],
    pool: IntArray,
) -> HaloPlan:
    """The plan of one worker, given its own rows of each layer's bins, and the bin of each vertex in each layer."""
    graph, owner = edges.graph, edges.owner
    own = np.flatnonzero(owner == worker)
    rows, heads, peers = edges.of(worker)
    remote = distinct_below(heads[peers != worker], graph.vertices)
    remote = remote[np.lexsort((remote, bin_of[0][remote], owner[remote]))]
    ids = np.concatenate([own, remote])

    place = np.zeros(graph.vertices, np.int32)
    place[ids] = np.arange(len(ids))
    loops = np.arange(len(own), dtype=np.int32)
    ends = np.concatenate([rows, loops]), np.concatenate([place[heads], loops])
    adjacency = sp.csr_matrix((np.ones(len(ends[0]), np.float32), ends), shape=(len(own), len(ids)))
    adjacency.sort_indices()

    away = peers != worker
    rows, heads, peers = rows[away], heads[away], peers[away]
    squares = 1 / ((graph.degrees[heads] + 1.0) * (graph.degrees[own[rows]] + 1.0))
    into = np.bincount(place[heads], squares, len(ids)).astype(np.float64)
    layers = [LayerPlan(each, [], []) for each in bins]
    for number, (layer, of) in enumerate(zip(layers, bin_of, strict=True), 1):
        order = np.lexsort((remote, of[remote], owner[remote]))
        for sender, its, at in _runs(owner[remote[order]], of[remote[order]]):
            received = len(own) + order[at]
            layer.receives.append(
                HaloMessage(sender, its, received, ids[received], into[received], number * (len(layers) > 1))
            )
        layer.receives.sort(key=lambda m: ((m.peer - worker) % workers, m.bin))
    for peer in np.unique(peers).tolist():
        there = peers == peer
        sent = distinct_below(rows[there], len(own))
        weights = np.bincount(rows[there], squares[there], len(own)).astype(np.float64)
        for number, (layer, of) in enumerate(zip(layers, bin_of, strict=True), 1):
            its_bin = of[own[sent]]
            for each in np.unique(its_bin).tolist():
                mine = sent[its_bin == each]
                layer.sends.append(HaloMessage(peer, each, mine, own[mine], weights[mine], number * (len(layers) > 1)))
    for layer in layers:
        layer.sends.sort(key=lambda m: (m.bin, (m.peer - worker) % workers))
    first, *later = layers
    return HaloPlan(ids, graph.degrees[ids], adjacency, first.bins, first.sends, first.receives, pool, later)


def _bin_of(owner: npt.NDArray[np.int32], binned: list[list[IntArray]]) -> IntArray:
    """``(vertices,)`` bin of each vertex at its worker."""
    bin_of = np.zeros(len(owner), np.int64)
    for worker, parts in enumerate(binned):
        own = np.flatnonzero(owner == worker)
        for number, rows in enumerate(parts):
            bin_of[own[rows]] = number
    return bin_of


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
