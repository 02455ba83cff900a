# SPDX-License-Identifier: Apache-2.0
"""A mini-batch: the views that its layers compute over, and the features that go in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
import torch

from offramp.models.attention import attend
from offramp.models.base import Inputs
from offramp.models.sparse import SparseMatrix
from offramp.models.view import View

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.dgs.sampling import SampledNeighbours
    from offramp.graph.csr import IntArray
    from offramp.models.base import Model


class SampledView(View):
    """Targets and some of their neighbours; targets are the first of the sources.

    Sums estimate those over all neighbours: what was drawn stands for all, alike or by weight. So means are means over
    what was drawn, and with all neighbours every layer is that of the whole graph.

    Attributes:
        targets: number of targets.
    """

    def __init__(
        self,
        sources: IntArray,
        targets: int,
        sampled: SampledNeighbours,
        columns: IntArray,
        degree: IntArray,
        weights: npt.NDArray[np.float64] | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ) -> None:
        """A view on vertices of the whole graph.

        Args:
            sources: ``(s,)`` vertices, targets first.
            targets: number of targets.
            sampled: neighbours drawn for each target.
            columns: places among the sources of ``sampled.neighbours``.
            degree: degree of all vertices of the graph.
            weights: weights of the drawn neighbours beside each other.
            dtype: dtype of the features.
            device: device of all tensors; main memory by default.
        """
        of_sources = degree[sources]
        super().__init__(sources[:targets], of_sources, of_sources[:targets], dtype, device)
        row = np.repeat(np.arange(targets), sampled.counts)
        if weights is None:
            weights = np.ones(len(columns))
        totals = np.bincount(row, weights, minlength=targets)
        scale = weights * (of_sources[:targets] / np.where(totals > 0, totals, 1))[row]
        indptr = np.concatenate([[0], np.cumsum(sampled.counts + 1)])
        places, values = np.empty(indptr[-1], np.int64), np.ones(indptr[-1])
        places[indptr[:-1]] = np.arange(targets)
        others = np.ones(indptr[-1], bool)
        others[indptr[:-1]] = False
        places[others], values[others] = columns, scale
        matrix = sp.csr_matrix((values, places, indptr), shape=(targets, len(sources)))
        matrix.sort_indices()
        self._matrix = SparseMatrix(matrix, dtype, device)
        ends = np.repeat(np.arange(targets), sampled.counts + 1)
        self._edges = torch.from_numpy(matrix.indices.astype(np.int64)).to(device), torch.from_numpy(ends).to(device)
        self.targets = targets

    def sum(self, y: torch.Tensor) -> torch.Tensor:
        """``(s, F)`` to ``(t, F)``: the vertex itself and an estimate of the sum over its neighbours."""
        return self._matrix @ y

    def of_targets(self, x: torch.Tensor) -> torch.Tensor:
        """The first ``t`` rows."""
        return x[: self.targets]

    def attend(self, values: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Attention over the vertex itself and what was drawn."""
        return attend(self._edges, values, source, target)


@dataclass(frozen=True, eq=False)
class MiniBatch:
    """The seeds of one step and the sampled graph below them.

    Attributes:
        seeds: ``(b,)`` vertices whose loss is taken.
        views: one for each layer of the model, the first layer's first.
        sources: ``(s,)`` vertices whose features the first layer takes.
        edges: neighbours drawn, over all layers.
    """

    seeds: IntArray
    views: list[SampledView]
    sources: IntArray
    edges: int

    def scores(self, model: Model, features: torch.Tensor) -> torch.Tensor:
        """``(b, classes)`` of the seeds from the ``(s, F)`` features of the sources."""
        h = features
        for number, view in enumerate(self.views, 1):
            h = model.combine(number, view, Inputs(*model.prepare(number, h, view.targets)))
        return model.readout([h])
