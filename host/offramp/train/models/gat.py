"""Graph attention (Velickovic et al. 2018)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.errors import OfframpError
from offramp.train.models.base import Features, Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.train.view import View


class Gat(Model):
    """Attention over closed neighbourhoods; heads are concatenated, those of the last layer averaged."""

    by_sums = False

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0, heads: int = 1) -> None:
        """As :class:`~offramp.train.models.gcn.Gcn`, with ``heads`` of attention.

        Raises:
            OfframpError: the hidden widths are no multiples of the heads.
        """
        super().__init__(widths, seed=seed, dropout=dropout)
        for width in widths[1:-1]:
            if width % heads:
                raise OfframpError(f"--hidden {width}: expected a multiple of --heads {heads}")
        self.heads = heads
        shapes = [(fan_in, out // heads) for fan_in, out in pairwise(widths[:-1])] + [(widths[-2], widths[-1])]
        self.weights = nn.ParameterList(self.weight(fan_in, heads * out) for fan_in, out in shapes)
        self.sources = nn.ParameterList(self.weight(heads, out) for _, out in shapes)
        self.targets = nn.ParameterList(self.weight(heads, out) for _, out in shapes)
        self.biases = nn.ParameterList(torch.zeros(out) for out in widths[1:])

    def layer(self, number: int, view: View, h: Features, first: torch.Tensor | None) -> torch.Tensor:
        """One layer, with ELU but for the last."""
        weight, source, target, bias = self.of_layer(number)
        product = h @ weight
        values = product.view(len(product), self.heads, -1)
        scores = (values * source).sum(2), (view.of_targets(product).view(-1, *values.shape[1:]) * target).sum(2)
        heads = view.attend(values, *scores)
        if number == self.layers:
            return heads.mean(1) + bias
        z = nn.functional.elu(heads.flatten(1) + bias)
        return self.dropout(z, view.ids, number) if self.training else z

    def of_layer(self, number: int) -> list[nn.Parameter]:
        """Weight, attention vectors of both ends, bias."""
        if not 1 <= number <= self.layers:
            return []
        return [of[number - 1] for of in (self.weights, self.sources, self.targets, self.biases)]
