"""Jumping knowledge networks (Xu et al. 2018) over graph convolution: every layer's state reaches the readout."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.train.models.base import Features, Model, narrowing_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.train.view import View


class JkNet(Model):
    """Graph convolution layers with ReLU; a dense layer makes class scores of all their states, concatenated."""

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """``widths``: input features, a hidden width for each layer, classes."""
        super().__init__(widths[:-1], seed=seed, dropout=dropout)
        shapes = list(pairwise(self.states))
        self.weights = nn.ParameterList(self.weight(*shape) for shape in shapes)
        self.biases = nn.ParameterList(torch.zeros(out) for _, out in shapes)
        self.out = nn.ParameterList([self.weight(sum(self.states[1:]), widths[-1]), torch.zeros(widths[-1])])

    def layer(self, number: int, view: View, h: Features, first: torch.Tensor | None) -> torch.Tensor:
        """``relu(A h W + b)``."""
        weight, bias = self.of_layer(number)
        return self.hidden(number, view, narrowing_first(view, h, weight, "gcn") + bias)

    def readout(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """``[h^1 … h^L] W + b``."""
        weight, bias = self.out
        return torch.cat(list(states[-self.layers :]), 1) @ weight + bias

    def sums(self) -> list[tuple[int, bool]]:
        """The narrower end of each layer; input features have no gradient."""
        return [(min(ends), layer > 0 or ends[0] > ends[1]) for layer, ends in enumerate(pairwise(self.states))]

    def of_layer(self, number: int) -> list[nn.Parameter]:
        """Weights of the layer, or of the readout."""
        if number == 0:
            return []
        return [self.weights[number - 1], self.biases[number - 1]] if number <= self.layers else list(self.out)
