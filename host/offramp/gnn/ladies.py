# SPDX-License-Identifier: Apache-2.0
"""Mini-batches of layers that are sampled for all vertices together (Zou et al., LADIES, NeurIPS 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.gnn.batches import CACHE_BYTES, BatchLoader
from offramp.gnn.loader import own_vertices
from offramp.gnn.sampling import find

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.gnn.parts import Partition
    from offramp.graph.csr import IntArray


class LadiesLoader(BatchLoader):
    """Batches of vertices with as many vertices in each layer as are asked for, whatever their degrees.

    Vertices of a layer are drawn among the neighbours of the next one, without replacement, in proportion to the
    squares of what they bring to mean aggregation; those of the next one stay. What a vertex that was drawn brings is
    divided by its probability.

    A batch has the fields of its vertices, the batch's own first, ``n_id``, ``input_id``, ``batch_size``, and
    ``layers``: for each layer of a model, in its order, ``(edge_index, edge_weight)`` in the batch's numbers::

        for convolution, (edge_index, edge_weight) in zip(convolutions, batch.layers):
            x = convolution(x, edge_index, edge_weight)

    Args:
        part: the rank's part of a graph of one type.
        num_nodes: drawn for each layer beside those that stay, on each rank, in the order of the model's.
        normalize: scale weights so that those into a vertex sum to 1, as the paper does: less variance for some bias.
        batch_size: vertices of a batch, on each rank.
        input_nodes: mask of own vertices, or their local numbers; by default all.
        shuffle, seed, fields, cache_bytes, prefetch: see :class:`~offramp.gnn.batches.BatchLoader`.
    """

    def __init__(
        self,
        part: Partition,
        num_nodes: Sequence[int],
        batch_size: int = 1,
        input_nodes: torch.Tensor | None = None,
        *,
        normalize: bool = True,
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
        self._sizes, self._normalize = list(num_nodes), normalize

    def _batch(self, epoch: int, number: int) -> Any:
        chosen = self._chosen(epoch, number)
        step = epoch * len(self) + number
        seeds = nodes = self._part.n_id.numpy()[chosen]
        layers = []
        for layer, size in reversed(list(enumerate(self._sizes))):
            nodes, pairs, weights = self._layer(nodes, size, step, layer)
            layers.append((torch.from_numpy(pairs), torch.from_numpy(weights)))
        none = np.zeros((2, 0), np.int64)
        return self._data(nodes, none, none[0], layers=layers[::-1], input_id=chosen, batch_size=len(seeds))

    def _layer(self, nodes: IntArray, size: int, step: int, layer: int) -> tuple[IntArray, IntArray, Any]:
        """Vertices with those of the layer below behind them; edges between the two, and their weights."""
        drawn = self._sampler.draw(nodes, -1, step, layer)
        targets = np.repeat(np.arange(len(nodes)), drawn.counts)
        brings = 1 / np.repeat(drawn.counts, drawn.counts)
        candidates, which = np.unique(drawn.sources, return_inverse=True)
        stays = np.isin(candidates, nodes)
        squares: npt.NDArray[np.float64] = np.bincount(which, brings**2, minlength=len(candidates)).astype(np.float64)
        words = self._words(len(candidates), step, self._part.comm.rank, layer)
        chance = np.where(stays, 1.0, _drawn(squares * ~stays, words / 2.0**62, size))
        kept = (chance > 0)[which]
        below = np.concatenate([nodes, candidates[(chance > 0) & ~stays]])
        order = np.argsort(below, kind="stable")
        sources = order[find(below[order], drawn.sources[kept])[0]]
        weights = brings[kept] / chance[which[kept]]
        if self._normalize:
            weights /= np.bincount(targets[kept], weights, minlength=len(nodes))[targets[kept]]
        return below, np.stack([sources, targets[kept]]), weights.astype(np.float32)


def _drawn(share: npt.NDArray[np.float64], fractions: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """The probability of each of ``size`` that are drawn in proportion to ``share``, without replacement; 0 of others.

    Clocks with these rates race, and the first ones are drawn. Probabilities are those given the first clock that was
    too late, which makes sums over what is drawn, divided by them, unbiased (Cohen and Kaplan, PODC 2007).
    """
    with np.errstate(divide="ignore"):
        clocks = -np.log1p(-fractions) / share
    order = np.argsort(clocks, kind="stable")
    late = clocks[order[size]] if size < len(order) else np.inf
    chance = np.zeros(len(share))
    first = order[:size][share[order[:size]] > 0]
    chance[first] = -np.expm1(-share[first] * late)
    return chance
