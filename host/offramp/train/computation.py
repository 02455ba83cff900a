# SPDX-License-Identifier: Apache-2.0
"""Forward and backward of one worker, independent of how rows or sums are sent."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, Protocol

import torch

from offramp.models.neighbourhood import Neighbourhood

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from offramp.g3.store import TensorStore
    from offramp.graph.local_graph import LocalGraph
    from offramp.models.base import Features, Model
    from offramp.train.propagators.base import Propagator
    from offramp.workers.reduction import Reduce


LEAST_KEPT: Final = 1 << 16
"""Bytes of the smallest activation that goes to a file."""


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
        device: torch.device | None,
        store: TensorStore,
    ) -> None:
        """``store``: of activations until the way back."""
        self._model = model
        self._features = features
        self._store = store
        self._view = Neighbourhood(local, propagator.remote_sum, dtype, device)

    def forward(self) -> torch.Tensor:
        """Class scores of the worker's own vertices."""
        with self._activations():
            scores: torch.Tensor = self._model(self._features, self._view)
        return scores

    def backward(self, loss: torch.Tensor, reduce: Reduce) -> None:
        """Compute the gradients of all parameters at once."""
        self._model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        reduce(list(self._model.parameters()))

    def _activations(self) -> AbstractContextManager[object]:
        """Keeps what autograd saves in the store, each tensor in a file of its own, if the store streams."""
        store = self._store
        if not store.streams:
            return nullcontext()
        features = self._features
        inputs = features.untyped_storage().data_ptr() if isinstance(features, torch.Tensor) else None

        def kept(tensor: torch.Tensor) -> torch.Tensor:
            if tensor.layout != torch.strided or tensor.nbytes < LEAST_KEPT:
                return tensor
            return tensor if tensor.untyped_storage().data_ptr() == inputs else store.kept(tensor)

        return torch.autograd.graph.saved_tensors_hooks(kept, lambda tensor: tensor)
