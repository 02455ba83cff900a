# SPDX-License-Identifier: Apache-2.0
"""Graph attention (Velickovic et al. 2018)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.models.base import Features, Inputs, Model
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models import ModelSettings
    from offramp.models.view import View


class Gat(Model):
    """Attention over closed neighbourhoods; heads are concatenated, those of the last layer averaged."""

    by_sums = False
    sampled = True

    @classmethod
    def check(cls, settings: ModelSettings) -> None:
        """Refuse hidden widths that are not multiples of the number of heads."""
        if settings.hidden % settings.heads:
            raise SettingsError("hidden", f"expected a multiple of {{heads}} {settings.heads}", settings.hidden)

    @classmethod
    def of(cls, settings: ModelSettings, widths: Sequence[int]) -> Model:
        """The model with the settings' number of heads."""
        return cls(widths, seed=settings.seed, dropout=settings.dropout, heads=settings.heads)

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0, heads: int = 1) -> None:
        """Make weights as :class:`~offramp.models.gcn.Gcn` does; hidden widths are multiples of ``heads``."""
        shapes = [(fan_in, out // heads) for fan_in, out in pairwise(widths[:-1])] + [(widths[-2], widths[-1])]
        super().__init__([heads * out for _, out in shapes], seed=seed, dropout=dropout)
        self.heads = heads
        self.weights = nn.ParameterList(self.weight(fan_in, heads * out) for fan_in, out in shapes)
        self.sources = nn.ParameterList(self.weight(heads, out) for _, out in shapes)
        self.targets = nn.ParameterList(self.weight(heads, out) for _, out in shapes)
        self.biases = nn.ParameterList(torch.zeros(out) for out in widths[1:])

    def _message(self, number: int, h: Features) -> torch.Tensor:
        """``h W`` of all heads."""
        message: torch.Tensor = h @ self.weights[number - 1]
        return message

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:
        """The attention of every head, with ELU except after the last layer."""
        source, target, bias = (of[number - 1] for of in (self.sources, self.targets, self.biases))
        message = inputs.message
        values = message.view(len(message), self.heads, message.shape[1] // self.heads)  # also of no messages
        at_target = (view.of_targets(message).view(-1, *values.shape[1:]) * target).sum(2)
        heads = view.attend(values, (values * source).sum(2), at_target)
        if number == self.layers:
            scores: torch.Tensor = heads.mean(1) + bias
            return scores
        return self.hidden(number, view, nn.functional.elu(heads.flatten(1) + bias))

    def _combining(self, number: int) -> list[nn.Parameter]:
        inside = 1 <= number <= self.layers
        return [of[number - 1] for of in (self.sources, self.targets, self.biases)] if inside else []

    def _preparing(self, number: int) -> list[nn.Parameter]:
        return [self.weights[number - 1]] if 1 <= number <= self.layers else []
