# SPDX-License-Identifier: Apache-2.0
"""SGC (Wu et al. 2019): a linear classifier after some steps of propagation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.models.base import Features, Inputs, Model, dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models.view import View


class Sgc(Model):
    """Scores ``A^L X W``; the weight comes first, so that what travels has the width of the classes."""

    dense_readout = True
    pipelined = False

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """``widths``: input features, hidden widths (one for each step, otherwise unused), classes."""
        super().__init__([widths[-1]] * (len(widths) - 2), seed=seed, dropout=dropout)
        self.into = nn.ParameterList([self.weight(widths[0], widths[-1])])

    def encode(self, features: Features) -> Features:
        """``X W``."""
        scores: torch.Tensor = features @ self.into[0]
        return scores

    def _message(self, number: int, h: Features) -> torch.Tensor:  # noqa: ARG002
        """The state itself is the message."""
        return dense(h)

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:  # noqa: ARG002
        """One step of propagation, ``A h``."""
        return view.aggregate(inputs.message, "gcn")

    def _combining(self, number: int) -> list[nn.Parameter]:
        return list(self.into) if number == 0 else []
