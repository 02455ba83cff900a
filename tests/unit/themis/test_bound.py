# SPDX-License-Identifier: Apache-2.0
"""The linear bound: closed form and program agree, nothing is faster, and the balanced scheduler comes close."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.themis.bound import best_bound, ideal_ps
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.schedule import active
from offramp.themis.themis import AS_PUBLISHED
from offramp.themis.topologies import PAPER
from offramp_base.errors import OfframpError
from offramp_sim.themis.metrics import utilisation
from themis_closed_form import closed_form_ps

from .test_themis import networks

AR = Collective.ALL_REDUCE
LINEAR = [c for c in Collective if c is not Collective.ALL_TO_ALL]


@pytest.mark.full
@given(networks(), st.sampled_from(LINEAR), st.integers(10**3, 10**10))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_program_and_closed_form_agree(network, collective, size):
    bound = best_bound(network, [Demand(collective, size)])
    assert bound.transfer_ps == pytest.approx(closed_form_ps(network, collective, size), rel=1e-9, abs=1e-6)
    assert bound.finish_ps >= bound.transfer_ps * (1 - 1e-9)
    if active(network):
        assert sum(bound.mix[0].values()) == pytest.approx(1, abs=1e-6)


@pytest.mark.full
@given(
    st.lists(
        st.builds(
            Dimension,
            st.sampled_from(DimensionTopology),
            st.sampled_from([2, 4, 8]),
            st.sampled_from([100e9, 400e9, 1600e9]),
            st.sampled_from([0.0, 700.0]),
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(Collective),
    st.sampled_from([10**5, 10**8]),
    st.sampled_from([1, 3, 16]),
)
@settings(derandomize=True, max_examples=40, deadline=None)
def test_nothing_beats_the_bound_and_balanced_is_never_behind_themis(dims, collective, size, chunks):
    network = Network("random", tuple(dims))
    demand = [Demand(collective, size)]
    bound = best_bound(network, demand).finish_ps
    times = {s: make_plan(network, demand, s, chunks).finish_ps for s in Scheduler}
    slack = 2 * len(dims) * chunks  # each operation is rounded to a picosecond
    assert all(time >= bound * (1 - 1e-9) - slack for time in times.values())
    assert times[Scheduler.BALANCED] <= times[Scheduler.THEMIS_SCF]


@pytest.mark.parametrize(
    ("sizes", "gbps", "baseline", "themis", "bound"),
    [
        ((4, 4), (200, 100), 83.3, 99.7, 100.0),
        ((4, 4), (400, 100), 98.46, 98.46, 100.0),
        ((4, 4), (800, 100), 55.1, 55.1, 55.6),
        ((4, 4), (100, 400), 25.0, 95.5, 100.0),
        ((4, 4), (100, 10000), 1.2, 4.7, 4.95),
        ((16, 64), (1200, 100), 98.4, 99.9, 100.0),
    ],
)
def test_provisioning(sizes, gbps, baseline, themis, bound):
    """Specification section 11: 64 chunks, no fixed delay."""
    network = Network(
        "2D", tuple(Dimension(DimensionTopology.SWITCH, p, g * 1e9) for p, g in zip(sizes, gbps, strict=True))
    )
    demand = [Demand(AR, 10**9)]
    percent = {}
    for scheduler in (Scheduler.BASELINE, Scheduler.THEMIS_SCF, Scheduler.BALANCED):
        plan = make_plan(network, demand, scheduler, options=AS_PUBLISHED)
        percent[scheduler] = 100 * utilisation(network, plan.stages(), plan.finish_ps)
    best = 100 * ideal_ps(network, demand) / best_bound(network, demand).finish_ps
    assert best == pytest.approx(bound, abs=0.06)
    assert percent[Scheduler.BASELINE] == pytest.approx(baseline, abs=0.06)
    assert percent[Scheduler.THEMIS_SCF] == pytest.approx(themis, abs=0.06)
    assert themis - 0.06 <= percent[Scheduler.BALANCED] <= best + 1e-6


@pytest.mark.parametrize("name", PAPER)
def test_all_of_the_papers_networks_can_be_filled(name):
    network = PAPER[name]
    assert closed_form_ps(network, AR, 10**9) == pytest.approx(ideal_ps(network, [Demand(AR, 10**9)]), rel=1e-9)


@pytest.mark.full
@pytest.mark.parametrize("chunks", [4, 8])
def test_few_chunks_are_where_balanced_gains_most(chunks):
    gains = []
    for network in PAPER.values():
        demand = [Demand(AR, 10**8)]
        ours, theirs = (
            make_plan(network, demand, s, chunks, AS_PUBLISHED).finish_ps
            for s in (Scheduler.BALANCED, Scheduler.THEMIS_SCF)
        )
        assert ours < theirs
        gains.append(theirs / ours)
    assert sum(gains) / len(gains) > (1.4 if chunks == 4 else 1.15)


def test_an_in_network_dimension_wants_to_be_last():
    dims = (Dimension(DimensionTopology.SWITCH, 8, 400e9, 700), Dimension(DimensionTopology.IN_NETWORK, 8, 400e9, 700))
    reducing = Network("reducing", dims)
    plain = Network("plain", (dims[0], Dimension(DimensionTopology.SWITCH, 8, 400e9, 700)))
    demand = [Demand(AR, 10**8)]
    assert best_bound(reducing, demand).finish_ps < best_bound(plain, demand).finish_ps
    plan = make_plan(reducing, demand, Scheduler.BALANCED)
    assert plan.finish_ps == pytest.approx(best_bound(reducing, demand).finish_ps, rel=1e-3)
    kinds = {stage.stage for chunk in plan.stages() for stage in chunk}
    assert AR in kinds


def test_concurrent_collectives_have_a_bound_together():
    network = PAPER["3D-SW_SW_SW_homo"]
    demands = [Demand(AR, 10**8, (0, 1)), Demand(AR, 3 * 10**8, (1, 2))]
    bound = best_bound(network, demands).finish_ps
    times = {s: make_plan(network, demands, s).finish_ps for s in (Scheduler.THEMIS_SCF, Scheduler.BALANCED)}
    assert bound <= times[Scheduler.BALANCED] <= times[Scheduler.THEMIS_SCF]
    assert times[Scheduler.BALANCED] < 1.02 * bound


def test_no_closed_form_for_what_is_another_polytope():
    with pytest.raises(OfframpError, match="closed form of the bound"):
        closed_form_ps(PAPER["2D-SW_SW"], Collective.ALL_TO_ALL, 100)
