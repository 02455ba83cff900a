# SPDX-License-Identifier: Apache-2.0
"""The deep graph neural networks of the evaluation: reversible GCN and GAT, and residual generalised aggregation.

RevGCN and RevGAT (Li et al. 2021) with two groups of channels; ResGEN (Li et al. 2020) with softmax aggregation.
Activations of reversible layers are stored, or recomputed by :mod:`offramp.models.reversible`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.models.base import Features, Inputs, Model, dense
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.models import ModelSettings
    from offramp.models.view import View

GROUPS = 2
EPSILON = 1e-7


class Deep(Model):
    """Layers that add to the state, between a linear layer at the front and one after a norm at the end.

    Attributes:
        group: width of the channels that a layer reads and writes.
    """

    dense_readout = True
    groups = 1

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """``widths``: input features, one hidden width for each layer (all equal), classes."""
        hidden = widths[1]
        self.group = hidden // self.groups
        super().__init__([self.group] * (len(widths) - 2), seed=seed, dropout=dropout)
        self.into = nn.ParameterList([self.weight(widths[0], hidden), torch.zeros(hidden)])
        self.scales = nn.ParameterList(torch.ones(self.group) for _ in range(self.layers))
        self.shifts = nn.ParameterList(torch.zeros(self.group) for _ in range(self.layers))
        self.weights = nn.ParameterList(self.weight(self.group, self.group) for _ in range(self.layers))
        self.out = nn.ParameterList([self.weight(hidden, widths[-1]), torch.zeros(widths[-1])])

    def encode(self, features: Features) -> Features:
        """``x W + b``."""
        weight, bias = self.into
        state: torch.Tensor = features @ weight + bias
        return state

    def readout(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """``relu(norm(h^L)) W + b``."""
        weight, bias = self.out
        last = states[-1]
        scores: torch.Tensor = torch.relu(nn.functional.layer_norm(last, last.shape[1:])) @ weight + bias
        return scores

    def _active(self, number: int, h: torch.Tensor) -> torch.Tensor:
        scale, shift = self.scales[number - 1], self.shifts[number - 1]
        return torch.relu(nn.functional.layer_norm(h, (self.group,), scale, shift))

    def _combining(self, number: int) -> list[nn.Parameter]:
        if number == 0:
            return list(self.into)
        return list(self.out) if number > self.layers else []

    def _preparing(self, number: int) -> list[nn.Parameter]:
        if not 1 <= number <= self.layers:
            return []
        return [of[number - 1] for of in (self.scales, self.shifts, self.weights)]


class Reversible(Deep):
    """Each layer updates one half of the channels from the other, in turn."""

    groups = GROUPS
    reversible = True

    @classmethod
    def check(cls, settings: ModelSettings) -> None:
        """Refuse odd widths, which cannot be halved."""
        if settings.hidden % GROUPS:
            raise SettingsError("hidden", f"expected an even number for {{model}} {settings.model}", settings.hidden)

    @staticmethod
    def halves(state: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Both halves of the channels."""
        return state.chunk(GROUPS, dim=1)

    @staticmethod
    def roles(number: int) -> tuple[int, int]:
        """The half that layer ``number`` changes, and the one that it reads."""
        return (number - 1) % GROUPS, number % GROUPS

    def change(self, number: int, view: View, half: torch.Tensor) -> torch.Tensor:
        """What layer ``number`` adds to one half, as a function of the other."""
        return self._added(number, view, self._weighted(number, half))

    def of_layer(self, number: int) -> list[nn.Parameter]:
        """Parameters of layer ``number``."""
        return [*self._preparing(number), *self._combining(number)]

    def _weighted(self, number: int, half: torch.Tensor) -> torch.Tensor:
        weighted: torch.Tensor = self._active(number, half) @ self.weights[number - 1]
        return weighted

    def _added(self, number: int, view: View, message: torch.Tensor) -> torch.Tensor:
        return self.hidden(number, view, self._sum(number, view, message))

    def _message(self, number: int, h: Features) -> torch.Tensor:
        """``relu(norm(other half)) W``."""
        return self._weighted(number, self.halves(dense(h))[self.roles(number)[1]])

    def _kept(self, number: int, h: Features) -> torch.Tensor:  # noqa: ARG002
        """The whole state stays with its vertex."""
        return dense(h)

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:
        """``x_1 + f(x_2)`` in odd layers, ``x_2 + f(x_1)`` in even ones."""
        assert inputs.own is not None
        halves, changed = list(self.halves(inputs.own)), self.roles(number)[0]
        halves[changed] = halves[changed] + self._added(number, view, inputs.message)
        return torch.cat(halves, dim=1)

    def _sum(self, number: int, view: View, message: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        return view.aggregate(message, "gcn")


class RevGcn(Reversible):
    """Reversible GCN: reversible layers with the sums of graph convolution."""


class RevGat(Reversible):
    """Reversible GAT: reversible layers with attention over closed neighbourhoods."""

    by_sums = False

    def __init__(self, widths: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        """Create weights like :class:`Deep`."""
        super().__init__(widths, seed=seed, dropout=dropout)
        self.sources = nn.ParameterList(self.weight(1, self.group) for _ in range(self.layers))
        self.targets = nn.ParameterList(self.weight(1, self.group) for _ in range(self.layers))

    def _sum(self, number: int, view: View, message: torch.Tensor) -> torch.Tensor:
        source = (message * self.sources[number - 1]).sum(1, keepdim=True)
        target = (view.of_targets(message) * self.targets[number - 1]).sum(1, keepdim=True)
        return view.attend(message.unsqueeze(1), source, target).flatten(1)

    def _combining(self, number: int) -> list[nn.Parameter]:
        own = [of[number - 1] for of in (self.sources, self.targets)] if 1 <= number <= self.layers else []
        return [*super()._combining(number), *own]


class ResGen(Deep):
    """``h + (sum of softmax-weighted messages) W`` with messages ``relu(norm(h)) + epsilon``."""

    by_sums = False

    def _message(self, number: int, h: Features) -> torch.Tensor:
        return self._active(number, dense(h)) + EPSILON

    def _kept(self, number: int, h: Features) -> torch.Tensor:  # noqa: ARG002
        """The whole state stays with its vertex."""
        return dense(h)

    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:
        """Each channel weighs its neighbours by a softmax of their messages."""
        assert inputs.own is not None
        message = inputs.message
        target = torch.zeros_like(view.of_targets(message))
        mixed = view.attend(message.unsqueeze(2), message, target).flatten(1)
        return inputs.own + self.hidden(number, view, mixed @ self.weights[number - 1])

    def _combining(self, number: int) -> list[nn.Parameter]:
        own = [self.weights[number - 1]] if 1 <= number <= self.layers else []
        return [*super()._combining(number), *own]

    def _preparing(self, number: int) -> list[nn.Parameter]:
        return super()._preparing(number)[:2]  # the weight comes after the sum
