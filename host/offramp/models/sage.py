# SPDX-License-Identifier: Apache-2.0
"""GraphSAGE with the mean aggregator (Hamilton et al. 2017, algorithm 1), over all neighbours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.models.base import Features, Inputs, Linear, Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models.view import View


class Sage(Model):
    """``h_v W_own + (mean over neighbours of h_u) W_neighbour + b``, v itself not among its neighbours."""

    sampled = True

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """Create weights like :class:`~offramp.models.gcn.Gcn`."""
        shapes = list(pairwise(widths))
        super().__init__([min(shape) for shape in shapes], seed=seed, dropout=dropout)
        self.own = nn.ParameterList(self.weight(*shape) for shape in shapes)
        self.neighbour = nn.ParameterList(self.weight(*shape) for shape in shapes)
        self.biases = nn.ParameterList(torch.zeros(out) for _, out in shapes)

    def _message(self, number: int, h: Features) -> torch.Tensor:
        """The neighbours' part, if it is narrower."""
        return Linear(self.neighbour[number - 1]).before(h)

    def _kept(self, number: int, h: Features) -> torch.Tensor:
        """``h W_own + b``."""
        own: torch.Tensor = h @ self.own[number - 1] + self.biases[number - 1]
        return own

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:
        """The sum of both parts, with ReLU except after the last layer."""
        assert inputs.own is not None
        mean = (view.sum(inputs.message) - view.of_targets(inputs.message)) / view.neighbours
        z = inputs.own + Linear(self.neighbour[number - 1]).after(mean)
        return self.hidden(number, view, torch.relu(z)) if number < self.layers else z

    @property
    def trains_first_message(self) -> bool:
        """Whether the first layer narrows."""
        return Linear(self.neighbour[0]).narrows

    def _combining(self, number: int) -> list[nn.Parameter]:
        inside = 1 <= number <= self.layers
        return [self.neighbour[number - 1]] if inside and not Linear(self.neighbour[number - 1]).narrows else []

    def _preparing(self, number: int) -> list[nn.Parameter]:
        if not 1 <= number <= self.layers:
            return []
        weight = self.neighbour[number - 1]
        return [self.own[number - 1], self.biases[number - 1], *([weight] if Linear(weight).narrows else [])]
