# SPDX-License-Identifier: Apache-2.0
"""Mini-batches of sampled neighbourhoods over a shared graph, as PyG's loaders make them of a whole one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn.batches import CACHE_BYTES, BatchLoader, only_type
from offramp.gnn.hops import hops_of, neighbourhood
from offramp.graph.typed import ONE_TYPE
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
        shuffle, seed, fields, cache_bytes, prefetch: see :class:`~offramp.gnn.batches.BatchLoader`.

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
        self._hops = hops_of(self._samplers, num_neighbors)

    def _batch(self, epoch: int, number: int) -> Any:
        chosen = self._chosen(epoch, number)
        seeds = self._part.vertices[self._type].ids.numpy()[chosen]
        step = epoch * len(self) + number
        drawn = neighbourhood(self._samplers, self._numberings, self._hops, {self._type: seeds}, step)
        return self._batch_of(drawn, self._type, input_id=chosen, batch_size=len(seeds))


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


def own_vertices(part: Partition, chosen: torch.Tensor | None, name: str | None = None) -> IntArray:
    """Local numbers of own vertices, of a type where there are several: all, those of a mask, or those given."""
    of = only_type(part)[0] if name is None else part.vertices[name]
    rows = torch.arange(of.owned) if chosen is None else chosen
    numbers: IntArray = (rows.nonzero().view(-1) if rows.dtype == torch.bool else rows).numpy()
    return numbers
