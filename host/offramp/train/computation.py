# SPDX-License-Identifier: Apache-2.0
"""Forward and backward of one worker, independent of how rows or sums are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from offramp.models.neighbourhood import Neighbourhood

if TYPE_CHECKING:
    import torch

    from offramp.graph.local_graph import LocalGraph
    from offramp.models.base import Features, Model
    from offramp.train.propagators.base import Propagator
    from offramp.workers.reduction import Reduce


class Computation(Protocol):
    """The computation of a training step; all workers call it in the same order."""

    def forward(self) -> torch.Tensor:
        """Class scores ``(n, classes)`` of the worker's own vertices."""

    def backward(self, loss: torch.Tensor, reduce: Reduce) -> None:
        """Compute gradients of ``loss``; ``reduce`` is called with parameters whose gradients are complete."""


class PlainComputation:
    """One pass of autograd over all own vertices; a propagator delivers the sums over remote neighbours."""

    def __init__(
        self,
        model: Model,
        features: Features,
        local: LocalGraph,
        propagator: Propagator,
        dtype: torch.dtype,
        device: torch.device | None = None,
    ) -> None:
        self._model = model
        self._features = features
        self._view = Neighbourhood(local, propagator.remote_sum, dtype, device)

    def forward(self) -> torch.Tensor:
        """Class scores of the worker's own vertices."""
        scores: torch.Tensor = self._model(self._features, self._view)
        return scores

    def backward(self, loss: torch.Tensor, reduce: Reduce) -> None:
        """Compute the gradients of all parameters at once."""
        self._model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        reduce(list(self._model.parameters()))
