# SPDX-License-Identifier: Apache-2.0
"""Graph convolution (Kipf and Welling 2017), with other sums over closed neighbourhoods by name."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.models.base import Features, Inputs, Linear, Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models import ModelSettings
    from offramp.models.view import View


class Gcn(Model):
    """Graph convolution layers, ``A h W + b``, with ReLU in between; the last layer gives the class scores."""

    sampled = True

    @classmethod
    def of(cls, settings: ModelSettings, widths: Sequence[int]) -> Model:
        """The model with the settings' aggregator."""
        return cls(widths, seed=settings.seed, dropout=settings.dropout, aggregator=settings.aggregator)

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0, aggregator: str = "gcn") -> None:
        """Initialise from ``seed`` alone: weights are equal on every worker, for any number of workers.

        Args:
            widths: input features, hidden widths, classes.
            seed: seed of weights and dropout.
            dropout: probability with which a hidden value is zeroed in training.
            aggregator: one of :data:`offramp.models.aggregation.AGGREGATORS`.
        """
        shapes = list(pairwise(widths))
        super().__init__([min(shape) for shape in shapes], seed=seed, dropout=dropout)
        self.aggregator = aggregator
        self.weights = nn.ParameterList(self.weight(*shape) for shape in shapes)
        self.biases = nn.ParameterList(torch.zeros(out) for _, out in shapes)

    def _message(self, number: int, h: Features) -> torch.Tensor:
        """``h W`` if that is narrower, else ``h``."""
        return Linear(self.weights[number - 1]).before(h)

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:
        """``A h W + b``, with ReLU except after the last layer."""
        z = view.aggregate(inputs.message, self.aggregator)
        z = Linear(self.weights[number - 1]).after(z) + self.biases[number - 1]
        return self.hidden(number, view, torch.relu(z)) if number < self.layers else z

    def _combining(self, number: int) -> list[nn.Parameter]:
        if not 1 <= number <= self.layers:
            return []
        return [self.biases[number - 1], *_if_not(self.weights[number - 1], narrows=True)]

    def _preparing(self, number: int) -> list[nn.Parameter]:
        return _if_not(self.weights[number - 1], narrows=False) if 1 <= number <= self.layers else []


def _if_not(weight: nn.Parameter, *, narrows: bool) -> list[nn.Parameter]:
    return [] if Linear(weight).narrows == narrows else [weight]
