# SPDX-License-Identifier: Apache-2.0
"""Sums of weight gradients over ranks, each layer's as soon as it is available."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from offramp.workers.reduction import LayerwiseSum

if TYPE_CHECKING:
    import torch

    from offramp.torchgt.model import GraphTransformer
    from offramp.workers.group import Group


class GradientSums:
    """Sums of a layer's gradients that run while earlier layers are computed; the rest follow at the end.

    Backward visits layers in the same order on every rank, so sums start in one order everywhere.

    Attributes:
        seconds: duration of the last :meth:`finish`.
    """

    def __init__(self, group: Group, model: GraphTransformer) -> None:
        self._sum = LayerwiseSum(group, overlapped=True)
        self.seconds = 0.0
        layers = [list(layer.parameters()) for layer in model.layers]
        in_layers = {id(p) for parameters in layers for p in parameters}
        self._others = [p for p in model.parameters() if id(p) not in in_layers]
        self._missing = [len(parameters) for parameters in layers]
        self._layers = layers
        for number, parameters in enumerate(layers):
            for parameter in parameters:
                parameter.register_post_accumulate_grad_hook(partial(self._arrived, number))  # type: ignore[no-untyped-call]

    def _arrived(self, number: int, _: torch.Tensor) -> None:
        self._missing[number] -= 1
        if not self._missing[number]:
            self._sum.start(self._layers[number])

    def finish(self) -> None:
        """Wait until all gradients are summed."""
        start = time.perf_counter()
        self._sum.start(self._others)
        self._sum.finish()
        self._missing = [len(parameters) for parameters in self._layers]
        self.seconds = time.perf_counter() - start
