# SPDX-License-Identifier: Apache-2.0
"""What all models share: layers that are applied to views of the graph, one after the other."""

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


class Prepared(NamedTuple):
    """What a layer makes of each vertex's state before it looks at neighbours.

    Attributes:
        message: ``(s, w)`` what neighbours need of the vertex; this is what travels between workers.
        own: ``(n, v)`` what the first n vertices need themselves besides, if anything.
    """

    message: torch.Tensor
    own: torch.Tensor | None = None


class Inputs(NamedTuple):
    """What a layer combines.

    Attributes:
        message: ``(s, w)`` of the view's sources.
        own: ``(t, v)`` of its targets, where :meth:`Model.prepare` makes it.
        first: ``(t, …)`` the targets' ``h^0``, where the model looks at it.
    """

    message: torch.Tensor
    own: torch.Tensor | None = None
    first: torch.Tensor | None = None


class Model(nn.Module, ABC):
    """A graph neural network with states ``h^0`` (made by :meth:`encode`) to ``h^L``.

    A layer prepares every vertex by itself, then combines the messages of closed neighbourhoods; so it may run over
    the whole graph or over pieces of it.

    Attributes:
        layers: L.
        messages: widths of the layers' messages.
        by_sums: whether neighbours enter by their sum alone, which a switch can form.
        uses_first: whether layers look at the targets' ``h^0``.
        dense_readout: whether class scores come from a dense layer of its own, behind the last hidden width.
        pipelined: whether stages may share its layers, since only the last state is read out.
        sampled: whether its layers take sampled neighbourhoods.
        dropout: of hidden states; its ``step`` counts the training steps.
    """

    by_sums = True
    uses_first = False
    dense_readout = False
    pipelined = True
    sampled = False

    @classmethod
    def of(cls, settings: ModelSettings, widths: Sequence[int]) -> Model:
        """The model of these settings; ``widths`` are input features, hidden widths, classes."""
        return cls(widths, seed=settings.seed, dropout=settings.dropout)

    @classmethod
    def check(cls, settings: ModelSettings) -> None:
        """Refuse settings that the model cannot have.

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
        """``h^0`` from the vertices' features, vertex by vertex."""
        return features

    def prepare(self, number: int, h: Features, own: int | None = None) -> Prepared:
        """Layer ``number`` (from 1 to L), before it looks at neighbours: from ``(s, …)`` states ``h^(number - 1)``.

        Of the first ``own`` vertices, by default all, it also makes what they need themselves.
        """
        return Prepared(self._message(number, h), self._kept(number, _head(h, own)))

    @abstractmethod
    def _message(self, number: int, h: Features) -> torch.Tensor:
        """What neighbours need: ``(s, w)``."""

    def _kept(self, number: int, h: Features) -> torch.Tensor | None:  # noqa: ARG002
        """What the vertices need themselves besides, if anything."""
        return None

    @abstractmethod
    def combine(self, number: int, view: View, given: Inputs) -> torch.Tensor:
        """``(t, …)`` states ``h^number`` of the view's targets."""

    def readout(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """Class scores from the states ``h^1`` to ``h^L`` of the same vertices; a dense ``h^0`` comes before them."""
        return states[-1]

    def of_stage(self, number: int) -> list[nn.Parameter]:
        """Parameters of stage ``number``: of combining layer ``number`` and preparing the next one.

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
        """For each layer the width of its messages, and whether they have a gradient."""
        return [(width, layer > 0 or self.trains_first_message) for layer, width in enumerate(self.messages)]

    @property
    def trains_first_message(self) -> bool:
        """Whether the first layer's messages depend on parameters, or are the input features."""
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
        """The targets' state; in training, after dropout."""
        return self.dropout(active, view.ids, number) if self.training else active

    def weight(self, fan_in: int, fan_out: int) -> nn.Parameter:
        """A weight of Xavier's uniform distribution from the model's seed."""
        return nn.Parameter(nn.init.xavier_uniform_(torch.empty(fan_in, fan_out), generator=self._generator))


def _head(h: Features, count: int | None) -> Features:
    if count is None:
        return h
    return h[:count] if isinstance(h, torch.Tensor) else h.head(count)


def dense(h: Features) -> torch.Tensor:
    """Features as a dense tensor."""
    return h if isinstance(h, torch.Tensor) else h.to_dense()


class Linear:
    """A weight on the side of the sum over neighbours where the narrower features are added up (as DGL does)."""

    def __init__(self, weight: nn.Parameter) -> None:
        self.weight = weight
        self.narrows = weight.shape[0] > weight.shape[1]

    def before(self, h: Features) -> torch.Tensor:
        """Applied before the sum, if it narrows."""
        return h @ self.weight if self.narrows else dense(h)

    def after(self, z: torch.Tensor) -> torch.Tensor:
        """Applied after the sum, if it does not narrow."""
        return z if self.narrows else z @ self.weight
