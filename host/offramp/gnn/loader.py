# SPDX-License-Identifier: Apache-2.0
"""Mini-batches of sampled neighbourhoods over a shared graph, as PyG's loaders make them of a whole one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.gnn.batches import CACHE_BYTES, BatchLoader, only_type, typed_data
from offramp.gnn.hops import Neighbourhood, neighbourhood
from offramp.graph.typed import ITS_EDGES, ONE_TYPE
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.gnn.parts import Partition
    from offramp.gnn.whole import EdgeType
    from offramp.graph.csr import IntArray


class NeighborLoader(BatchLoader):
    """Batches of vertices with neighbours of neighbours, drawn and fetched from their owners.

    Each rank goes through its own vertices. A batch has ``x``, ``y`` and other fields of all its vertices, the batch's
    own first; ``edge_index`` in their numbers; ``n_id``, ``e_id``, ``input_id`` and ``batch_size``. The model runs on
    it as it is; :func:`offramp.gnn.sum_gradients` adds gradients.

    A batch of a graph of several types has all of this by type, as PyG's ``HeteroData``; ``input_id`` and
    ``batch_size`` are of the type that was asked for.

    Args:
        part: the rank's part of a graph.
        num_neighbors: drawn in each hop; -1 for all. In a graph of several types along each type of edges, or for each
            type its own.
        batch_size: vertices of a batch, on each rank.
        input_nodes: mask of own vertices, or their local numbers; by default all. In a graph of several types a type,
            or a type and one of these.
        shuffle, seed, fields, cache_bytes, prefetch: of :class:`~offramp.gnn.batches.BatchLoader`.

    Raises:
        OfframpError: no type in a graph of several, one that it does not have, or numbers of hops that differ.
    """

    takes_types = True

    def __init__(
        self,
        part: Partition,
        num_neighbors: Sequence[int] | Mapping[EdgeType, Sequence[int]],
        batch_size: int = 1,
        input_nodes: torch.Tensor | str | tuple[str, torch.Tensor | None] | None = None,
        *,
        shuffle: bool = False,
        seed: int = 0,
        fields: Sequence[str] | None = None,
        cache_bytes: int = CACHE_BYTES,
        prefetch: int = 2,
    ) -> None:
        self._type, rows = _typed(part, input_nodes)
        super().__init__(
            part,
            own_vertices(part, rows, self._type),
            batch_size,
            shuffle=shuffle,
            seed=seed,
            fields=fields,
            cache_bytes=cache_bytes,
            prefetch=prefetch,
        )
        self._hops = _hops(self._samplers, num_neighbors)

    def _batch(self, epoch: int, number: int) -> Any:
        chosen = self._chosen(epoch, number)
        seeds = self._part.vertices[self._type].ids.numpy()[chosen]
        step = epoch * len(self) + number
        found = neighbourhood(self._samplers, self._numberings, self._hops, (self._type, seeds), step)
        if self._part.homogeneous:
            return self._data(*only(found), input_id=chosen, batch_size=len(seeds))
        vertices: dict[str, dict[str, Any]] = {
            name: {"num_nodes": len(of), "n_id": torch.from_numpy(of)} for name, of in found.nodes.items()
        }
        for key, cache in self.caches.items():
            vertices[key[0]][key[1]] = cache.rows(found.nodes[key[0]])
        vertices[self._type] |= {"input_id": torch.from_numpy(chosen), "batch_size": len(seeds)}
        edges: dict[EdgeType, dict[str, Any]] = {
            key: {"edge_index": torch.from_numpy(pairs), "e_id": torch.from_numpy(found.edges[key])}
            for key, pairs in found.pairs.items()
        }
        return typed_data(vertices, edges)


class LinkNeighborLoader(BatchLoader):
    """Batches of pairs of vertices with the neighbourhoods of both ends, for the prediction of links.

    A batch has ``edge_label_index``, ``(2, p)`` in its own numbers, and ``edge_label``; otherwise it is one of
    :class:`NeighborLoader`. Ends may be anybody's vertices.

    Args:
        part: the rank's part of a graph of one type.
        num_neighbors: drawn in each hop; -1 for all.
        edge_label_index: ``(2, P)`` this rank's pairs of vertices of the whole graph; by default its edges.
        edge_label: ``(P, …)`` their labels; by default 1 if there are negative samples, and none otherwise.
        neg_sampling_ratio: pairs of any two vertices for each pair, with the label 0. They may be edges, as PyG's may;
            labels that are given are to be at least 1 then.
        batch_size: pairs of a batch without negative ones, on each rank.
        shuffle, seed, fields, cache_bytes, prefetch: of :class:`~offramp.gnn.batches.BatchLoader`.

    Raises:
        OfframpError: a vertex that the graph does not have, or labels for another number of pairs.
    """

    def __init__(
        self,
        part: Partition,
        num_neighbors: Sequence[int],
        edge_label_index: torch.Tensor | None = None,
        edge_label: torch.Tensor | None = None,
        neg_sampling_ratio: float = 0.0,
        batch_size: int = 1,
        *,
        shuffle: bool = False,
        seed: int = 0,
        fields: Sequence[str] | None = None,
        cache_bytes: int = CACHE_BYTES,
        prefetch: int = 2,
    ) -> None:
        pairs = _own_edges(part) if edge_label_index is None else edge_label_index
        count = len(only_type(part)[0].owner)
        if pairs.numel() and not 0 <= int(pairs.min()) <= int(pairs.max()) < count:
            raise OfframpError(f"edge_label_index: expected vertices from 0 to {count - 1}")
        if edge_label is not None and len(edge_label) != pairs.shape[1]:
            raise OfframpError(f"edge_label: {len(edge_label)} labels for {pairs.shape[1]} pairs")
        if edge_label is not None and neg_sampling_ratio and len(edge_label) and int(edge_label.min()) < 1:
            raise OfframpError("edge_label: expected labels of at least 1, because negative samples have 0")
        super().__init__(
            part,
            np.arange(pairs.shape[1]),
            batch_size,
            shuffle=shuffle,
            seed=seed,
            fields=fields,
            cache_bytes=cache_bytes,
            prefetch=prefetch,
        )
        self._hops, self._pairs, self._count = _hops(self._samplers, num_neighbors), pairs.numpy(), count
        self._ratio, self._labels = neg_sampling_ratio, edge_label
        if edge_label is None and neg_sampling_ratio:
            self._labels = torch.ones(pairs.shape[1])

    def _batch(self, epoch: int, number: int) -> Any:
        chosen = self._chosen(epoch, number)
        step = epoch * len(self) + number
        others = math.ceil(self._ratio * len(chosen))
        drawn = self._words(2 * others, step, self._part.comm.rank).reshape(2, others) % self._count
        pairs: IntArray = np.concatenate([self._pairs[:, chosen], drawn], axis=1)
        seeds, ends = np.unique(pairs, return_inverse=True)
        more: dict[str, Any] = {"edge_label_index": torch.from_numpy(ends.reshape(2, -1)), "input_id": chosen}
        if self._labels is not None:
            labels = self._labels[torch.from_numpy(chosen)]
            more["edge_label"] = torch.cat([labels, labels.new_zeros(others, *labels.shape[1:])])
        found = neighbourhood(self._samplers, self._numberings, self._hops, (ONE_TYPE, seeds), step)
        return self._data(*only(found), **more)


def only(found: Neighbourhood) -> tuple[IntArray, IntArray, IntArray]:
    """Vertices, edges in their numbers and the edges' ids of a graph of one type."""
    return found.nodes[ONE_TYPE], found.pairs[ITS_EDGES], found.edges[ITS_EDGES]


