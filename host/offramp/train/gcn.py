"""Full-graph graph convolution over one worker's share of the graph (switchgnn.md section 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import scipy.sparse as sp
import torch
from torch import nn

from offramp.train.aggregation import edge_factors
from offramp.train.sparse import SparseFeatures, self_adjoint, torch_csr

if TYPE_CHECKING:
    from offramp.train.local_graph import LocalGraph

RemoteSum = Callable[[torch.Tensor], torch.Tensor]


class Neighbourhood:
    """``z_v = t_v (sum over local u of s_u x_u + sum over remote u of s_u x_u)``, v itself included.

    The remote sum is what a propagator delivers; everything else happens here.
    """

    def __init__(self, local: LocalGraph, aggregator: str, remote_sum: RemoteSum) -> None:
        source, destination = edge_factors(aggregator, local.degree)
        self._source = torch.from_numpy(source).unsqueeze(1)
        self._destination = torch.from_numpy(destination).unsqueeze(1)
        self._adjacency = torch_csr(local.adjacency)
        self._boundary = torch.from_numpy(local.boundary)
        self._remote_sum = remote_sum

    def aggregate(self, x: torch.Tensor) -> torch.Tensor:
        """Aggregate ``(n, F)`` vertex features over all neighbours, local and remote, to ``(n, F)``."""
        y = self._source * x
        remote = self._remote_sum(y[self._boundary])
        local = self_adjoint(self._adjacency.matmul, y)
        return self._destination * local.index_add(0, self._boundary, remote)


class Gcn(nn.Module):
    """Graph convolution layers with ReLU in between; the last one gives the class scores.

    A layer that narrows multiplies by its weight before it aggregates (as DGL does), so that the
    narrower features travel.
    """

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """Xavier-initialised from ``seed`` alone: equal on every worker, for any number of workers.

        Args:
            widths: input features, hidden widths, classes.
            seed: of the weights.
            dropout: probability with which an input of a layer after the first is zeroed in training.
        """
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        shapes = list(pairwise(widths))
        self.weights = nn.ParameterList(
            nn.init.xavier_uniform_(torch.empty(shape), generator=generator) for shape in shapes
        )
        self.biases = nn.ParameterList(torch.zeros(out) for _, out in shapes)
        self.dropout = dropout

    def forward(self, features: torch.Tensor | SparseFeatures, graph: Neighbourhood) -> torch.Tensor:
        """Class scores ``(n, classes)`` of the local vertices from their features ``(n, F)``."""
        x = features
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if layer and isinstance(x, torch.Tensor):
                x = nn.functional.dropout(torch.relu(x), self.dropout, self.training)
            fan_in, fan_out = weight.shape
            if fan_in > fan_out:
                x = graph.aggregate(x @ weight) + bias
            else:
                dense = x.to_dense() if isinstance(x, SparseFeatures) else x
                x = graph.aggregate(dense) @ weight + bias
        assert isinstance(x, torch.Tensor)
        return x


def as_features(features: object) -> torch.Tensor | SparseFeatures:
    """Vertex features ``(n, F)`` in the form that :class:`Gcn` takes; sparse ones stay sparse."""
    if sp.issparse(features):
        return SparseFeatures(sp.csr_matrix(features))
    return torch.as_tensor(features, dtype=torch.float32)
