# SPDX-License-Identifier: Apache-2.0
"""Whole jobs: closed forms, and orders that must hold between policies. Blind to the size of real gains."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from offramp.fabric import fabric_of, make_cluster
from offramp.hermod.build import build, job_dag
from offramp.hermod.dag import Coflow, Compute, Dag, Flows
from offramp.hermod.factors import CType, Factors
from offramp.hermod.job import HermodJob, named_job
from offramp.hermod.models import DecoderTransformer
from offramp.hermod.placement import Placement
from offramp.hermod.traffic import JobTraffic
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow import alltoall
from offramp_sim.hermod.flow.bars import LANES, bars
from offramp_sim.hermod.flow.concurrency import concurrent
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.network import load
from offramp_sim.hermod.flow.policies import NAMES
from offramp_sim.hermod.flow.routed import RoutedFabric
from offramp_sim.hermod.flow.simulate import FlowResult, simulate
from offramp_sim.hermod.flow.study import SimulationSetup, compare

SPARSE = DecoderTransformer("sparse", 8, 256, 4, 4, 100, 1024, experts=4, top_k=2)


def job(**changes: object) -> HermodJob:
    given = {
        "gpus": 16,
        "pp": 2,
        "ep": 4,
        "micro_batches": 4,
        "gpus_per_server": 2,
        "nics_per_server": 2,
        "nic_gbps": 5,
    }
    return HermodJob(SPARSE, **{**given, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(("pp", "chunks"), [(2, 2), (4, 2)])
def test_interleaving_shrinks_the_bubble_by_the_number_of_chunks(pp: int, chunks: int) -> None:
    model = DecoderTransformer("dense", 16, 256, 4, 4, 100, 1024)
    given = {"gpus": pp, "micro_batches": 8, "gpus_per_server": 1, "nics_per_server": 1, "nic_gbps": 1e9}
    times = {
        v: compare(
            HermodJob(model, pp=pp, schedule="interleaved" if v > 1 else "1f1b", chunks=v, **given),  # type: ignore[arg-type]
            ("fair",),
            SimulationSetup(iterations=2),
        )["fair"].iteration_ends[0]
        for v in (1, chunks)
    }
    work = 8 * 3 * 16 / pp * sum(HermodJob(model, pp=pp, **given).layer_seconds())  # type: ignore[arg-type]
    assert times[1] == pytest.approx(work * (1 + (pp - 1) / 8), rel=1e-3)
    assert times[chunks] == pytest.approx(work * (1 + (pp - 1) / (8 * chunks)), rel=1e-3)


@pytest.mark.parametrize("policy", NAMES)
def test_every_policy_ends_and_respects_the_dag(policy: str) -> None:
    outcome = compare(job(imbalance=0.5), (policy,), SimulationSetup(iterations=2))[policy]
    _respected(outcome)


def _respected(outcome: FlowResult) -> None:
    tasks = outcome.loaded.dag.tasks
    slack = 1e-6
    for k, task in enumerate(tasks):
        ready = max((outcome.end[b] for b in task.waits), default=0.0)
        assert outcome.start[k] == pytest.approx(ready, abs=1e-12)
        if isinstance(task, Compute):
            assert outcome.end[k] - outcome.start[k] == pytest.approx(task.seconds, abs=slack)
        else:
            assert outcome.end[k] - outcome.start[k] >= _alone(outcome, task) - slack


def _alone(outcome: FlowResult, coflow: Coflow) -> float:
    """Time that its busiest link needs for it."""
    fabric = outcome.loaded.fabric
    _, resource, amount = fabric.route(coflow.flows, coflow.ctype)
    return float(np.bincount(resource, amount).max() / fabric.bytes_per_s) if len(resource) else 0.0


def test_no_link_carries_more_than_it_can() -> None:
    outcome = compare(job(), ("fair",), SimulationSetup(iterations=2))["fair"]
    fabric = outcome.loaded.fabric
    total = np.zeros(fabric.resources)
    for _, coflow in outcome.loaded.dag.coflows():
        _, resource, amount = fabric.route(coflow.flows, coflow.ctype)
        np.add.at(total, resource, amount)
    assert (total / fabric.bytes_per_s <= outcome.end.max() + 1e-9).all()


def test_all_gain_is_lost_with_the_upper_bits_and_kept_with_the_split_map() -> None:
    dense = named_job("gpt3-13b", nic_gbps=25)
    seconds = {
        (scheme, queues): compare(dense, ("hermod",), SimulationSetup(queues=queues, scheme=scheme))[
            "hermod"
        ].iteration_s
        for scheme, queues in itertools.product(("split", "msb"), (2, 8))
    }
    fair = compare(dense, ("fair", "hermod"), SimulationSetup())
    exact = fair["hermod"].iteration_s
    base = fair["fair"].iteration_s
    assert exact < 0.92 * base
    for queues in (2, 8):
        assert seconds["split", queues] < base - 0.9 * (base - exact)
        assert seconds["msb", queues] > base - 0.35 * (base - exact)


def test_spraying_meets_no_link_but_the_nics() -> None:
    placement = Placement.of(named_job("mixtral-8x22b"))
    spray, ecmp = (BisectionFabric.of(placement, 100, routing) for routing in ("spray", "ecmp"))
    flows = Flows(np.array([0, 5]), np.array([100, 6]), np.array([10.0, 10.0]))
    assert set(spray.route(flows, CType.PP)[1]) == {0, 5, 128 + 100, 128 + 6}
    links = set(ecmp.route(flows, CType.PP)[1]) - set(spray.route(flows, CType.PP)[1])
    assert len(links) == 2  # up from leaf 0 and down to leaf 6; the other pair shares a leaf
    spine = int(ecmp.spine(np.array([0]), np.array([100]), CType.PP)[0])
    assert links == {256 + spine, 256 + (8 + 6) * 16 + spine}


def test_ecmp_is_even_on_many_pairs() -> None:
    placement = Placement.of(named_job("mixtral-8x22b"))
    ecmp = BisectionFabric.of(placement, 100, "ecmp")
    source, sink = np.divmod(np.arange(128 * 128), 128)
    count = np.bincount(ecmp.spine(source, sink, CType.EP), minlength=16)
    assert abs(count - 1024).max() < 5 * 32  # five standard deviations


def test_nothing_travels_inside_a_server() -> None:
    described = named_job("qwen-moe-12l")
    fabric = BisectionFabric.of(Placement.of(described), 100)
    coflow = next(c for _, c in job_dag(described, 1).coflows() if c.ctype is CType.EP)
    away = fabric.servers[coflow.flows.source] != fabric.servers[coflow.flows.sink]
    assert (fabric.travels(coflow.flows) == away).all()
    assert 0 < away.sum() < len(away)


def test_the_ways_of_an_all_to_all() -> None:
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    source, sink = map(np.array, zip(*pairs, strict=True))
    even = Flows(source, sink, np.ones(12))
    assert alltoall.cost(even, "fluid", 1.0, 1.0) == (1.0, 0.0)
    assert alltoall.cost(even, "shifted", 1.0, 1.0) == (1.0, 3.0)
    assert alltoall.cost(even, "matched", 0.5, 1.0) == (1.0, 1.5)
    columns = Flows(source, sink, np.array([1.0, 2, 3, 4])[sink])  # all senders prefer alike: V of section 7
    matrix = alltoall.matrix_of(columns)
    by_hand = sum(max(matrix[i, (i + k) % 4] for i in range(4)) for k in (1, 2, 3))
    assert alltoall.cost(columns, "shifted", 0, 1.0)[0] == pytest.approx(by_hand / 12)
    assert alltoall.cost(columns, "matched", 0, 1.0)[0] == pytest.approx(1, abs=1e-5)


def test_overhead_makes_quantised_sub_phases_worth_their_length() -> None:
    random = np.random.default_rng(1)
    pairs = [(i, j) for i in range(16) for j in range(16) if i != j]
    source, sink = map(np.array, zip(*pairs, strict=True))
    flows = Flows(source, sink, random.random(len(pairs)))
    exact, cheap = (alltoall.cost(flows, "matched", overhead, 1.0) for overhead in (1e-6, 1.0))
    assert exact[0] == pytest.approx(1, abs=1e-4)
    assert cheap[0] > 1.01
    assert cheap[1] / 1.0 < exact[1] / 1e-6


def test_coflows_at_core_switches_by_hand() -> None:
    described = named_job("mixtral-8x22b", micro_batches=2)
    counts = {}
    for routing in ("spray", "ecmp"):
        outcome = compare(described, ("fair",), SimulationSetup(iterations=2, routing=routing))["fair"]
        when, count = concurrent(outcome, 40)
        assert count.shape == (40, 16)
        counts[routing] = count
        begin = outcome.iteration_ends[-2]
        at = begin + when[7] + outcome.iteration_s / 80
        flying = sum(
            bool(outcome.start[k] <= at < outcome.end[k])
            for k, c in outcome.loaded.dag.coflows()
            if c.ctype is CType.PP
        )
        if routing == "spray":
            assert (count[7] == flying).all()
        else:
            assert count[7].sum() == flying
    assert counts["spray"].mean() > counts["ecmp"].mean()


def test_bars_are_those_of_one_replica() -> None:
    outcome = compare(job(), ("fair",), SimulationSetup(iterations=2))["fair"]
    begin, end = outcome.iteration_ends[0], outcome.iteration_ends[1]
    drawn = bars(outcome, begin, end)
    stretches = drawn.stretches
    busy = sum(length for (lane, colour), pieces in stretches.items() if colour == "forward" for _, length in pieces)
    mine = sum(
        min(end, outcome.end[k]) - max(begin, outcome.start[k])
        for k, t in outcome.loaded.dag.computations()
        if not t.backward and t.worker in (0, 8) and outcome.end[k] > begin and outcome.start[k] < end
    )
    assert busy == pytest.approx(mine)
    lanes = {(lane % LANES, colour) for lane, colour in stretches}
    assert lanes == {(0, "forward"), (0, "backward"), (1, "EP"), (2, "PP"), (3, "DP")}
    computing = busy + sum(t for (_, colour), pieces in stretches.items() if colour == "backward" for _, t in pieces)
    idle = sum(length for stage in (0, 1) for _, length in drawn.idle(stage, begin, end))
    assert idle + computing == pytest.approx(2 * (end - begin))
    assert drawn.computing(2, begin, end) == pytest.approx(computing / (2 * (end - begin)))


def test_what_is_held_up_is_what_a_coflow_takes_beyond_its_time_alone() -> None:
    ring = Flows(np.array([0, 1]), np.array([1, 0]), np.array([3.0, 3.0]))
    one = Flows(np.array([0]), np.array([1]), np.array([2.0]))
    tasks = [
        Coflow("activation", Factors(0, CType.PP, 0), 0, 0, one),
        Coflow("reduce-scatter", Factors(7, CType.DP, 0), 0, 0, ring),
        Compute(0, 6.0, 0, 0, (0, 1), False),
    ]
    ranks = np.arange(2)
    dag = Dag(list(tasks), 2, 1, 1, 1, 8, False)
    outcome = simulate(load(dag, BisectionFabric(ranks, ranks, 2, 1, 1.0)), "hermod", slack_s=0.0)
    drawn = bars(outcome, 0.0, 6.0)
    assert drawn.stretches == {(2, "PP"): [(0, 2)], (3, "DP"): [(0, 5)], (0, "forward"): [(0, 6)]}
    assert drawn.held_up == {3: [(0, 2)]}
    assert drawn.idle(0, 0.0, 8.0) == [(6, 2)]


def test_what_cannot_be_simulated_is_said() -> None:
    with pytest.raises(OfframpError, match="policy best: expected one of fair, fifo"):
        compare(job(), ("best",), SimulationSetup())
    with pytest.raises(OfframpError, match=r"all-to-all fast: expected one of fluid"):
        compare(job(), ("fair",), SimulationSetup(all_to_all="fast"))
    dag = build(JobTraffic(job(), Placement.of(job())), 1)
    with pytest.raises(OfframpError, match="policy ep-first: has no code points"):
        simulate(load(dag, BisectionFabric.of(Placement.of(job()), 5)), "ep-first", queues=4)


@pytest.mark.parametrize("policy", NAMES)
def test_a_change_that_changes_nothing_is_not_felt(policy: str) -> None:
    """What is under way when links fail is taken up where it was; here the same links go on."""
    described = job()
    fabric = fabric_of(make_cluster("leaf-spine:4x2x2", rate_bps=5 * 10**9, gpus=2))
    routed = RoutedFabric.placed(fabric, Placement.of(described), described.tp)
    loaded = load(job_dag(described, 2), routed)
    expected = simulate(loaded, policy)
    times = np.random.default_rng(len(policy)).uniform(0, expected.end.max(), 5)
    changing = replace(routed, later=tuple((float(each), fabric) for each in sorted(times)))
    run = simulate(replace(loaded, fabric=changing), policy)
    assert run.end == pytest.approx(expected.end, rel=1e-6)
    assert run.start == pytest.approx(expected.start, rel=1e-6, abs=1e-9)
