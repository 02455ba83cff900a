# SPDX-License-Identifier: Apache-2.0
"""Plans: what every NPU derives for the collectives of a moment, and can compare with its peers (paper section 4.6)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from offramp.themis import themis
from offramp.themis.balance import Candidate, balanced
from offramp.themis.demand import Demand
from offramp.themis.network import Network
from offramp.themis.pipeline import Policy, Timeline, execute
from offramp.themis.schedule import Schedule, Stage, split
from offramp_base.errors import OfframpError

CHUNKS = 64
"""Per collective, for every scheduler (section 5.3)."""


class Scheduler(StrEnum):
    """Table 3's schedulers that can be executed, and ours."""

    BASELINE = "baseline"
    THEMIS_FIFO = "themis+fifo"
    THEMIS_SCF = "themis+scf"
    THEMIS_SCF_SIZE = "themis+scf-size"
    BALANCED = "balanced"
    """Beyond the paper: :mod:`offramp.themis.balance`."""

    @classmethod
    def named(cls, name: str) -> Scheduler:
        """The scheduler called ``name``.

        Raises:
            OfframpError: there is none.
        """
        try:
            return cls(name)
        except ValueError:
            raise OfframpError(f"scheduler '{name}': expected one of {', '.join(cls)}") from None


PAPER_SCHEDULERS = (Scheduler.BASELINE, Scheduler.THEMIS_FIFO, Scheduler.THEMIS_SCF)

_POLICIES = {
    Scheduler.BASELINE: Policy.FIFO,
    Scheduler.THEMIS_FIFO: Policy.FIFO,
    Scheduler.THEMIS_SCF: Policy.SCF,
    Scheduler.THEMIS_SCF_SIZE: Policy.SCF_SIZE,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Chunks with their orders, and when the coarse simulation runs each operation.

    Attributes:
        network: the whole of it.
        demands: what is carried out.
        scheduler: who made it.
        schedules: one for each demand.
        timeline: chunks are counted through all demands; the order on each dimension is what NPUs enforce.
    """

    network: Network
    demands: tuple[Demand, ...]
    scheduler: Scheduler
    schedules: tuple[Schedule, ...]
    timeline: Timeline

    @property
    def finish_ps(self) -> int:
        """Predicted time until all is done."""
        return self.timeline.finish_ps

    def stages(self) -> list[list[Stage]]:
        """The stages of every chunk, through all demands."""
        return [chunk for schedule in self.schedules for chunk in schedule.stages()]

    def orders(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For every dimension its operations (chunk, stage) in the order that all NPUs keep."""
        return self.timeline.orders()

    def as_json(self) -> dict[str, Any]:
        """What NPUs have to agree on, ready for JSON."""
        return {
            "scheduler": self.scheduler.value,
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
        """32 bytes that differ where two NPUs would act differently."""
        return hashlib.sha256(json.dumps(self.as_json(), separators=(",", ":")).encode()).digest()


def make_plan(
    network: Network,
    demands: Sequence[Demand],
    scheduler: Scheduler = Scheduler.THEMIS_SCF,
    chunks: int = CHUNKS,
    options: themis.Options | None = None,
    unit: int = 1,
) -> Plan:
    """Plan collectives, each in ``chunks`` chunks of whole ``unit`` bytes.

    The paper's schedulers reset the loads for every collective (algorithm 1, line 2); queues are shared.

    Raises:
        OfframpError: nothing to do, or bad input.
    """
    demands = tuple(demands)
    if not any(demand.size for demand in demands):
        raise OfframpError("plan: expected a collective of at least one byte")
    if scheduler is Scheduler.BALANCED:
        best = balanced(network, demands, chunks, options, unit)
        return Plan(network, demands, scheduler, best.schedules, best.timeline)
    made = []
    for demand in demands:
        sizes = split(demand.size, chunks, unit)
        part = demand.part(network)
        if scheduler is Scheduler.BASELINE:
            made.append(themis.baseline(part, demand.collective, sizes))
        else:
            made.append(themis.schedule(part, demand.collective, sizes, options))
    found = Candidate.run(network, demands, tuple(made), _POLICIES[scheduler])
    if any(demand.part(network).npus > 1 for demand in demands) and not found.timeline.finish_ps:
        raise OfframpError("plan: the collectives take no time: expected at least a picosecond")
    return Plan(network, demands, scheduler, found.schedules, found.timeline)


def replay(plan: Plan, **changes: Any) -> Timeline:
    """The plan's chunks in the plan's order on each dimension, with other arguments of ``execute``.

    An operation that is available before its turn waits.
    """
    rank = {operation: i for order in plan.orders() for i, operation in enumerate(order)}
    return execute(plan.stages(), len(plan.network.dimensions), lambda c, i, _: rank[c, i], in_turn=True, **changes)
