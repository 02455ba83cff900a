# SPDX-License-Identifier: Apache-2.0
"""The paper's microbenchmark: one all-reduce of every size on every topology (section 6.1, figures 8 and 11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offramp.themis.bound import best_bound, ideal_ps
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Network
from offramp.themis.plan import CHUNKS, Scheduler, make_plan
from offramp.themis.themis import AS_PUBLISHED
from offramp.themis.topologies import PAPER
from offramp_base.progress import counted
from offramp_sim.themis.metrics import utilisation

SIZES_MB = (100, 250, 500, 750, 1000)
"""Sizes from 100 MB to 1 GB; the paper gives only the ends. A megabyte is 10^6 bytes."""

METHODS = tuple(scheduler.value for scheduler in Scheduler)


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One all-reduce: seconds and average utilisation of every scheduler, with the lower bound and the ideal."""

    network: str
    megabytes: int
    seconds: dict[str, float]
    utilisation: dict[str, float]
    bound_s: float
    ideal_s: float


def measure(
    network: Network, size: int, schedulers: Sequence[Scheduler] = tuple(Scheduler), chunks: int = CHUNKS
) -> SweepPoint:
    """Measure all schedulers, as published, on one all-reduce of ``size`` bytes."""
    demand = [Demand(Collective.ALL_REDUCE, size)]
    plans = {s.value: make_plan(network, demand, s, chunks, AS_PUBLISHED) for s in schedulers}
    return SweepPoint(
        network.name,
        round(size / 1e6),
        {name: plan.finish_ps / 1e12 for name, plan in plans.items()},
        {name: utilisation(network, plan.stages(), plan.finish_ps) for name, plan in plans.items()},
        best_bound(network, demand).finish_ps / 1e12,
        ideal_ps(network, demand) / 1e12,
    )


def sweep(
    networks: Sequence[Network] = tuple(PAPER.values()), factor: float = 1.0, chunks: int = CHUNKS
) -> list[SweepPoint]:
    """Measure all topologies and sizes, which are ``factor`` times as large, one after the other."""
    cases = [(network, mb) for network in networks for mb in SIZES_MB]
    schedulers = tuple(Scheduler)
    return [
        measure(network, round(factor * mb * 1e6), schedulers, chunks) for network, mb in counted("all-reduces", cases)
    ]
