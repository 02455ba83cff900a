# SPDX-License-Identifier: Apache-2.0
"""Schedules beside their simulated timeline, which schedulers compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offramp.themis.demand import Demand
from offramp.themis.network import Network
from offramp.themis.pipeline import ChunkPolicy, Key, Timeline, execute
from offramp.themis.schedule import ChunkSchedule


@dataclass(frozen=True, slots=True)
class Candidate:
    """Schedules of all demands, and how they would run."""

    schedules: tuple[ChunkSchedule, ...]
    timeline: Timeline

    @classmethod
    def run(
        cls,
        network: Network,
        demands: Sequence[Demand],
        schedules: tuple[ChunkSchedule, ...],
        policy: ChunkPolicy | Key,
    ) -> Candidate:
        """Simulate schedules of demands on a network."""
        stages, release = [], []
        for demand, schedule in zip(demands, schedules, strict=True):
            pieces = schedule.stages()
            stages += pieces
            release += [demand.release_ps] * len(pieces)
        return cls(schedules, execute(stages, len(network.dimensions), policy, release, at_once=network.at_once))
