# SPDX-License-Identifier: Apache-2.0
"""Mini-batches for the prediction of links, as PyG's loader makes them of a whole graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.gnn.batches import CACHE_BYTES, BatchLoader
from offramp.gnn.hops import hops_of, neighbourhood
from offramp.graph.typed import ITS_EDGES
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.gnn.parts import EdgeSet, Partition
    from offramp.gnn.whole import EdgeType
    from offramp.graph.csr import IntArray


class LinkNeighborLoader(BatchLoader):
    """Batches of pairs of vertices with the neighbourhoods of both ends, for the prediction of links.

    A batch has ``edge_label_index``, ``(2, p)`` in its own numbers, and ``edge_label``; otherwise it is one of
    :class:`~offramp.gnn.loader.NeighborLoader`. Ends may be anybody's vertices. In a graph of several types pairs are
    of one type of edges, which has these fields.

    Args:
        part: the rank's part of a graph.
        num_neighbors: drawn in each hop; -1 for all. In a graph of several types along each type of edges, or for each
            type its own.
        edge_label_index: ``(2, P)`` this rank's pairs of vertices of the whole graph; by default its edges. In a graph
            of several types a type of edges, or such a type and pairs.
        edge_label: ``(P, …)`` their labels; by default 1 if there are negative samples, and none otherwise.
        neg_sampling_ratio: pairs of any two vertices for each pair, with the label 0. They may be edges, as PyG's may;
            labels that are given are to be at least 1 then.
        batch_size: pairs of a batch without negative ones, on each rank.
        shuffle, seed, fields, cache_bytes, prefetch: see :class:`~offramp.gnn.batches.BatchLoader`.

    Raises:
        OfframpError: a type or a vertex that the graph does not have, or labels for another number of pairs.
    """

    takes_types = True

    def __init__(
        self,
        part: Partition,
        num_neighbors: Sequence[int] | Mapping[EdgeType, Sequence[int]],
        edge_label_index: torch.Tensor | EdgeType | tuple[EdgeType, torch.Tensor | None] | None = None,
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
        self._key, given = _typed(part, edge_label_index)
        pairs = _own_edges(part.edges[self._key]) if given is None else given
        self._counts = np.array([[len(part.vertices[name].owner)] for name in (self._key[0], self._key[2])])
        for row, count in zip(pairs, self._counts[:, 0].tolist(), strict=True):
            if len(row) and not 0 <= int(row.min()) <= int(row.max()) < count:
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
        self._hops, self._pairs = hops_of(self._samplers, num_neighbors), pairs.numpy()
        self._ratio, self._labels = neg_sampling_ratio, edge_label
        if edge_label is None and neg_sampling_ratio:
            self._labels = torch.ones(pairs.shape[1])

    def _batch(self, epoch: int, number: int) -> Any:
        chosen = self._chosen(epoch, number)
        step = epoch * len(self) + number
        others = math.ceil(self._ratio * len(chosen))
        drawn = self._words(2 * others, step, self._part.comm.rank).reshape(2, others) % self._counts
        pairs: IntArray = np.concatenate([self._pairs[:, chosen], drawn], axis=1)
        seeds, ends = self._ends(pairs)
        more: dict[str, Any] = {"edge_label_index": ends, "input_id": chosen}
        if self._labels is not None:
            labels = self._labels[torch.from_numpy(chosen)]
            more["edge_label"] = torch.cat([labels, labels.new_zeros(others, *labels.shape[1:])])
        neighbours = neighbourhood(self._samplers, self._numberings, self._hops, seeds, step)
        return self._batch_of(neighbours, self._key, **more)

    def _ends(self, pairs: IntArray) -> tuple[dict[str, IntArray], IntArray]:
        """The vertices at the ends, by type, and the ``(2, p)`` pairs in their numbers."""
        source, _, target = self._key
        if source == target:
            seeds, ends = np.unique(pairs, return_inverse=True)
            return {source: seeds}, ends.reshape(2, -1)
        (first, left), (second, right) = (np.unique(row, return_inverse=True) for row in pairs)
        return {source: first, target: second}, np.stack([left, right])


def _typed(
    part: Partition, chosen: torch.Tensor | EdgeType | tuple[EdgeType, torch.Tensor | None] | None
) -> tuple[EdgeType, torch.Tensor | None]:
    """The type of the pairs, and which they are."""
    if chosen is None or isinstance(chosen, torch.Tensor):
        key, pairs = ITS_EDGES, chosen
    else:
        key, pairs = chosen if len(chosen) == 2 else (chosen, None)
    if key not in part.edges:
        types = ", ".join(" ".join(each).strip() for each in part.edges)
        raise OfframpError(f"edge_label_index: expected one of the types {types}")
    return key, pairs


def _own_edges(edges: EdgeSet) -> torch.Tensor:
    return torch.stack([edges.source_ids[edges.index[0]], edges.target.ids[edges.index[1]]])
