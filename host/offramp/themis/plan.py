# SPDX-License-Identifier: Apache-2.0
"""Plans, which every NPU derives for concurrent collectives and can compare with its peers (paper section 4.6)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from offramp.themis import themis
from offramp.themis.balance import balanced
from offramp.themis.candidate import Candidate
from offramp.themis.demand import Demand
from offramp.themis.network import Network
from offramp.themis.pipeline import ChunkPolicy, Key, Timeline, execute
from offramp.themis.schedule import ChunkOperation, ChunkSchedule, split
from offramp.themis.single import or_single_order
from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

CHUNKS = 64
"""Chunks per collective, for every scheduler (section 5.3)."""


class Scheduler(StrEnum):
    """Executable schedulers: those of table 3, and this project's own."""

    BASELINE = "baseline"
    THEMIS_FIFO = "themis+fifo"
    THEMIS_SCF = "themis+scf"
    THEMIS_SCF_SIZE = "themis+scf-size"
    BALANCED = "balanced"
    """A scheduler beyond the paper: :mod:`offramp.themis.balance`."""


PAPER_SCHEDULERS = (Scheduler.BASELINE, Scheduler.THEMIS_FIFO, Scheduler.THEMIS_SCF)

MakeCandidate = Callable[[Network, tuple[Demand, ...], int, "themis.ThemisOptions | None", int], Candidate]
"""Makes schedules and a timeline for demands on a network, given the number of chunks of each, options, and the bytes
of which chunks are multiples."""

EXECUTED: Final = Scheduler.BALANCED
"""The scheduler of executors, and so of those who predict what they take."""
EXECUTED_CHUNKS: Final = 16
"""The same of chunks: fewer than in hardware, since an operation over sockets costs a millisecond of processor time."""

SCHEDULERS: Final[Registry[MakeCandidate]] = Registry("scheduler", "offramp.collective_schedulers")


def schedulers() -> list[str]:
    """Names of all schedulers: the paper's and this project's, then those of other packages."""
    ours = [each.value for each in Scheduler]
    return [*ours, *(name for name in SCHEDULERS.names() if name not in ours)]


@dataclass(frozen=True, slots=True)
class CollectivePlan:
    """Chunks with their orders, and the coarse simulation's time of each operation.

    Attributes:
        network: the whole network.
        demands: the collectives.
        scheduler: name of the scheduler that made it.
        schedules: one for each demand.
        timeline: simulated operations; chunks are numbered through all demands, and NPUs enforce the order on each
            dimension.
    """

    network: Network
    demands: tuple[Demand, ...]
    scheduler: str
    schedules: tuple[ChunkSchedule, ...]
    timeline: Timeline

    @property
    def finish_ps(self) -> int:
        """Predicted time until everything is done, in picoseconds."""
        return self.timeline.finish_ps

    def stages(self) -> list[list[ChunkOperation]]:
        """The stages of every chunk, through all demands."""
        return [chunk for schedule in self.schedules for chunk in schedule.stages()]

    def orders(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For every dimension, its operations (chunk, stage) in the order that all NPUs keep."""
        return self.timeline.orders()

    def as_json(self) -> dict[str, Any]:
        """The parts of the plan on which all NPUs have to agree, as a value for JSON."""
        return {
            "scheduler": str(self.scheduler),
            "sizes": [d.size for d in self.network.dimensions],
            "collectives": [
                {
                    "collective": demand.collective.value,
                    "bytes": demand.size,
                    "chunks": [[chunk.size, chunk.reduce, chunk.gather] for chunk in schedule.chunks],
                }
                for demand, schedule in zip(self.demands, self.schedules, strict=True)
            ],
            "orders": self.orders(),
        }

    def digest(self) -> bytes:
        """Digest of 32 bytes that differs if two NPUs would act differently."""
        return hashlib.sha256(json.dumps(self.as_json(), separators=(",", ":")).encode()).digest()


def make_plan(
    network: Network,
    demands: Sequence[Demand],
    scheduler: str = Scheduler.THEMIS_SCF,
    chunks: int = CHUNKS,
    options: themis.ThemisOptions | None = None,
    unit: int = 1,
) -> CollectivePlan:
    """Plan collectives, each in ``chunks`` chunks of whole ``unit`` bytes.

    The paper's schedulers reset the loads for every collective (algorithm 1, line 2); queues are shared.

    Raises:
        OfframpError: there is nothing to do, or the input is invalid.
    """
    demands = tuple(demands)
    if not any(demand.size for demand in demands):
        raise OfframpError("plan: expected a collective of at least one byte")
    result = SCHEDULERS.get(str(scheduler))(network, demands, chunks, options, unit)
    if any(demand.part(network).npus > 1 for demand in demands) and not result.timeline.finish_ps:
        raise OfframpError("plan: the collectives take no time: expected at least a picosecond")
    return CollectivePlan(network, demands, scheduler, result.schedules, result.timeline)


def _by(policy: ChunkPolicy, *, baseline: bool = False) -> MakeCandidate:
    def make(
        network: Network, demands: tuple[Demand, ...], chunks: int, options: themis.ThemisOptions | None, unit: int
    ) -> Candidate:
        schedules = []
        for demand in demands:
            part, sizes = demand.part(network), split(demand.size, chunks, unit)
            if baseline:
                schedules.append(themis.baseline(part, demand.collective, sizes))
            else:
                schedules.append(themis.schedule(part, demand.collective, sizes, options))
        candidate = Candidate.run(network, demands, tuple(schedules), policy)
        return candidate if baseline else or_single_order(candidate, network, demands, chunks, options, unit)

    return make


SCHEDULERS.register(Scheduler.BASELINE.value)(_by(ChunkPolicy.FIFO, baseline=True))
SCHEDULERS.register(Scheduler.THEMIS_FIFO.value)(_by(ChunkPolicy.FIFO))
SCHEDULERS.register(Scheduler.THEMIS_SCF.value)(_by(ChunkPolicy.SCF))
SCHEDULERS.register(Scheduler.THEMIS_SCF_SIZE.value)(_by(ChunkPolicy.SCF_SIZE))
SCHEDULERS.register(Scheduler.BALANCED.value)(balanced)


def replay(plan: CollectivePlan, **changes: Any) -> Timeline:
    """Run the plan's chunks in the plan's order on each dimension, with other arguments of ``execute``.

    An operation that is available before its turn waits.
    """
    rank = {operation: i for order in plan.orders() for i, operation in enumerate(order)}
    key: Key = lambda c, i, _: rank[c, i]  # noqa: E731
    dims, at_once = len(plan.network.dimensions), plan.network.at_once
    return execute(plan.stages(), dims, key, in_turn=True, at_once=at_once, **changes)
