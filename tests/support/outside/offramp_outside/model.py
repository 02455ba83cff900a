# SPDX-License-Identifier: Apache-2.0
"""A model: smoothed features, and one dense layer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from offramp.models.base import Features, Inputs, Model
from offramp.models.view import View


class Smooth(Model):
    """``A … A X W``: a neighbourhood's mean in every layer, class scores from the last one (SGC, Wu et al. 2019)."""

    sampled = True

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        super().__init__([widths[0]] * (len(widths) - 1), seed=seed, dropout=dropout)
        self.dense = self.weight(widths[0], widths[-1])

    def _message(self, number: int, h: Features) -> torch.Tensor:
        return h if isinstance(h, torch.Tensor) else h @ torch.eye(self.messages[0])

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:
        return view.aggregate(inputs.message, "mean")

    def readout(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        return states[-1] @ self.dense

    def _combining(self, number: int) -> list[nn.Parameter]:
        return [self.dense] if number == self.layers + 1 else []
