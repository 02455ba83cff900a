"""What all models share: layers that are applied to views of the graph, one after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.train.dropout import VertexDropout
from offramp.train.sparse import SparseFeatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.train.view import View

Features = torch.Tensor | SparseFeatures


class Model(nn.Module, ABC):
    """A graph neural network with states ``h^0`` (made by :meth:`encode`) to ``h^L``.

    A layer computes the next state of some vertices from the states of their closed neighbourhoods, so it may run over
    the whole graph or over pieces of it. States are what workers tell each other, unless a layer's sums travel instead.

    Attributes:
        layers: L.
        states: widths of ``h^0`` to ``h^L``.
        by_sums: whether neighbours enter by their sum alone, which a switch can form.
        uses_first: whether layers look at the targets' ``h^0``.
        dropout: of hidden states; its ``step`` counts the training steps.
    """

    by_sums = True
    uses_first = False

    def __init__(self, states: Sequence[int], *, seed: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.states = list(states)
        self.layers = len(states) - 1
        self.dropout = VertexDropout(dropout, seed)
        self._generator = torch.Generator().manual_seed(seed)

    def encode(self, features: Features) -> Features:
        """``h^0`` from the vertices' features, vertex by vertex."""
        return features

    @abstractmethod
    def layer(self, number: int, view: View, h: Features, first: torch.Tensor | None) -> torch.Tensor:
        """``h^number`` of the view's targets.

        Args:
            number: from 1 to L.
            view: a piece of the graph.
            h: ``(s, states[number - 1])`` the sources' state before.
            first: ``(t, states[0])`` the targets' ``h^0``, where the model looks at it.
        """

    def readout(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """Class scores from the states ``h^1`` to ``h^L`` of the same vertices, ``h^0`` before them."""
        return states[-1]

    def sums(self) -> list[tuple[int, bool]]:
        """For each layer the width of the sums over neighbours that it takes, and whether these have a gradient."""
        raise NotImplementedError

    def of_layer(self, number: int) -> list[nn.Parameter]:
        """Parameters that layer ``number`` uses; those of :meth:`encode` for 0, of :meth:`readout` for L + 1."""
        return []

    def forward(self, features: Features, view: View) -> torch.Tensor:
        """Class scores ``(n, classes)`` from features ``(n, F)`` over a view whose sources are its targets."""
        h = self.encode(features)
        first = view.of_targets(h) if self.uses_first and isinstance(h, torch.Tensor) else None
        states = [h]
        for number in range(1, self.layers + 1):
            states.append(self.layer(number, view, states[-1], first))
        return self.readout([state for state in states if isinstance(state, torch.Tensor)])

    def hidden(self, number: int, view: View, z: torch.Tensor) -> torch.Tensor:
        """ReLU and, in training, dropout of the targets' state."""
        active = torch.relu(z)
        return self.dropout(active, view.ids, number) if self.training else active

    def weight(self, fan_in: int, fan_out: int) -> nn.Parameter:
        """A weight of Xavier's uniform distribution from the model's seed."""
        return nn.Parameter(nn.init.xavier_uniform_(torch.empty(fan_in, fan_out), generator=self._generator))


def dense(h: Features) -> torch.Tensor:
    """Features as a dense tensor."""
    return h.to_dense() if isinstance(h, SparseFeatures) else h


def narrowing_first(view: View, h: Features, weight: torch.Tensor, aggregator: str) -> torch.Tensor:
    """``aggregate(h) @ weight``; a weight that narrows is applied first (as DGL does), so that less is added up."""
    fan_in, fan_out = weight.shape
    if fan_in > fan_out:
        return view.aggregate(h @ weight, aggregator)
    return view.aggregate(dense(h), aggregator) @ weight
