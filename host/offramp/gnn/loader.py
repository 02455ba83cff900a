# SPDX-License-Identifier: Apache-2.0
"""Mini-batches of sampled neighbourhoods over a shared graph, as PyG's loaders make them of a whole one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.gnn.batches import CACHE_BYTES, BatchLoader, only_type
from offramp.gnn.hops import neighbourhood
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.gnn.parts import Partition
    from offramp.graph.csr import IntArray


class NeighborLoader(BatchLoader):
    """Batches of vertices with neighbours of neighbours, drawn and fetched from their owners.

    Each rank goes through its own vertices. A batch has ``x``, ``y`` and other fields of all its vertices, the batch's
    own first; ``edge_index`` in their numbers; ``n_id``, ``e_id``, ``input_id`` and ``batch_size``. The model runs on
    it as it is; :func:`offramp.gnn.sum_gradients` adds gradients.

    Args:
        part: the rank's part of a graph of one type.
        num_neighbors: drawn in each hop; -1 for all.
        batch_size: vertices of a batch, on each rank.
        input_nodes: mask of own vertices, or their local numbers; by default all.
        shuffle, seed, fields, cache_bytes, prefetch: of :class:`~offramp.gnn.batches.BatchLoader`.
    """

    def __init__(
        self,
        part: Partition,
        num_neighbors: Sequence[int],
        batch_size: int = 1,
        input_nodes: torch.Tensor | None = None,
        *,
        shuffle: bool = False,
        seed: int = 0,
        fields: Sequence[str] | None = None,
        cache_bytes: int = CACHE_BYTES,
        prefetch: int = 2,
    ) -> None:
        super().__init__(
            part,
            own_vertices(part, input_nodes),
            batch_size,
            shuffle=shuffle,
            seed=seed,
            fields=fields,
            cache_bytes=cache_bytes,
            prefetch=prefetch,
        )
        self._hops = list(num_neighbors)

    def _batch(self, epoch: int, number: int) -> Any:
        chosen = self._chosen(epoch, number)
        seeds = self._part.n_id.numpy()[chosen]
        found = neighbourhood(self._sampler, self._numbering, self._hops, seeds, epoch * len(self) + number)
        return self._data(*found, input_id=chosen, batch_size=len(seeds))


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
        self._hops, self._pairs, self._count = list(num_neighbors), pairs.numpy(), count
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
        return self._data(*neighbourhood(self._sampler, self._numbering, self._hops, seeds, step), **more)


def own_vertices(part: Partition, chosen: torch.Tensor | None) -> IntArray:
    """Local numbers of own vertices: all, those of a mask, or those that are given."""
    rows = torch.arange(only_type(part)[0].owned) if chosen is None else chosen
    numbers: IntArray = (rows.nonzero().view(-1) if rows.dtype == torch.bool else rows).numpy()
    return numbers


def _own_edges(part: Partition) -> torch.Tensor:
    edges = only_type(part)[1]
    return torch.stack([edges.source_ids[edges.index[0]], edges.target.ids[edges.index[1]]])
