# SPDX-License-Identifier: Apache-2.0
"""One worker's part of the graph as a view: other workers' neighbours arrive as sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from offramp.models.sparse import SparseFeatures, torch_csr
from offramp.models.view import View

if TYPE_CHECKING:
    from offramp.graph.local_graph import LocalGraph

Operator = Callable[[torch.Tensor], torch.Tensor]


class _SelfAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, operator: Operator) -> torch.Tensor:
        ctx.operator = operator
        with torch.autocast(x.device.type, enabled=False):
            return operator(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.operator(gradients[0].contiguous()), None


def self_adjoint(operator: Operator, x: torch.Tensor) -> torch.Tensor:
    """Apply a linear ``operator`` that is its own transpose, so that the gradient is computed in the same way.

    The adjacency of an undirected graph is such an operator, whole or restricted to the edges inside or
    between workers, so forward and backward need the same exchange (switchgnn.md section 2).
    """
    result: torch.Tensor = _SelfAdjoint.apply(x, operator)  # type: ignore[no-untyped-call]
    return result


class Neighbourhood(View):
    """All vertices of a worker, both sources and targets; a propagator delivers what remote neighbours contribute."""

    def __init__(
        self,
        local: LocalGraph,
        remote_sum: Operator,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ) -> None:
        super().__init__(local.vertices, local.degree, local.degree, dtype, device)
        self._adjacency = torch_csr(local.adjacency, dtype, device)
        self._boundary = torch.from_numpy(local.boundary).to(device)
        self._remote_sum = remote_sum

    def sum(self, y: torch.Tensor) -> torch.Tensor:
        """Sum ``(n, F)`` to ``(n, F)`` over local and remote neighbours."""
        y = y.to(self.dtype)
        remote = self._remote_sum(y[self._boundary])
        return self_adjoint(self._adjacency.matmul, y).index_add(0, self._boundary, remote)

    def of_targets(self, x: torch.Tensor) -> torch.Tensor:
        """``x`` itself, since every source is a target."""
        return x


def as_features(
    features: object, dtype: torch.dtype = torch.float32, device: torch.device | None = None
) -> torch.Tensor | SparseFeatures:
    """Vertex features ``(n, F)`` in the form that models take; sparse ones stay sparse."""
    if sp.issparse(features):
        return SparseFeatures(sp.csr_matrix(features), dtype, device)
    return torch.as_tensor(features, dtype=dtype, device=device)


def stacked(own: object, received: object) -> object:
    """Features of own vertices followed by those of others, dense or sparse like the input."""
    if sp.issparse(own):
        return sp.vstack([sp.csr_matrix(own), sp.csr_matrix(received)], format="csr")
    return np.concatenate([np.asarray(own), np.asarray(received)])
