# SPDX-License-Identifier: Apache-2.0
"""DAGNN (Liu et al. 2020): transformation first, then propagation, then a gate over the depths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.models.base import Features, Inputs, Model, dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models.view import View


class Dagnn(Model):
    """``Z = MLP(X)``; ``h^l = A^l Z``; the score is the sum of ``sigmoid(h^l s) h^l`` over l = 0 … L."""

    dense_readout = True
    pipelined = False

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """``widths``: input features, hidden width of the MLP (repeated for each layer), classes."""
        hidden, classes = widths[1], widths[-1]
        super().__init__([classes] * (len(widths) - 2), seed=seed, dropout=dropout)
        self.into = nn.ParameterList(
            [self.weight(widths[0], hidden), torch.zeros(hidden), self.weight(hidden, classes), torch.zeros(classes)]
        )
        self.gate = nn.ParameterList([self.weight(classes, 1)])

    def encode(self, features: Features) -> Features:
        """``h^0`` from the features by a multilayer perceptron of two layers."""
        weight, bias, out, out_bias = self.into
        encoded: torch.Tensor = torch.relu(features @ weight + bias) @ out + out_bias
        return encoded

    def _message(self, number: int, h: Features) -> torch.Tensor:  # noqa: ARG002
        """The state itself is the message."""
        return dense(h)

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:  # noqa: ARG002
        """One step of propagation, ``A h``."""
        return view.aggregate(inputs.message, "gcn")

    def readout(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """Class scores from the gated sum of all states."""
        stack = torch.stack(list(states), 1)
        return (torch.sigmoid(stack @ self.gate[0]) * stack).sum(1)

    def _combining(self, number: int) -> list[nn.Parameter]:
        if number == 0:
            return list(self.into)
        return [] if number <= self.layers else list(self.gate)
