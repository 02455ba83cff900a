# SPDX-License-Identifier: Apache-2.0
"""One stage's layers of a graph neural network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from offramp.models.base import Features, Inputs, dense
from offramp.models.deep import Reversible
from offramp.models.reversible import recomputed

if TYPE_CHECKING:
    from torch import nn

    from offramp.models.base import Model
    from offramp.models.view import View


class StageModel:
    """Layers ``layers`` of a model; the first stage also encodes, the last one also reads out.

    Stages pass ``(n, w)`` to each other: the state, followed by ``h^0`` if layers use it.

    Attributes:
        model: the model, all layers or those of the stage.
        parameters: the stage's, in the order of its layers.
        named: the same by their names in the model.
    """

    def __init__(self, model: Model, layers: range, *, spare: bool = True, recomputes: bool = False) -> None:
        """Create the stage.

        Args:
            model: all layers.
            layers: those of the stage.
            spare: whether to drop the other stages' weights.
            recomputes: whether reversible layers keep the state after the last one only, until their gradients.
        """
        self.model = model
        self._recomputes = recomputes
        self._layers = layers
        self.first, self.last = layers[0] == 1, layers[-1] == model.layers
        own: list[nn.Parameter] = [*model._combining(0)] if self.first else []
        for number in layers:
            own += [*model._preparing(number), *model._combining(number)]
        if self.last:
            own += model._combining(model.layers + 1)
        mine = {id(parameter) for parameter in own}
        self.named = {name: each for name, each in model.named_parameters() if id(each) in mine}
        self.parameters = own
        if spare:
            for parameter in model.parameters():
                if id(parameter) not in mine:
                    parameter.data = parameter.data.new_empty(0)
                    parameter.requires_grad = False

    def forward(self, x: Features, view: View) -> torch.Tensor:
        """Map input features or the state before the first layer to the state after the last layer or class scores."""
        model, first = self.model, None
        h: Features = model.encode(x) if self.first else x
        if model.uses_first:
            h, first = (dense(h), dense(h)) if self.first else torch.chunk(dense(x), 2, dim=1)
        if self._recomputes and isinstance(model, Reversible) and torch.is_grad_enabled():
            h = recomputed(model, self._layers, view, dense(h))
            return model.readout([h]) if self.last else h
        for number in self._layers:
            h = model.combine(number, view, Inputs(*model.prepare(number, h), first))
        state = dense(h)
        if self.last:
            return model.readout([state])
        return state if first is None else torch.cat([state, first], dim=1)
