# SPDX-License-Identifier: Apache-2.0
"""A graph neural network in a pipeline with a language model: when that one runs (UniTG)."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from offramp.job.floor import StepTraffic
from offramp.job.kind import KINDS, PlacedJob
from offramp.job.training import Training, result_of

if TYPE_CHECKING:
    from offramp.unitg.settings import UnitgSettings

_FLOAT_BYTES: Final = 4


class PipelineScheme(StrEnum):
    """The schedule of the language model."""

    SEQUENTIAL = "sequential"
    COLOCATED = "colocated"
    INTERLEAVED = "interleaved"


@KINDS.register("unitg")
class PipelineJob(Training):
    """``offramp train unitg``; a step is an epoch with its share of the language model's work."""

    words = ("train", "unitg")
    workers = "stages"
    ways = tuple(PipelineScheme)
    options: ClassVar = {way: {"mode": str(way)} for way in PipelineScheme}

    def __init__(self) -> None:
        self._vertices: int | None = None

    @cached_property
    def settings_class(self) -> type[UnitgSettings]:
        """The settings of ``offramp train unitg``."""
        from offramp.unitg.settings import UnitgSettings

        return UnitgSettings

    def rounds(self, placed: PlacedJob, rounds: int | None) -> dict[str, Any]:
        """Options for an equal share of both models' epochs, as many of the language model's as go with ``rounds``."""
        if rounds is None:
            return {}
        settings = self.settings(placed, self.ways[0])
        of_text = max(1, round(settings.lm_epochs * rounds / settings.epochs))
        return {"epochs": max(1, round(settings.epochs * of_text / settings.lm_epochs)), "lm_epochs": of_text}

    def model_s(self, placed: PlacedJob, way: str) -> float:
        """Seconds that activations and gradients keep a link busy; calibration determines what fits in bubbles."""
        sent = 2 * self._activations(placed, way) if placed.ranks > 1 else 0
        return placed.job.compute_s + sent * 8 / placed.slowest_bps

    def traffic(self, placed: PlacedJob, way: str) -> StepTraffic:
        """Activations from each stage to the next one, and as many bytes of gradients back."""
        sent = self._activations(placed, way)
        return StepTraffic(between=sent * (np.eye(placed.ranks, k=1) + np.eye(placed.ranks, k=-1)))

    def _activations(self, placed: PlacedJob, way: str) -> int:
        """Bytes of one layer's activations of all vertices."""
        settings = self.settings(placed, way)
        if self._vertices is None:
            self._vertices = settings.load().vertices
        return int(self._vertices * settings.hidden * _FLOAT_BYTES)

    def step_s(self, folder: Path) -> float | None:
        """Seconds per epoch of the whole run, which ends when the language model does; None without a result."""
        result = result_of(folder)
        return float(result["seconds"]) / int(result["epochs"]) if result else None