def _typed(
    part: Partition, chosen: torch.Tensor | str | tuple[str, torch.Tensor | None] | None
) -> tuple[str, torch.Tensor | None]:
    """The type that batches are made of, and which of its vertices."""
    if part.homogeneous:
        if isinstance(chosen, str | tuple):
            raise OfframpError("input_nodes: expected no type in a graph of one type")
        return ONE_TYPE, chosen
    name, rows = (chosen, None) if isinstance(chosen, str) else chosen if isinstance(chosen, tuple) else (None, None)
    if name not in part.vertices:
        raise OfframpError(f"input_nodes: expected one of the types {', '.join(part.vertices)}, got {name}")
    return str(name), rows


def _hops(
    edges: Iterable[EdgeType], given: Sequence[int] | Mapping[EdgeType, Sequence[int]]
) -> dict[EdgeType, list[int]]:
    """Neighbours of each hop, by type of edges."""
    found = {}
    for key in edges:
        if isinstance(given, Mapping) and key not in given:
            raise OfframpError(f"num_neighbors: expected numbers for {' '.join(key)}")
        found[key] = list(given[key] if isinstance(given, Mapping) else given)
    if len({len(each) for each in found.values()}) > 1:
        raise OfframpError("num_neighbors: expected as many hops for each type of edges")
    return found


def own_vertices(part: Partition, chosen: torch.Tensor | None, name: str | None = None) -> IntArray:
    """Local numbers of own vertices, of a type where there are several: all, those of a mask, or those given."""
    of = only_type(part)[0] if name is None else part.vertices[name]
    rows = torch.arange(of.owned) if chosen is None else chosen
    numbers: IntArray = (rows.nonzero().view(-1) if rows.dtype == torch.bool else rows).numpy()
    return numbers


def _own_edges(part: Partition) -> torch.Tensor:
    edges = only_type(part)[1]
    return torch.stack([edges.source_ids[edges.index[0]], edges.target.ids[edges.index[1]]])
