# SPDX-License-Identifier: Apache-2.0
"""NPUs with jitter: with an enforced order they always finish; in order of arrival they can deadlock."""

from __future__ import annotations

import pytest

from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.plan import Scheduler, make_plan
from offramp_base.errors import OfframpError
from themis_npus import run_npus

NETWORK = Network("2x2x2", tuple(Dimension(DimensionTopology.SWITCH, 2, bps) for bps in (100e9, 60e9, 40e9)))
PLAN = make_plan(NETWORK, [Demand(Collective.ALL_REDUCE, 10**7)], Scheduler.THEMIS_SCF, 12)


def test_without_jitter_all_npus_take_what_the_representative_takes():
    assert run_npus(PLAN, 0) == PLAN.finish_ps


@pytest.mark.parametrize("scheduler", Scheduler)
@pytest.mark.parametrize("seed", range(4))
def test_with_jitter_the_enforced_order_ends(scheduler, seed):
    plan = make_plan(NETWORK, [Demand(Collective.ALL_REDUCE, 10**7)], scheduler, 12)
    jitter = plan.finish_ps // 10
    assert plan.finish_ps <= run_npus(plan, jitter, seed) <= plan.finish_ps + jitter * 12 * 6


def test_without_enforcement_npus_wait_for_each_other():
    assert any(deadlocks(seed) for seed in range(10))


def deadlocks(seed):
    try:
        run_npus(PLAN, PLAN.finish_ps // 10, seed, enforce=False)
    except OfframpError as error:
        return "deadlock: NPUs wait for each other" in str(error)
    return False
