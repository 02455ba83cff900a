"""GraphSAGE with the mean aggregator (Hamilton et al. 2017, algorithm 1), over all neighbours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.train.models.base import Features, Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.train.view import View


class Sage(Model):
    """``h_v W_self + mean over neighbours of h_u W_neighbour + b``, v itself not among them."""

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """As :class:`~offramp.train.models.gcn.Gcn`."""
        super().__init__(widths, seed=seed, dropout=dropout)
        shapes = list(pairwise(widths))
        self.own = nn.ParameterList(self.weight(*shape) for shape in shapes)
        self.neighbour = nn.ParameterList(self.weight(*shape) for shape in shapes)
        self.biases = nn.ParameterList(torch.zeros(out) for _, out in shapes)

    def layer(self, number: int, view: View, h: Features, first: torch.Tensor | None) -> torch.Tensor:
        """One layer, with ReLU but for the last."""
        own, neighbour, bias = self.of_layer(number)
        z = view.of_targets(h @ own) + self._mean(view, h, neighbour) + bias
        return self.hidden(number, view, z) if number < self.layers else z

    @staticmethod
    def _mean(view: View, h: Features, weight: torch.Tensor) -> torch.Tensor:
        narrows = weight.shape[0] > weight.shape[1] or not isinstance(h, torch.Tensor)
        x = h @ weight if narrows else h
        assert isinstance(x, torch.Tensor)
        mean = (view.sum(x) - view.of_targets(x)) / view.neighbours
        return mean if narrows else mean @ weight

    def sums(self) -> list[tuple[int, bool]]:
        """The narrower end of each layer; input features have no gradient."""
        return [(min(ends), layer > 0 or ends[0] > ends[1]) for layer, ends in enumerate(pairwise(self.states))]

    def of_layer(self, number: int) -> list[nn.Parameter]:
        """Both weights and the bias."""
        if not 1 <= number <= self.layers:
            return []
        return [self.own[number - 1], self.neighbour[number - 1], self.biases[number - 1]]
