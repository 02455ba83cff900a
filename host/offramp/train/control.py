# SPDX-License-Identifier: Apache-2.0
"""The codec of a run's messages, and what Sylvie's controller changes from epoch to epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from offramp.codecs.base import CODECS, UNCOMPRESSED
from offramp.codecs.sampled import SampledCodec
from offramp.g3.schedule import SCHEDULES
from offramp.sylvie.descent import DescentRule
from offramp.sylvie.orchestrator import ADAPTIVE, ASYNC, SYNC, Orchestrator, OrchestratorSettings

if TYPE_CHECKING:
    from offramp.codecs.base import Coding
    from offramp.g3.engine import HaloEngine
    from offramp.graph.halo_plan import HaloPlan
    from offramp.train.settings import TrainSettings


def open_codec(settings: TrainSettings, plan: HaloPlan, rank: int) -> Coding:
    """The codec that ``settings`` name, for the worker ``rank``."""
    codec = CODECS.get(settings.codec).of(settings, plan, rank)
    return SampledCodec(codec, rank, settings.sample, settings.seed) if settings.sample < 1 else codec


class AdaptiveControl:
    """Width and mode of each epoch, the same on every worker, since all observe the same loss and time.

    Attributes:
        history: observed loss and seconds of each epoch.
    """

    def __init__(self, mode: str, bits: int | None = UNCOMPRESSED, lag: int = DescentRule.lag) -> None:
        """Create the control of a run.

        Args:
            mode: one of :data:`offramp.sylvie.orchestrator.MODES`.
            bits: bits of each epoch; None: Sylvie decides.
            lag: epochs over which rates of descent are compared.
        """
        control = OrchestratorSettings(base=ADAPTIVE if bits is None else UNCOMPRESSED, mode=mode, lag=lag)
        self._orchestrator = Orchestrator(control)
        self._bits = bits
        self.history: list[tuple[float, float]] = []
        self._engine: HaloEngine | None = None
        self._codec: Coding | None = None

    @classmethod
    def of(cls, settings: TrainSettings) -> Self:
        """The control for a run's codec and schedule."""
        schedule = SCHEDULES.get(settings.schedule)
        if schedule is None:
            return cls(SYNC)
        mode = ADAPTIVE if schedule.adaptive else ASYNC if schedule.stale else SYNC
        return cls(mode, CODECS.get(settings.codec).bits, settings.descent_lag)

    def govern(self, engine: HaloEngine, codec: Coding) -> None:
        """Apply the first epoch's settings, and from then on those that :meth:`observe` decides."""
        self._engine, self._codec = engine, codec
        self._apply()

    @property
    def used(self) -> tuple[int, bool]:
        """Bits of the current epoch, and whether it uses stale rows."""
        decision = self._orchestrator.decision
        return self._bits or decision.base, decision.mode == ASYNC

    def observe(self, loss: float, seconds: float) -> None:
        """Record the loss of the whole graph and the slowest worker's time."""
        self._orchestrator.observe([loss], [seconds])
        self.history.append((loss, seconds))
        self._apply()

    def _apply(self) -> None:
        if self._engine is not None:
            self._engine.stale = self.used[1]
        if self._codec is not None:
            self._codec.set_bits(self.used[0])
