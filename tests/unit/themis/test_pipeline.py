# SPDX-License-Identifier: Apache-2.0
"""The coarse simulation: the worked timeline, closed forms of the baseline, and what no execution may do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.themis import themis
from offramp.themis.demand import Demand
from offramp.themis.network import Collective
from offramp.themis.pipeline import ChunkPolicy, execute
from offramp.themis.plan import PAPER_SCHEDULERS, SCHEDULERS, Scheduler, make_plan, replay
from offramp.themis.schedule import split
from offramp.themis.topologies import EXAMPLE, PAPER
from offramp_base.errors import OfframpError
from offramp_sim.themis.metrics import utilisation

from .test_themis import networks

AR = Collective.ALL_REDUCE
BASELINE_UTILISATION = {  # closed form, A = 0 (specification section 8)
    "2D-SW_SW": 63.94,
    "3D-SW_SW_SW_homo": 35.52,
    "3D-SW_SW_SW_hetero": 60.89,
    "3D-FC_Ring_SW": 61.48,
    "4D-Ring_SW_SW_SW": 55.50,
    "4D-Ring_FC_Ring_SW": 62.44,
}


def test_worked_example_takes_seven_units_and_the_baseline_eight():
    sizes = split(256 * 10**6, 4)
    unit = EXAMPLE.dimensions[0].transfer_ps(Collective.REDUCE_SCATTER, 64e6)
    ours = themis.schedule(EXAMPLE, AR, sizes).stages()
    times = {policy: execute(ours, 2, policy).finish_ps / unit for policy in ChunkPolicy}
    assert times == {ChunkPolicy.SCF: 7.0, ChunkPolicy.FIFO: 8.0, ChunkPolicy.SCF_SIZE: 8.0}
    assert execute(themis.baseline(EXAMPLE, AR, sizes).stages(), 2, ChunkPolicy.FIFO).finish_ps == 8 * unit
    timeline = execute(ours, 2, ChunkPolicy.SCF)
    ran = [
        [(op.chunk, op.place, op.start / unit, op.end / unit) for op in timeline.operations if op.dim == dim]
        for dim in (0, 1)
    ]
    # chunk, stage, start, end: the specification's timeline
    assert ran[0][:5] == [(0, 0, 0, 1), (2, 0, 1, 2), (1, 1, 2, 2.25), (1, 2, 2.25, 2.5), (3, 0, 2.5, 3.5)]
    assert [op[:2] for op in ran[0][5:]] == [(0, 3), (2, 3), (3, 3)]
    assert ran[0][-1][3] == 6.5
    assert [op[:2] for op in ran[1]] == [(1, 0), (0, 1), (2, 1), (0, 2), (2, 2), (3, 1), (3, 2), (1, 3)]
    assert ran[1][-1][2:] == (5, 7)
    assert utilisation(EXAMPLE, ours, timeline.finish_ps) == pytest.approx(0.952, abs=5e-4)


@pytest.mark.parametrize("name", PAPER)
def test_the_baseline_is_the_closed_form(name):
    network = PAPER[name]
    shares, before = [], 1.0
    for d in network.dimensions:
        shares.append((1 - 1 / d.size) / before)
        before *= d.size
    closed = 2 * 10**9 * max(b * 8e12 / d.bandwidth_bps for b, d in zip(shares, network.dimensions, strict=True))
    plan = make_plan(network, [Demand(AR, 10**9)], Scheduler.BASELINE)
    delays = 2 * sum(d.fixed_ps(Collective.REDUCE_SCATTER) for d in network.dimensions)
    assert closed <= plan.finish_ps + 64
    assert plan.finish_ps <= closed + delays
    assert 100 * utilisation(network, plan.stages(), plan.finish_ps) == pytest.approx(
        BASELINE_UTILISATION[name], abs=0.05
    )


@pytest.mark.parametrize("name", ["3D-SW_SW_SW_hetero", "4D-Ring_FC_Ring_SW"])
def test_the_baseline_hardly_knows_chunks_and_policies(name):
    times = [
        make_plan(PAPER[name], [Demand(AR, 10**8)], Scheduler.BASELINE, chunks).finish_ps for chunks in (4, 64, 512)
    ]
    assert max(times) / min(times) < 1.01
    stages = themis.baseline(PAPER[name], AR, split(10**8, 64)).stages()
    assert execute(stages, 4, ChunkPolicy.FIFO).finish_ps == execute(stages, 4, ChunkPolicy.SCF).finish_ps


@given(networks(), st.sampled_from(Collective), st.sampled_from(ChunkPolicy), st.integers(1, 10**9), st.integers(1, 30))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_what_no_execution_may_do(network, collective, policy, size, chunks):
    stages = themis.schedule(network, collective, split(size, chunks)).stages()
    timeline = execute(stages, len(network.dimensions), policy)
    assert sorted((op.chunk, op.place) for op in timeline.operations) == [
        (chunk, place) for chunk, pieces in enumerate(stages) for place in range(len(pieces))
    ]
    at: dict[int, int] = {}
    free = [0] * len(network.dimensions)
    for op in timeline.operations:
        stage = stages[op.chunk][op.place]
        assert op.dim == stage.dim
        assert op.end - op.start == stage.busy_ps
        assert op.done - op.end == stage.delay_ps
        assert op.start >= op.ready >= at.get(op.chunk, 0)
        assert op.start >= free[op.dim]
        at[op.chunk] = op.done
        free[op.dim] = op.end
    assert timeline.finish_ps == max(at.values(), default=0)
    assert timeline == execute(stages, len(network.dimensions), policy)


@given(networks(), st.integers(1, 10**9), st.sampled_from(list(Scheduler)[:-1]), st.integers(0, 10**6))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_the_order_of_a_plan_can_always_be_enforced(network, size, scheduler, late):
    if network.npus == 1:
        return
    plan = make_plan(network, [Demand(AR, size)], scheduler, 12)
    assert replay(plan).finish_ps == plan.finish_ps
    delayed = replay(plan, release=[late * (i % 3) for i in range(len(plan.stages()))])
    assert delayed.orders() == plan.orders()  # chunks that come in another order wait for their turn


def test_an_operation_that_is_early_waits_for_its_turn():
    plan = make_plan(EXAMPLE, [Demand(AR, 256 * 10**6)], chunks=4)
    late = replay(plan, release=[10**12, 0, 0, 0])
    assert late.orders() == plan.orders()
    assert min(op.start for op in late.operations if op.dim == 0) == 10**12


def test_orders_that_wait_for_each_other_are_found_out():
    stages = make_plan(EXAMPLE, [Demand(AR, 8000)], chunks=2).stages()
    rank = {(0, 3): 0, (0, 0): 1}  # the last stage of a chunk before its first
    with pytest.raises(OfframpError, match="the simulation ended with 8 operations unfinished"):
        execute(stages, 2, lambda c, i, _: rank.get((c, i), 5 + 4 * c + i), in_turn=True)


def test_the_same_plan_everywhere_has_the_same_digest():
    demand = [Demand(AR, 10**8)]
    digests = {make_plan(PAPER["2D-SW_SW"], demand, s).digest() for s in PAPER_SCHEDULERS for _ in range(2)}
    assert len(digests) == 3


def test_a_plan_for_nothing_is_an_error():
    with pytest.raises(OfframpError, match="plan: expected a collective of at least one byte"):
        make_plan(EXAMPLE, [Demand(AR, 0)])
    with pytest.raises(OfframpError, match="scheduler fast: expected one of balanced, baseline"):
        SCHEDULERS.get("fast")


def test_concurrent_collectives_share_the_dimensions():
    network = PAPER["3D-SW_SW_SW_homo"]
    demands = [Demand(AR, 10**8, (0,)), Demand(AR, 10**8, (1, 2)), Demand(Collective.ALL_GATHER, 10**7)]
    plan = make_plan(network, demands)
    alone = [make_plan(network, [demand]).finish_ps for demand in demands]
    assert max(alone) <= plan.finish_ps <= sum(alone)
    assert {op.dim for op in plan.timeline.operations if op.chunk < 64} == {0}
