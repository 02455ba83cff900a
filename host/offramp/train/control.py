# SPDX-License-Identifier: Apache-2.0
"""Which codec a run's messages have, and what Sylvie's controller changes from epoch to epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import torch

from offramp.codecs.features import FeatureCodec, PlainCodec, SampledCodec
from offramp.g3.schedule import SCHEDULES
from offramp.sylvie.adaqp import BASE
from offramp.sylvie.adaqp_codec import AdaqpCodec
from offramp.sylvie.codec import SylvieCodec
from offramp.sylvie.orchestrator import ADAPTIVE, ASYNC, SYNC, Control, Orchestrator
from offramp.sylvie.wire import PLAIN

if TYPE_CHECKING:
    from offramp.g3.engine import HaloEngine
    from offramp.graph.halo_plan import HaloPlan
    from offramp.train.settings import TrainSettings


def open_codec(settings: TrainSettings, plan: HaloPlan, rank: int) -> FeatureCodec:
    """The codec that ``settings`` name, for the worker ``rank``."""
    base = _base(settings)
    codec: FeatureCodec
    if settings.codec == "adaqp":
        codec = AdaqpCodec(rank, settings.seed)
    elif base == PLAIN:
        codec = PlainCodec(getattr(torch, settings.dtype))
    else:
        adaptive = isinstance(base, str)
        codec = SylvieCodec(plan, rank, settings.seed, base=1 if adaptive else int(base), joint=adaptive)
    return SampledCodec(codec, rank, settings.sample, settings.seed) if settings.sample < 1 else codec


class AdaptiveControl:
    """Width and mode of each epoch, the same on every worker: all observe the same loss and time.

    Attributes:
        history: what was observed: loss and seconds of each epoch.
    """

    def __init__(self, control: Control) -> None:
        self._orchestrator = Orchestrator(control)
        self.history: list[tuple[float, float]] = []
        self._engine: HaloEngine | None = None
        self._codec: FeatureCodec | None = None

    @classmethod
    def of(cls, settings: TrainSettings) -> Self:
        """As a run's codec and schedule ask."""
        schedule = SCHEDULES.get(settings.schedule)
        if schedule is None:
            return cls(Control(base=PLAIN, mode=SYNC))
        mode = ADAPTIVE if schedule.adaptive else ASYNC if schedule.stale else SYNC
        return cls(Control(base=_base(settings), mode=mode))

    def govern(self, engine: HaloEngine, codec: FeatureCodec) -> None:
        """Set what the first epoch runs with, and later what :meth:`observe` decides."""
        self._engine, self._codec = engine, codec
        self._apply()

    @property
    def used(self) -> tuple[int, bool]:
        """Bits of the epoch that runs, and whether it takes stale rows."""
        decision = self._orchestrator.decision
        return decision.base, decision.mode == ASYNC

    def observe(self, loss: float, seconds: float) -> None:
        """Take in the loss of the whole graph and the slowest worker's time."""
        self._orchestrator.observe([loss], [seconds])
        self.history.append((loss, seconds))
        self._apply()

    def _apply(self) -> None:
        if self._engine is not None:
            self._engine.stale = self.used[1]
        if isinstance(self._codec, SylvieCodec):
            self._codec.base = self.used[0]


def _base(settings: TrainSettings) -> int | str:
    match settings.codec:
        case "sylvie":
            return ADAPTIVE
        case "adaqp":
            return BASE
        case "q1" | "q2" | "q4" | "q8":
            return int(settings.codec[1:])
        case _:
            return PLAIN
