# SPDX-License-Identifier: Apache-2.0
"""Common base of all models: layers that are applied to views of the graph, one after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from offramp.models.dropout import VertexDropout
from offramp.models.sparse import FeatureMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models import ModelSettings
    from offramp.models.view import View

Features = torch.Tensor | FeatureMatrix


class PreparedTensors(NamedTuple):
    """The tensors that a layer computes from each vertex's state before it looks at neighbours.

    Attributes:
        message: ``(s, w)`` what neighbours need of the vertex, and what is sent between workers.
        own: ``(n, v)`` what the first n vertices need themselves in addition, if anything.
    """

    message: torch.Tensor
    own: torch.Tensor | None = None


class Inputs(NamedTuple):
    """Inputs that a layer combines.

    Attributes:
        message: ``(s, w)`` messages of the view's sources.
        own: ``(t, v)`` own values of its targets, if :meth:`Model.prepare` computes them.
        first: ``(t, …)`` the targets' ``h^0``, if the model uses it.
    """

    message: torch.Tensor
    own: torch.Tensor | None = None
    first: torch.Tensor | None = None


class Model(nn.Module, ABC):
    """A graph neural network with states ``h^0`` (computed by :meth:`encode`) to ``h^L``.

    A layer prepares every vertex by itself, then combines the messages of closed neighbourhoods; so it may run over
    the whole graph or over pieces of it.

    Attributes:
        layers: number of layers, L.
        messages: widths of the layers' messages.
        by_sums: whether neighbours enter only by their sum, which a switch can compute.
        uses_first: whether layers use the targets' ``h^0``.
        dense_readout: whether class scores come from a separate dense layer after the last hidden width.
        pipelined: whether stages may share its layers, since only the last state is read out.
        sampled: whether its layers take sampled neighbourhoods.
        reversible: whether a layer's input follows from its output.
        dropout: dropout of hidden states; its ``step`` counts the training steps.
    """

    by_sums = True
    uses_first = False
    dense_readout = False
    pipelined = True
    sampled = False
    reversible = False

    @classmethod
    def of(cls, settings: ModelSettings, widths: Sequence[int]) -> Model:
        """The model of these settings; ``widths`` are input features, hidden widths, classes."""
        return cls(widths, seed=settings.seed, dropout=settings.dropout)

    @classmethod
    def check(cls, settings: ModelSettings) -> None:
        """Refuse settings that the model does not support.

        Raises:
            SettingsError: names the field and what it takes.
        """

    def __init__(self, messages: Sequence[int], *, seed: int, dropout: float) -> None:
        super().__init__()
        self.messages = list(messages)
        self.layers = len(messages)
        self.dropout = VertexDropout(dropout, seed)
        self._generator = torch.Generator().manual_seed(seed)

    def encode(self, features: Features) -> Features:
        """Compute ``h^0`` from the vertices' features, vertex by vertex."""
        return features

    def prepare(self, number: int, h: Features, own: int | None = None) -> PreparedTensors:
        """The part of layer ``number`` (1 to L) that needs no neighbours, from ``(s, …)`` states ``h^(number - 1)``.

        For the first ``own`` vertices, by default all, it also computes what they need themselves.
        """
        return PreparedTensors(self._message(number, h), self._kept(number, _head(h, own)))

    @abstractmethod
    def _message(self, number: int, h: Features) -> torch.Tensor:
        """``(s, w)`` messages that neighbours need."""

    def _kept(self, number: int, h: Features) -> torch.Tensor | None:  # noqa: ARG002
        """The vertices' own tensor that a layer needs in addition to the messages, if any."""
        return None

    @abstractmethod
    def combine(self, number: int, view: View, inputs: Inputs) -> torch.Tensor:
        """``(t, …)`` states ``h^number`` of the view's targets."""

    def readout(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """Class scores from states ``h^1`` to ``h^L`` of the same vertices, preceded by ``h^0`` if that is dense."""
        return states[-1]

    def of_stage(self, number: int) -> list[nn.Parameter]:
        """Parameters of stage ``number``: those of combining layer ``number`` and preparing the next one.

        Stage 0 is :meth:`encode` and the first :meth:`prepare`; stage L + 1 is :meth:`readout`.
        """
        return [*self._combining(number), *self._preparing(number + 1)]

    def _combining(self, number: int) -> list[nn.Parameter]:  # noqa: ARG002
        """Parameters of :meth:`combine`; of :meth:`encode` for 0, of :meth:`readout` for L + 1."""
        return []

    def _preparing(self, number: int) -> list[nn.Parameter]:  # noqa: ARG002
        """Parameters of :meth:`prepare`."""
        return []

    def sums(self) -> list[tuple[int, bool]]:
        """Width of each layer's messages, and whether they have a gradient."""
        return [(width, layer > 0 or self.trains_first_message) for layer, width in enumerate(self.messages)]

    @property
    def trains_first_message(self) -> bool:
        """Whether the first layer's messages depend on parameters, rather than being the input features."""
        return bool(self.of_stage(0))

    def forward(self, features: Features, view: View) -> torch.Tensor:
        """Class scores ``(n, classes)`` from features ``(n, F)`` over a view whose sources are its targets."""
        h = self.encode(features)
        states = [h]
        for number in range(1, self.layers + 1):
            prepared = self.prepare(number, states[-1])
            first = h if self.uses_first and isinstance(h, torch.Tensor) else None
            states.append(self.combine(number, view, Inputs(*prepared, first)))
        return self.readout([state for state in states if isinstance(state, torch.Tensor)])

    def hidden(self, number: int, view: View, active: torch.Tensor) -> torch.Tensor:
        """The targets' states, after dropout in training."""
        return self.dropout(active, view.ids, number) if self.training else active

    def weight(self, fan_in: int, fan_out: int) -> nn.Parameter:
        """A weight drawn from Xavier's uniform distribution with the model's seed."""
        return nn.Parameter(nn.init.xavier_uniform_(torch.empty(fan_in, fan_out), generator=self._generator))


def _head(h: Features, count: int | None) -> Features:
    if count is None:
        return h
    return h[:count] if isinstance(h, torch.Tensor) else h.head(count)


def dense(h: Features) -> torch.Tensor:
    """Features as a dense tensor."""
    return h if isinstance(h, torch.Tensor) else h.to_dense()


class Linear:
    """A weight on whichever side of the sum over neighbours makes the summed features narrower (as in DGL)."""

    def __init__(self, weight: nn.Parameter) -> None:
        self.weight = weight
        self.narrows = weight.shape[0] > weight.shape[1]

    def before(self, h: Features) -> torch.Tensor:
        """Apply the weight before the sum, if it narrows."""
        return h @ self.weight if self.narrows else dense(h)

    def after(self, z: torch.Tensor) -> torch.Tensor:
        """Apply the weight after the sum, if it does not narrow."""
        return z if self.narrows else z @ self.weight
