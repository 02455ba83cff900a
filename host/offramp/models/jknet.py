# SPDX-License-Identifier: Apache-2.0
"""Jumping knowledge networks (Xu et al. 2018) over graph convolution: every layer's state reaches the readout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.models.base import Inputs, Model
from offramp.models.gcn import Gcn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models import ModelSettings
    from offramp.models.view import View


class JkNet(Gcn):
    """Graph convolution layers with ReLU; a dense layer computes class scores from all their states, concatenated."""

    dense_readout = True
    pipelined = False
    sampled = False

    @classmethod
    def of(cls, settings: ModelSettings, widths: Sequence[int]) -> Model:
        """The model with the sums of its paper."""
        return cls(widths, seed=settings.seed, dropout=settings.dropout)

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """``widths``: input features, a hidden width for each layer, classes."""
        super().__init__(widths[:-1], seed=seed, dropout=dropout)
        self.out = nn.ParameterList([self.weight(sum(widths[1:-1]), widths[-1]), torch.zeros(widths[-1])])

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:
        """``relu(A h W + b)``, also in the last layer."""
        h = super().combine(number, view, inputs)
        return self.hidden(number, view, torch.relu(h)) if number == self.layers else h

    def readout(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """``[h^1 … h^L] W + b``."""
        weight, bias = self.out
        scores: torch.Tensor = torch.cat(list(states[-self.layers :]), 1) @ weight + bias
        return scores

    def _combining(self, number: int) -> list[nn.Parameter]:
        return list(self.out) if number == self.layers + 1 else super()._combining(number)
