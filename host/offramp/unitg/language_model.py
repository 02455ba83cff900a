# SPDX-License-Identifier: Apache-2.0
"""A small transformer encoder over a vertex's words, with four exits (specification, section 3.4)."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional

from offramp.unitg.hooks import Unit
from offramp.unitg.text import PAD

EXITS = 4
_STD = 0.1


def exit_depths(layers: int, exits: int = EXITS) -> list[int]:
    """Number of layers up to each exit: n/4, n/2, 3n/4, n, rounded up."""
    return [-(-layers * (i + 1) // exits) for i in range(exits)]


class Embed(nn.Module):
    """Embeddings of tokens and of their positions."""

    def __init__(self, vocabulary: int, length: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.empty(length, width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map ``(b, t)`` to ``(b, t, width)``."""
        embedding: torch.Tensor = self.words(tokens) + self.places[: tokens.shape[1]]
        return embedding


class Attention(nn.Module):
    """Multi-head self-attention after a norm, added to its input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, h: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """``(b, t, width)`` states; the mask ``(b, 1, 1, t)`` marks real tokens."""
        batch, tokens, width = h.shape
        split = self.into(self.norm(h)).view(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        result: torch.Tensor = h + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return result


class FeedForward(nn.Module):
    """Two linear layers with GELU after a norm, added to their input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.into, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        """States of all tokens, ``(b, t, width)``."""
        result: torch.Tensor = h + self.out(functional.gelu(self.into(self.norm(h))))
        return result


class ExitLayer(nn.Module):
    """The linear layer phi_i of an exit, from the first token's state to the vertex's embedding."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, out)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        """Map ``(b, t, width)`` to ``(b, out)``."""
        result: torch.Tensor = self.linear(self.norm(h[:, 0]))
        return result


class LanguageModel(nn.Module):
    """Embeddings of texts by exit, and their class scores.

    Attributes:
        depths: number of layers up to each exit.
    """

    def __init__(
        self, vocabulary: int, length: int, width: int, layers: int, heads: int, out: int, classes: int
    ) -> None:
        super().__init__()
        self.depths = exit_depths(layers)
        self.embed = Embed(vocabulary, length, width)
        self.attention = nn.ModuleList(Attention(width, heads) for _ in range(layers))
        self.feed_forward = nn.ModuleList(FeedForward(width) for _ in range(layers))
        self.exits = nn.ModuleList(ExitLayer(width, out) for _ in self.depths)
        self.classify = nn.Linear(out, classes)

    def forward(self, tokens: torch.Tensor, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings ``(b, out)`` of exit ``number`` (from 0) and their class scores; later layers do not run."""
        mask = (tokens != PAD)[:, None, None, :]
        h = self.embed(tokens)
        for attention, feed_forward in zip(
            self.attention[: self.depths[number]], self.feed_forward[: self.depths[number]], strict=True
        ):
            h = feed_forward(attention(h, mask))
        embedding = self.exits[number](h)
        return embedding, self.classify(embedding)

    def compile_dense(self) -> None:
        """Compile each layer; hooks stay outside, so that the model can be paused as before."""
        for layer in (*self.attention, *self.feed_forward):
            layer.forward = torch.compile(layer.forward)

    def units(self) -> Iterator[Unit]:
        """The modules at whose boundaries the model can be paused."""
        yield "embed", self.embed, False
        for i, (attention, feed_forward) in enumerate(zip(self.attention, self.feed_forward, strict=True), 1):
            yield f"attention {i}", attention, True
            yield f"feed-forward {i}", feed_forward, True
        for i, layer in enumerate(self.exits, 1):
            yield f"exit {i}", layer, True


def seeded(seed: int, *sizes: int) -> LanguageModel:
    """A model whose weights depend on ``seed`` alone; PyTorch's global generator is not used."""
    with torch.device("meta"):
        model = LanguageModel(*sizes)
    model.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.fill_(float(name.endswith("weight")))
            elif parameter.dim() == 1:
                parameter.zero_()
            elif name.startswith("embed"):
                parameter.normal_(std=_STD, generator=generator)
            else:
                nn.init.xavier_uniform_(parameter, generator=generator)
    return model
