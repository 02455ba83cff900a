# SPDX-License-Identifier: Apache-2.0
"""Graph transformers whose ranks share tokens and heads: which pairs attend, and the numbers that travel (TorchGT)."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from offramp.job.floor import StepTraffic
from offramp.job.kind import KINDS, PlacedJob
from offramp.job.training import Training, lossless

if TYPE_CHECKING:
    from offramp.torchgt.settings import TorchGtSettings

_TENSORS: Final = 4
"""Q, K, V and the output."""
_PASSES: Final = 3
"""Forward, backward, and the evaluation's forward."""


class AttentionScheme(StrEnum):
    """The kind of attention, and the type of the numbers that all-to-alls send."""

    FULL = "full"
    TOPOLOGY = "topology"
    REFORMED = "reformed"
    REFORMED_HALF = "reformed+bfloat16"


@KINDS.register("torchgt")
class TransformerJob(Training):
    """Jobs of ``offramp train torchgt``."""

    words = ("train", "torchgt")
    ways = tuple(AttentionScheme)
    options: ClassVar = {
        AttentionScheme.FULL: {"attention": "full", "wire": "dtype"},
        AttentionScheme.TOPOLOGY: {"attention": "topology", "wire": "dtype"},
        AttentionScheme.REFORMED: {"attention": "reformed", "wire": "dtype"},
        AttentionScheme.REFORMED_HALF: {"attention": "reformed", "wire": "bfloat16"},
    }
    lossy = frozenset({AttentionScheme.TOPOLOGY, AttentionScheme.REFORMED, AttentionScheme.REFORMED_HALF})

    def __init__(self) -> None:
        self._tokens: int | None = None

    @cached_property
    def settings_class(self) -> type[TorchGtSettings]:
        """The settings of ``offramp train torchgt``."""
        from offramp.torchgt.settings import TorchGtSettings

        return TorchGtSettings

    def model_s(self, placed: PlacedJob, way: str) -> float:
        """Seconds that all-to-alls keep a host's link busy; attention itself is only known by calibration."""
        lossless(self, placed, way)
        ranks = placed.ranks
        sent = self._of_pair(placed, way) * ranks * (ranks - 1)
        seconds: float = sent / len(placed.hosts) * 8 / placed.slowest_bps
        return placed.job.compute_s + seconds

    def traffic(self, placed: PlacedJob, way: str) -> StepTraffic:
        """The same bytes."""
        return StepTraffic(pair=self._of_pair(placed, way))

    def _of_pair(self, placed: PlacedJob, way: str) -> float:
        """Bytes that each rank sends to each other in an epoch."""
        from offramp.torchgt.task import load_task

        settings = self.settings(placed, way)
        if self._tokens is None:
            self._tokens = load_task(settings).vertices
        size, ranks = settings.size, placed.ranks
        return float(_TENSORS * _PASSES * size.layers * self._tokens / ranks * (size.hidden / ranks) * settings.element)
