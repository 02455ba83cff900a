# SPDX-License-Identifier: Apache-2.0
"""The six models of table 5.5, and what their layers hold, compute and send (specification section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class DecoderTransformer:
    """A decoder-only transformer.

    Attributes:
        layers, hidden, heads, kv_heads, vocabulary: as in the model's card.
        ffn: width of the dense MLP, or of one expert.
        gated: whether the MLP has three matrices (SwiGLU) in place of two (GELU).
        experts, top_k: routed experts, and how many of them a token visits; 0 for a dense model.
        shared_ffn: width of the expert that every token visits.
        tied: whether input and output embedding are one matrix.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    vocabulary: int
    ffn: int
    gated: bool = True
    experts: int = 0
    top_k: int = 0
    shared_ffn: int = 0
    tied: bool = False

    @property
    def attention_parameters(self) -> int:
        """Parameters of a layer's attention: queries, keys, values, output."""
        return 2 * self.hidden * self.hidden * (self.heads + self.kv_heads) // self.heads

    def _mlp(self, width: int) -> int:
        return (3 if self.gated else 2) * self.hidden * width

    @property
    def expert_parameters(self) -> int:
        """Parameters of one routed expert; 0 for a dense model."""
        return self._mlp(self.ffn) if self.experts else 0

    @property
    def dense_parameters(self) -> int:
        """Parameters of a layer without the routed experts: attention, gate, shared expert or dense MLP."""
        gate = self.hidden * self.experts
        return self.attention_parameters + gate + self._mlp(self.shared_ffn if self.experts else self.ffn)

    @property
    def active_ffn_parameters(self) -> int:
        """Parameters that a token uses in a layer besides those of attention."""
        return self.top_k * self._mlp(self.ffn) + self._mlp(self.shared_ffn) if self.experts else self._mlp(self.ffn)

    @property
    def parameters(self) -> int:
        """Parameters of the whole model with its embeddings."""
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.layers * (self.dense_parameters + self.experts * self.expert_parameters) + embeddings

    @property
    def active_parameters(self) -> int:
        """Parameters that a token visits, over all layers."""
        return self.layers * (self.attention_parameters + self.active_ffn_parameters)

    def attention_flops(self, tokens: int, sequence: int) -> float:
        """Operations of causal attention in a layer's forward pass."""
        return 2.0 * tokens * self.attention_parameters + 2.0 * tokens * sequence * self.hidden

    def ffn_flops(self, tokens: int) -> float:
        """Operations of the experts or the MLP in a layer's forward pass."""
        return 2.0 * tokens * self.active_ffn_parameters


@dataclass(frozen=True, slots=True)
class Preset:
    """A row of table 5.5: a model and the parallelism that the thesis runs it with."""

    model: DecoderTransformer
    gpus: int
    pp: int
    tp: int
    ep: int
    sequence: int
    micro_batch: int
    simulated: bool


def _qwen(name: str, layers: int) -> DecoderTransformer:
    return DecoderTransformer(name, layers, 2048, 16, 16, 151936, 1408, experts=64, top_k=4, shared_ffn=5632)


def _mixtral(name: str, hidden: int, heads: int, ffn: int) -> DecoderTransformer:
    return DecoderTransformer(name, 32, hidden, heads, 8, 32000, ffn, experts=8, top_k=2)


def _gpt(name: str, layers: int, hidden: int, heads: int) -> DecoderTransformer:
    return DecoderTransformer(name, layers, hidden, heads, heads, 51200, 4 * hidden, gated=False, tied=True)


PRESETS: Final = {
    preset.model.name: preset
    for preset in (
        Preset(_qwen("qwen-moe-12l", 12), 32, 4, 1, 8, 4096, 4, simulated=False),
        Preset(_mixtral("mixtral-8x7b", 4096, 32, 14336), 32, 2, 1, 8, 4096, 4, simulated=False),
        Preset(_gpt("gpt3-13b", 40, 5120, 40), 32, 4, 4, 1, 2048, 4, simulated=False),
        Preset(_qwen("qwen-moe-24l", 24), 1024, 8, 8, 32, 4096, 8, simulated=True),
        Preset(_mixtral("mixtral-8x22b", 6144, 48, 16384), 1024, 8, 8, 8, 4096, 8, simulated=True),
        Preset(_gpt("gpt3-175b", 96, 12288, 96), 1024, 8, 8, 1, 2048, 8, simulated=True),
    )
}


def preset(name: str) -> Preset:
    """A row of table 5.5.

    Raises:
        OfframpError: there is no such model.
    """
    try:
        return PRESETS[name]
    except KeyError:
        raise OfframpError(f"model {name}: expected one of {', '.join(PRESETS)}") from None
