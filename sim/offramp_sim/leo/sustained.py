# SPDX-License-Identifier: Apache-2.0
"""The highest rate of requests that a rule serves without growing queues."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from offramp.leo.selection.capacity import capacity
from offramp.leo.selection.steps import Routes
from offramp_sim.leo.load import RequestLoad
from offramp_sim.leo.simulate import PathRule, simulate

_STEPS: Final = 7


def sustained_mrps(routes: Routes, load: RequestLoad, rule: PathRule, seed: int, *, factor: float = 2.0) -> float:
    """Find, by bisection, the highest rate at which the mean intra-host JCT stays below ``factor`` times the mean T.

    Args:
        routes: the actual paths.
        load: an open loop, whose rate is ignored.
        rule: how paths are chosen.
        seed: seed of the requests.
        factor: over the JCT at almost no load.
    """
    most = capacity(routes.table, load.mix).rate_mrps
    idle = simulate(routes, replace(load, rate_mrps=most / 100), rule, seed=seed).mean_jct_us
    low, high = 0.0, most
    for _ in range(_STEPS):
        rate = (low + high) / 2
        if simulate(routes, replace(load, rate_mrps=rate), rule, seed=seed).mean_jct_us <= factor * idle:
            low = rate
        else:
            high = rate
    return low
