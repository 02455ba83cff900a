# SPDX-License-Identifier: Apache-2.0
"""Graphormer and GT over the tokens of one rank (specification 0.1, 2.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.models.dropout import VertexDropout
from offramp.torchgt.encodings import DEGREES
from offramp.torchgt.pattern import BucketOf

if TYPE_CHECKING:
    from offramp.torchgt.parallel import SequenceParallel
    from offramp.torchgt.sequence import Tokens
    from offramp.torchgt.settings import TorchGtSettings

Attend = Callable[..., torch.Tensor]
"""``attend(q, k, v, table)`` over whole sequences of this rank's heads: ``(heads, tokens, d)``."""


class TransformerLayer(nn.Module):
    """Attention and feed-forward; normalised before each (Graphormer) or after (GT)."""

    def __init__(self, hidden: int, heads: int, *, norm_first: bool) -> None:
        super().__init__()
        self._heads, self._norm_first = heads, norm_first
        self.project = nn.Linear(hidden, 3 * hidden, bias=False)  # softmax does not see a bias of keys
        self.out = nn.Linear(hidden, hidden)
        wide = hidden if norm_first else 2 * hidden  # as the authors' Graphormer, and as GT
        self.feed = nn.Sequential(nn.Linear(hidden, wide), nn.GELU(), nn.Linear(wide, hidden))
        self.norms = nn.ModuleList([nn.LayerNorm(hidden), nn.LayerNorm(hidden)])

    def forward(
        self, x: torch.Tensor, parallel: SequenceParallel, attend: Attend, drop: Callable[..., torch.Tensor]
    ) -> torch.Tensor:
        """The layer's ``(tokens/P, hidden)`` states."""
        first, second = self.norms
        if self._norm_first:
            x = x + drop(self._attention(first(x), parallel, attend), 0)
            return x + drop(self.feed(second(x)), 1)
        x = first(x + drop(self._attention(x, parallel, attend), 0))
        normed: torch.Tensor = second(x + drop(self.feed(x), 1))
        return normed

    def _attention(self, x: torch.Tensor, parallel: SequenceParallel, attend: Attend) -> torch.Tensor:
        tokens, hidden = x.shape
        kinds = self.project(x).view(tokens, 3, self._heads, hidden // self._heads)
        q, k, v = parallel.to_heads(kinds)
        mixed: torch.Tensor = self.out(parallel.to_tokens(attend(q, k, v)[None]).reshape(tokens, hidden))
        return mixed


class GraphTransformer(nn.Module):
    """Maps tokens to scores, with the same weights on every rank.

    Attributes:
        dropout: dropout whose ``step`` is set before each step.
        bias: ``(entries, heads)`` bias by distance, shared by all layers (eq. 2.5); None for GT.
    """

    def __init__(self, settings: TorchGtSettings, features: int, outputs: int) -> None:
        super().__init__()
        size = settings.size
        self.inputs = nn.Linear(features, size.hidden)
        self.degrees: nn.ModuleList | None = None
        self.positions: nn.Linear | None = None
        self.bias: nn.Parameter | None = None
        if settings.biased:
            self.degrees = nn.ModuleList([nn.Embedding(DEGREES, size.hidden) for _ in range(2)])
            self.bias = nn.Parameter(torch.empty(BucketOf.entries(settings.distance), size.heads))
        else:
            self.positions = nn.Linear(settings.positions, size.hidden, bias=False)
        self.token = nn.Parameter(torch.zeros(size.hidden))
        self.layers = nn.ModuleList(
            TransformerLayer(size.hidden, size.heads, norm_first=settings.biased) for _ in range(size.layers)
        )
        self.norm = nn.LayerNorm(size.hidden)
        self.outputs = nn.Linear(size.hidden, outputs)
        self.dropout = VertexDropout(settings.dropout, settings.seed)
        self._initialise(settings.seed)

    def compile_dense(self) -> None:
        """Compile the parts of a layer between its exchanges (:meth:`torch.nn.Module.compile`); names are unchanged."""
        for layer in self.layers:
            for name in ("project", "out", "feed"):
                getattr(layer, name).compile()

    @torch.no_grad()
    def _initialise(self, seed: int) -> None:
        """Initialise weights from the seed alone, the same on every rank, whatever else draws random numbers."""
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                limit = 0.1 if name == "bias" or name.startswith("degrees") else parameter.shape[1] ** -0.5
                parameter.uniform_(-limit, limit, generator=generator)
            elif name.endswith("bias"):
                parameter.zero_()

    def forward(self, tokens: Tokens, parallel: SequenceParallel, attend: Attend) -> torch.Tensor:
        """``(tokens/P, outputs)`` scores of this rank's tokens."""
        x = self._embedded(tokens)
        table = self._own_bias(parallel)
        training = self.training

        def drop(values: torch.Tensor, place: int) -> torch.Tensor:
            return self.dropout(values, tokens.ids, place) if training else values

        for number, layer in enumerate(self.layers):
            x = layer(
                x,
                parallel,
                lambda q, k, v: attend(q, k, v, table),
                lambda values, half, number=number: drop(values, 2 * number + half),
            )
        scores: torch.Tensor = self.outputs(self.norm(x))
        return scores

    def _embedded(self, tokens: Tokens) -> torch.Tensor:
        vertices: torch.Tensor = self.inputs(tokens.features)
        if self.degrees is not None:
            vertices = vertices + sum(table(tokens.degrees) for table in self.degrees)
        if self.positions is not None:
            vertices = vertices + self.positions(tokens.positions)
        return torch.where(tokens.vertex[:, None], vertices, self.token)

    def _own_bias(self, parallel: SequenceParallel) -> torch.Tensor | None:
        """The columns of the bias table for the heads of this rank."""
        if self.bias is None:
            return None
        share = self.bias.shape[1] // parallel.group.size
        return self.bias[:, share * parallel.group.rank : share * (parallel.group.rank + 1)]
