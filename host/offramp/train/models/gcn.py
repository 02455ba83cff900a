"""Graph convolution (Kipf and Welling 2017), with other sums over closed neighbourhoods by name."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.train.models.base import Features, Model, narrowing_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.train.view import View


class Gcn(Model):
    """Graph convolution layers with ReLU in between; the last one gives the class scores.

    A layer that narrows multiplies by its weight before it aggregates, so that the narrower features are added up.
    """

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0, aggregator: str = "gcn") -> None:
        """Initialised from ``seed`` alone: equal on every worker, for any number of workers.

        Args:
            widths: input features, hidden widths, classes.
            seed: of weights and dropout.
            dropout: probability with which a hidden value is zeroed in training.
            aggregator: one of :data:`offramp.train.aggregation.AGGREGATORS`.
        """
        super().__init__(widths, seed=seed, dropout=dropout)
        self.aggregator = aggregator
        shapes = list(pairwise(widths))
        self.weights = nn.ParameterList(self.weight(*shape) for shape in shapes)
        self.biases = nn.ParameterList(torch.zeros(out) for _, out in shapes)

    def layer(self, number: int, view: View, h: Features, first: torch.Tensor | None) -> torch.Tensor:
        """``A h W + b``, with ReLU but for the last."""
        weight, bias = self.of_layer(number)
        z = narrowing_first(view, h, weight, self.aggregator) + bias
        return self.hidden(number, view, z) if number < self.layers else z

    def sums(self) -> list[tuple[int, bool]]:
        """The narrower end of each layer; input features have no gradient."""
        return [(min(ends), layer > 0 or ends[0] > ends[1]) for layer, ends in enumerate(pairwise(self.states))]

    def of_layer(self, number: int) -> list[nn.Parameter]:
        """Weight and bias."""
        if not 1 <= number <= self.layers:
            return []
        return [self.weights[number - 1], self.biases[number - 1]]
