# SPDX-License-Identifier: Apache-2.0
"""GCNII: deep graph convolution with initial residual and identity mapping (Chen et al. 2020, eq. 5)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.models.base import Features, Inputs, Model, dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models.view import View

ALPHA = 0.1
LAMBDA = 0.5


class Gcnii(Model):
    """``((1 - alpha) A h + alpha h^0) ((1 - beta_l) I + beta_l W_l)`` with ``beta_l = log(lambda / l + 1)``.

    Dense layers make ``h^0`` from the features and the class scores from ``h^L``.
    """

    uses_first = True
    dense_readout = True

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """``widths``: input features, one hidden width for each layer (all equal), classes."""
        hidden = widths[1]
        super().__init__([hidden] * (len(widths) - 2), seed=seed, dropout=dropout)
        self.into = nn.ParameterList([self.weight(widths[0], hidden), torch.zeros(hidden)])
        self.weights = nn.ParameterList(self.weight(hidden, hidden) for _ in range(self.layers))
        self.out = nn.ParameterList([self.weight(hidden, widths[-1]), torch.zeros(widths[-1])])

    def encode(self, features: Features) -> Features:
        """``relu(x W + b)``."""
        weight, bias = self.into
        return torch.relu(features @ weight + bias)

    def _message(self, number: int, h: Features) -> torch.Tensor:  # noqa: ARG002
        """The state itself is the message."""
        return dense(h)

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:
        """One layer, with ReLU."""
        assert inputs.first is not None
        beta = math.log(LAMBDA / number + 1)
        mixed = (1 - ALPHA) * view.aggregate(inputs.message, "gcn") + ALPHA * inputs.first
        z = (1 - beta) * mixed + beta * (mixed @ self.weights[number - 1])
        return self.hidden(number, view, torch.relu(z))

    def readout(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """``h^L W + b``."""
        weight, bias = self.out
        scores: torch.Tensor = states[-1] @ weight + bias
        return scores

    def _combining(self, number: int) -> list[nn.Parameter]:
        if number == 0:
            return list(self.into)
        return [self.weights[number - 1]] if number <= self.layers else list(self.out)
