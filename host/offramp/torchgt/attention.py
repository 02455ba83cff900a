# SPDX-License-Identifier: Apache-2.0
"""A sequence's attention in a step: by topology, by reformed topology, or full (specification 2.3, 2.5)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.torchgt.dense import dense_attention
from offramp.torchgt.kernel import PatternTensors, sparse_attention
from offramp.torchgt.reformation import Clusters, reform

if TYPE_CHECKING:
    from offramp.torchgt.sequence import Sequence
    from offramp.torchgt.settings import TorchGtSettings


def is_full_step(settings: TorchGtSettings, step: int, conditions_hold: bool | None) -> bool:
    """Whether a step, counted from 0, uses full attention (policies of specification 2.3)."""
    if settings.attention == "full":
        return True
    if not settings.interleaves:
        return False
    if settings.interleave == "periodic":
        return step % settings.period == settings.period - 1
    return settings.interleave == "conditions" and not conditions_hold


class SequenceAttention:
    """The attention of one sequence, called in every layer of a step.

    Attributes:
        is_full: whether the step uses full attention.
    """

    def __init__(self, share: Sequence, settings: TorchGtSettings, device: torch.device | None = None) -> None:
        """``device``: device on which the rank computes; by default main memory."""
        self._sequence, self._settings, self._device = share, settings, device
        self._holds = share.conditions.hold if share.conditions else None
        self._reformed: tuple[float | None, PatternTensors] | None = None
        self._pattern: PatternTensors | None = None
        self.is_full = False

    def begin(self, step: int, beta: float | None) -> None:
        """Choose the attention of training step ``step``; ``beta``: see :meth:`declare`."""
        self._choose(is_full_step(self._settings, step, self._holds), beta)

    def declare(self, beta: float | None) -> None:
        """Choose the attention of an evaluation: that of the steps between periodic full ones, or full attention.

        Args:
            beta: threshold of the density, or an integer step of the tuner's ladder, or None for no reformation.
        """
        periodic = self._settings.interleaves and self._settings.interleave == "periodic"
        declared = not periodic and is_full_step(self._settings, 0, self._holds)
        self._choose(declared or self._settings.evaluate == "full", beta)

    def _choose(self, full: bool, beta: float | None) -> None:
        self.is_full = full
        self._pattern = None if full and self._all_pairs is None else self._all_pairs if full else self._sparse(beta)

    @property
    def pairs(self) -> int:
        """Number of attended pairs in one layer and head."""
        return self._sequence.real**2 if self._pattern is None else self._pattern.pairs

    @property
    def density(self) -> float:
        """β_G, the density of the sequence."""
        return self._clusters.density

    def __call__(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor | None) -> torch.Tensor:
        """Attention of this rank's heads, ``(heads, tokens, d)``."""
        if self._pattern is None:
            return dense_attention(q, k, v, table, self._buckets, self._sequence.real)
        return sparse_attention(q, k, v, table, self._pattern)

    def _sparse(self, beta: float | None) -> PatternTensors:
        if beta is None:
            return self._topology
        threshold = self._clusters.ladder[beta] if isinstance(beta, int) else beta
        if self._reformed is None or self._reformed[0] != threshold:
            sequence, settings = self._sequence, self._settings
            reformed = reform(
                sequence.pattern,
                sequence.bounds,
                threshold,
                sequence.bucket_of,
                block=settings.block,
                placement=settings.placement,
                seed=settings.seed,
            )
            self._reformed = threshold, PatternTensors(reformed, self._device)
        return self._reformed[1]

    @cached_property
    def _clusters(self) -> Clusters:
        return Clusters.of(self._sequence.pattern, self._sequence.bounds)

    @cached_property
    def _topology(self) -> PatternTensors:
        return PatternTensors(self._sequence.pattern, self._device)

    @cached_property
    def _all_pairs(self) -> PatternTensors | None:
        pairs = self._sequence.all_pairs
        return None if pairs is None else PatternTensors(pairs, self._device)

    @cached_property
    def _buckets(self) -> torch.Tensor | None:
        """``(real, real)`` entries of the bias table, if any; they make full attention expensive for Graphormer."""
        if not self._settings.biased:
            return None
        tokens = np.arange(self._sequence.real)
        return torch.from_numpy(self._sequence.bucket_of(*np.meshgrid(tokens, tokens, indexing="ij"))).to(self._device)
