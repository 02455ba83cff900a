# SPDX-License-Identifier: Apache-2.0
"""Golden values of the specification that need whole simulations: sections 8, 10, 12 and 14."""

from __future__ import annotations

import random

import pytest

from offramp.themis import themis
from offramp.themis.bound import ideal_ps
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.schedule import split
from offramp.themis.themis import AS_PUBLISHED
from offramp.themis.topologies import PAPER
from offramp_sim.themis.iteration import train
from offramp_sim.themis.metrics import utilisation
from offramp_sim.themis.workload import LayerCollective, TrainingWorkload, WorkloadLayer
from themis_closed_form import closed_form_ps

AR, RS = Collective.ALL_REDUCE, Collective.REDUCE_SCATTER
STUDIED = ("3D-SW_SW_SW_hetero", "4D-Ring_FC_Ring_SW")
ONE_GB_MS = {  # baseline and ideal, section 8
    "2D-SW_SW": (12.5, 7.992),
    "3D-SW_SW_SW_homo": (18.75, 6.660),
    "3D-SW_SW_SW_hetero": (9.375, 5.709),
    "3D-FC_Ring_SW": (10.0, 6.148),
    "4D-Ring_SW_SW_SW": (6.0, 3.330),
    "4D-Ring_FC_Ring_SW": (4.0, 2.498),
}


def still(network: Network) -> Network:
    """The network without fixed delays."""
    return Network(network.name, tuple(Dimension(d.kind, d.size, d.bandwidth_bps) for d in network.dimensions))


def test_one_gigabyte_takes_what_closed_forms_say():
    ratios = []
    for name, (baseline, ideal) in ONE_GB_MS.items():
        network = still(PAPER[name])
        demand = [Demand(AR, 10**9)]
        assert make_plan(network, demand, Scheduler.BASELINE).finish_ps / 1e9 == pytest.approx(baseline, rel=1e-6)
        assert ideal_ps(network, demand) / 1e9 == pytest.approx(ideal, abs=6e-4)
        ratios.append(baseline / ideal)
    assert sum(ratios) / len(ratios) == pytest.approx(1.842, abs=1e-3)


@pytest.mark.parametrize(
    ("chunks", "fifo", "size", "sent"),
    [
        (4, 48.5, 56.1, 56.1),
        (8, 57, 66, 67),
        (16, 74, 76, 90),
        (32, 76, 88, 92),
        (64, 81, 92, 97),
        (128, 91, 97, 99),
        (512, 86, 96, 99),
    ],
)
def test_the_study_of_chunks(chunks, fifo, size, sent):
    """Section 12: mean utilisation of 100 MB on two topologies; few chunks are slower than the baseline."""
    expected = {
        Scheduler.BASELINE: 61.6,
        Scheduler.THEMIS_FIFO: fifo,
        Scheduler.THEMIS_SCF_SIZE: size,
        Scheduler.THEMIS_SCF: sent,
    }
    for scheduler, percent in expected.items():
        plans = [make_plan(PAPER[name], [Demand(AR, 10**8)], scheduler, chunks, AS_PUBLISHED) for name in STUDIED]
        mean = sum(utilisation(plan.network, plan.stages(), plan.finish_ps) for plan in plans) / len(plans)
        assert 100 * mean == pytest.approx(percent, abs=0.6)


@pytest.mark.parametrize(
    ("waiting", "themis_gain", "ideal_gain"), [(7.5, 2.25, 2.34), (2.2, 1.77, 1.81), (1.17, 1.52, 1.54)]
)
def test_shares_of_communication_give_the_papers_speed_ups(waiting, themis_gain, ideal_gain):
    """Section 10: an iteration whose baseline waits that many times its computation, on 3D-SW_SW_SW_homo."""
    network = PAPER["3D-SW_SW_SW_homo"]
    exchange = LayerCollective(AR, 10**9, blocking=True)
    alone = make_plan(network, [Demand(AR, 10**9)], Scheduler.BASELINE).finish_ps
    workload = TrainingWorkload("one", (WorkloadLayer("a", round(alone / waiting), weight=(exchange,)),))
    base = train(workload, network, Scheduler.BASELINE).total
    assert base / train(workload, network, Scheduler.THEMIS_SCF).total == pytest.approx(themis_gain, rel=0.02)
    assert base / train(workload, network, None).total == pytest.approx(ideal_gain, rel=0.02)


def test_loads_end_near_the_least_that_any_mix_of_orders_reaches():
    """Section 11: 1,024 chunks, no delays, random networks: never below the bound, and at most 3.1 % above it."""
    draw = random.Random(5)
    for _ in range(25):
        sizes = [draw.choice([2, 4, 8, 16]) for _ in range(draw.randint(2, 4))]
        rates = sorted((draw.uniform(50e9, 2000e9) for _ in sizes), reverse=True)
        network = Network(
            "random", tuple(Dimension(DimensionTopology.SWITCH, p, r) for p, r in zip(sizes, rates, strict=True))
        )
        tracker = themis.Tracker([0] * len(sizes))
        themis.schedule(network, RS, split(2**30, 1024), tracker=tracker)
        least = closed_form_ps(network, RS, 2**30)
        assert least * (1 - 1e-6) <= max(tracker.loads) <= 1.032 * least


def test_imbalance_and_orders_that_are_used():
    """Section 12: the imbalance that the greedy schedule leaves, and the orders it uses, at 1 GB without delays."""
    for name, network in PAPER.items():
        for chunks, low, high in ((64, 0.017, 0.057), (4, 0.38, 0.74)):
            tracker = themis.Tracker([0] * len(network.dimensions))
            themis.schedule(still(network), AR, split(10**9, chunks), tracker=tracker)
            left = (max(tracker.loads) - min(tracker.loads)) / max(tracker.loads)
            assert low <= left <= high, name
        used = {chunk.reduce for chunk in themis.schedule(network, AR, split(10**9, 64)).chunks}
        assert len(used) == {2: 2, 3: 6, 4: 18}[len(network.dimensions)]


def test_equal_dimensions_can_change_places():
    """Section 14.13."""
    a, b = Dimension(DimensionTopology.SWITCH, 8, 800e9, 700), Dimension(DimensionTopology.SWITCH, 4, 400e9, 700)
    times = [
        make_plan(Network("n", dims), [Demand(AR, 10**8)], Scheduler.BALANCED).finish_ps
        for dims in ((a, a, b), (b, a, a), (a, b, a))
    ]
    assert max(times) / min(times) < 1.01
