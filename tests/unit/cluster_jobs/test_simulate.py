# SPDX-License-Identifier: Apache-2.0
"""Many jobs on a fabric: against a simulation that shares out rates anew at every event, and against closed forms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from offramp.cluster.model import Cluster, LinkFailure
from offramp.fabric import Fabric, fabric_of, make_cluster
from offramp_base.errors import OfframpError
from offramp_sim.cluster import PLACEMENTS, ClusterJob, ClusterOptions, ClusterRun, simulate_cluster
from offramp_sim.cluster.job import parse_jobs
from offramp_sim.cluster.placements import FreeGpus
from offramp_sim.cluster.placements.dgtp import task_graph
from offramp_sim.cluster.results import job_rows, link_use, summary, timeline
from offramp_sim.cluster.traffic import JobLoad, job_load

NARROW = make_cluster("leaf-spine:2x1x4", rate_bps=10**10, uplink_bps=10**10, gpus=1)


@dataclass
class Live:
    """A job of the other simulation."""

    job: ClusterJob
    load: JobLoad
    iterations: int
    compute: float
    beside: float
    share: float
    rate: float = 0.0


def begin(live: Live) -> None:
    live.beside = live.job.overlap * live.job.compute_s
    live.compute = live.job.compute_s - live.beside
    live.share = 1.0 if live.load.seconds else 0.0


def fair_rates(lives: list[Live], capacity: np.ndarray) -> None:
    """Weighted max-min fair rates of those that communicate, in iterations per second: progressive filling."""
    open_ = [x for x in lives if x.compute <= 0 and x.share > 0]
    room = capacity.copy()
    for live in lives:
        live.rate = 0.0
    while open_:
        demand = np.zeros(len(capacity))
        for x in open_:
            demand[x.load.resource] += x.load.weight * x.load.amount
        used = demand > 0
        level = (room[used] / demand[used]).min()
        tight = np.flatnonzero(used)[room[used] / demand[used] <= level * (1 + 1e-12)]
        for x in [x for x in open_ if np.isin(x.load.resource, tight).any()]:
            x.rate = x.load.weight * level
            room[x.load.resource] = np.maximum(room[x.load.resource] - x.rate * x.load.amount, 0)
            open_.remove(x)


def by_events(fabric: Fabric, placed: list[tuple[ClusterJob, np.ndarray]]) -> dict[str, float]:
    """The end of each of some jobs that have their GPUs already."""
    waiting = sorted(placed, key=lambda each: each[0].arrival_s)
    lives: list[Live] = []
    ends: dict[str, float] = {}
    now = 0.0
    while waiting or lives:
        fair_rates(lives, fabric.capacity)
        step = waiting[0][0].arrival_s - now if waiting else math.inf
        for x in lives:
            if x.compute > 0:
                step = min(step, x.compute)
            else:
                step = min([step] + [t for t in (x.beside, x.share / x.rate if x.rate else 0.0) if t > 0])
        now += step
        for x in lives:
            if x.compute > 0:
                x.compute -= step
                x.compute = x.compute if x.compute > 1e-12 else 0.0
                continue
            x.beside = x.beside - step if x.beside - step > 1e-12 else 0.0
            x.share = x.share - x.rate * step if x.share - x.rate * step > 1e-12 else 0.0
        for x in list(lives):
            if x.compute <= 0 and x.beside <= 0 and x.share <= 0:
                x.iterations -= 1
                begin(x)
                if not x.iterations:
                    ends[x.job.name] = now
                    lives.remove(x)
        while waiting and waiting[0][0].arrival_s <= now + 1e-12:
            job, ranks = waiting.pop(0)
            live = Live(job, job_load(fabric, job, ranks), job.iterations, 0.0, 0.0, 0.0)
            begin(live)
            lives.append(live)
    return ends


def draw(random: np.random.Generator, count: int, *, iterations: int) -> list[ClusterJob]:
    return [
        ClusterJob(
            name=f"j{i}",
            gpus=int(random.integers(2, 6)),
            iterations=int(random.integers(2, iterations)),
            compute_s=float(random.uniform(0.02, 0.3)),
            all_reduce=int(random.integers(10**7, 3 * 10**8)),
            all_to_all=int(random.integers(0, 2)) * 10**7,
            overlap=float(random.choice([0.0, 0.0, 0.4])),
            arrival_s=float(random.uniform(0, 2)),
        )
        for i in range(count)
    ]


def roomy(random: np.random.Generator) -> Fabric:
    shape = ["leaf-spine:2x1x6", "leaf-spine:3x2x4", "star:12"][int(random.integers(0, 3))]
    routing = str(random.choice(["destination", "ecmp", "spray"]))
    uplink = int(random.choice([10, 20, 40])) * 10**9
    return fabric_of(make_cluster(shape, rate_bps=10**10, uplink_bps=uplink, gpus=2, routing=routing))


@pytest.mark.parametrize("seed", range(12))
def test_ends_are_those_of_a_simulation_of_every_event(seed: int) -> None:
    random = np.random.default_rng(seed)
    fabric = roomy(random)
    jobs = draw(random, 4, iterations=30)
    run = simulate_cluster(fabric, jobs, ClusterOptions(placement="spread", sample=0, seed=seed))
    placed = [(each.job, each.ranks) for each in run.outcomes]
    expected = by_events(fabric, placed)
    assert all(each.start_s == each.job.arrival_s for each in run.outcomes)
    for each in run.outcomes:
        assert each.finish_s == pytest.approx(expected[each.job.name], rel=1e-6), each.job


@pytest.mark.parametrize("seed", range(6))
def test_a_sample_of_iterations_stands_for_the_rest(seed: int) -> None:
    random = np.random.default_rng(seed)
    fabric = roomy(random)
    jobs = draw(random, 4, iterations=3000)
    exact, sampled = (
        simulate_cluster(fabric, jobs, ClusterOptions(placement="spread", sample=sample)) for sample in (0, 20)
    )
    for a, b in zip(exact.outcomes, sampled.outcomes, strict=True):
        assert b.finish_s == pytest.approx(a.finish_s, rel=0.05)


def test_a_job_alone_takes_what_its_formula_says() -> None:
    fabric = fabric_of(make_cluster("star:4", rate_bps=10**10, gpus=1))
    job = ClusterJob(name="a", gpus=4, iterations=7, compute_s=0.1, all_reduce=10**8, arrival_s=3.0)
    (only,) = simulate_cluster(fabric, [job]).outcomes
    assert only.finish_s == pytest.approx(3 + 7 * (0.1 + 1.5 * 10**8 * 8 / 10**10))
    assert only.slowdown == pytest.approx(1)


def pair(order: str, **changes: object) -> ClusterRun:
    jobs = [
        replace(ClusterJob(name=name, gpus=2, iterations=400, compute_s=0.1, all_reduce=125_000_000), **changes)
        for name in "ab"
    ]
    return simulate_cluster(fabric_of(NARROW), jobs, ClusterOptions(placement="spread", order=order))


def test_two_jobs_that_share_a_link_take_half_as_long_again_and_cassini_interleaves_them() -> None:
    assert [each.slowdown for each in pair("fair").outcomes] == pytest.approx([1.5, 1.5])
    assert [each.slowdown for each in pair("cassini").outcomes] == pytest.approx([1.0, 1.0], abs=0.01)


@pytest.mark.parametrize(
    ("order", "first"), [("fifo", "early"), ("sebf", "short"), ("crux", "intense"), ("hermod", "short")]
)
def test_orders_let_through_whom_they_say(order: str, first: str) -> None:
    """The first in the order is not hindered; computation is short, so that all want the link all the time."""
    jobs = [
        ClusterJob(name="early", gpus=2, iterations=60, compute_s=0.01, all_reduce=200_000_000),
        ClusterJob(name="short", gpus=2, iterations=200, compute_s=0.01, all_reduce=60_000_000, arrival_s=0.001),
        ClusterJob(name="intense", gpus=2, iterations=40, compute_s=0.2, all_reduce=250_000_000, arrival_s=0.002),
    ]
    run = simulate_cluster(fabric_of(NARROW), jobs, ClusterOptions(placement="spread", order=order, sample=0))
    slow = {each.job.name: each.slowdown for each in run.outcomes}
    assert slow[first] == pytest.approx(1, abs=0.02)
    assert all(value > 1.2 for name, value in slow.items() if name != first), slow


def test_jobs_wait_for_gpus_in_order_or_fill_gaps() -> None:
    jobs = [
        ClusterJob(name="a", gpus=6, iterations=10, compute_s=1),
        ClusterJob(name="b", gpus=8, iterations=10, compute_s=1, arrival_s=1),
        ClusterJob(name="c", gpus=2, iterations=2, compute_s=1, arrival_s=2),
    ]
    fabric = fabric_of(NARROW)
    starts = {
        backfill: [each.start_s for each in simulate_cluster(fabric, jobs, ClusterOptions(backfill=backfill)).outcomes]
        for backfill in (False, True)
    }
    assert starts == {False: [0, 10, 20], True: [0, 10, 2]}


def failing(*failures: LinkFailure) -> Cluster:
    return replace(make_cluster("leaf-spine:2x2x2", rate_bps=10**10, uplink_bps=10**10), failures=failures)


def test_a_link_that_fails_sends_jobs_another_way_while_it_is_down() -> None:
    down = failing(LinkFailure(("leaf0", "spine0"), 4e9, 8e9), LinkFailure(("leaf0", "spine1"), 20e9, 21e9))
    jobs = [ClusterJob(name=n, gpus=2, iterations=100, compute_s=0.05, all_reduce=62_500_000) for n in "ab"]
    options = ClusterOptions(placement="spread", sample=0)
    whole = simulate_cluster(fabric_of(failing()), jobs, options).makespan_s
    hurt = simulate_cluster(fabric_of(down), jobs, options)
    assert whole - 1e-6 <= hurt.makespan_s <= whole + 4
    assert not any(each.restarts for each in hurt.outcomes)


def test_a_job_that_is_cut_off_goes_back_to_its_checkpoint() -> None:
    down = failing(LinkFailure(("h0", "leaf0"), 5.05e9, 30e9))
    job = ClusterJob(name="a", gpus=4, iterations=100, compute_s=0.1)
    job = replace(job, all_reduce=1)
    (only,) = simulate_cluster(fabric_of(down), [job], ClusterOptions(checkpoint=20, restart_s=1)).outcomes
    assert only.restarts == 1
    assert only.finish_s == pytest.approx(30 + 6, abs=0.01)  # 40 of 50 iterations were kept


def test_hosts_that_are_cut_off_get_no_jobs() -> None:
    down = failing(LinkFailure(("h0", "leaf0")))
    job = ClusterJob(name="a", gpus=2, iterations=10, compute_s=0.1, all_reduce=1)
    for placement in PLACEMENTS.names():
        (only,) = simulate_cluster(fabric_of(down), [job], ClusterOptions(placement=placement)).outcomes
        assert only.start_s == 0
        assert 0 not in only.ranks


def test_dgtp_leaves_alone_hosts_whose_links_others_use() -> None:
    """Two of four half-free hosts have a NIC that is busy all the time."""
    fabric = fabric_of(make_cluster("star:4", rate_bps=10**10, gpus=2))
    gpus = FreeGpus(fabric)
    gpus.job = ClusterJob(name="a", gpus=2, compute_s=0.01, all_reduce=10**8)
    for host in range(4):
        gpus.take(np.array([host]), 1)
    for host in (0, 2):
        nic = fabric.nics.up[host]
        gpus.use[[nic, nic ^ 1]] = fabric.capacity[nic]
    ranks = PLACEMENTS.get("dgtp")(gpus, 2, np.random.default_rng(0))
    assert fabric.rank_host[ranks].tolist() == [1, 3]
    assert not gpus.free[ranks].any()


@pytest.mark.parametrize(("count", "edges"), [(1, 0), (2, 2), (9, 72), (40, 40 * 16)])
def test_tasks_of_dgtp_send_what_the_job_sends(count: int, edges: int) -> None:
    job = ClusterJob(name="a", gpus=count, compute_s=0.01, all_reduce=10**8, all_to_all=10**7)
    graph = task_graph(job, count)
    assert len(graph.edges) == edges
    sent = sum(edge.volume.mean for edge in graph.edges if edge.volume is not None) if edges else 0
    assert sent == pytest.approx(2 * (count - 1) * 10**8 + (count * 10**7 if count > 1 else 0))


def test_a_job_that_is_cut_off_for_ever_is_one_line() -> None:
    down = failing(LinkFailure(("h0", "leaf0"), 5e9))
    job = ClusterJob(name="a", gpus=4, iterations=100, compute_s=0.1, all_reduce=1)
    with pytest.raises(OfframpError, match="job a: its hosts are cut off for ever"):
        simulate_cluster(fabric_of(down), [job])


def test_too_many_gpus_are_refused() -> None:
    with pytest.raises(OfframpError, match="job a: 9 GPUs: leaf-spine-2x1x4 has 8"):
        simulate_cluster(fabric_of(NARROW), [ClusterJob(name="a", gpus=9)])


def test_results_add_up() -> None:
    run = pair("fair")
    links, use = link_use(run, bins=50)
    sent = {run.fabric.shown(link): row.mean() for link, row in zip(links, use, strict=True)}
    bottleneck = next(value for name, value in sent.items() if name.startswith("leaf0 > spine"))
    assert bottleneck == pytest.approx(2 * 400 * 125_000_000 * 8 / 10**10 / run.makespan_s, rel=1e-6)
    assert summary(run)["mean_slowdown"] == pytest.approx(1.5)
    assert [row["hosts"] for row in job_rows(run)] == [["h0", "h4"], ["h1", "h5"]]
    assert {event["ph"] for event in timeline(run)["traceEvents"]} == {"M", "X", "C"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("jobs: []", "expected jobs: a list"),
        ("jobs: [{name: a}]", "jobs.0.: expected gpus"),
        ("jobs: [{name: a, gpus: 2}]", "expected compute, all_reduce or all_to_all"),
        ("jobs: [{name: a, gpus: 0, compute: 1}]", "gpus"),
        ("jobs: [{name: a, gpus: 1, compute: 1}, {name: a, gpus: 1, compute: 1}]", "a is there twice"),
        ("jobs: [{name: a, gpus: 1, compute: soon}]", "expected a time"),
        ("jobs: [{name: a, gpus: 1, compute: .nan}]", "compute"),
        ("jobs: [{name: a, gpus: 1, compute: 'nan'}]", "expected a time"),
        ("jobs: [{name: a, gpus: 1, compute: 1, arrival: 'inf'}]", "expected a time"),
        ("jobs: [{name: a, gpus: 1, compute: 1, every: '-5'}]", "expected a time"),
    ],
)
def test_what_a_file_of_jobs_cannot_say_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(OfframpError, match=problem) as refused:
        parse_jobs(text)
    assert "\n" not in str(refused.value)


def test_a_line_may_stand_for_several_jobs() -> None:
    jobs = parse_jobs('jobs: [{name: "t[1-3]", gpus: 2, compute: 100ms, every: 5s, arrival: 1}]')
    assert [(job.name, job.arrival_s) for job in jobs] == [("t1", 1.0), ("t2", 6.0), ("t3", 11.0)]


@pytest.mark.parametrize("overlap", [0.0, 0.5])
def test_equal_jobs_that_contend_end_at_one_time(overlap: float) -> None:
    """One of three that end together leaves first, and the others have nothing left."""
    fabric = fabric_of(make_cluster("leaf-spine:2x1x6", rate_bps=10**10, uplink_bps=10**10, gpus=1))
    jobs = [
        ClusterJob(name=f"j{k}", gpus=2, iterations=300, compute_s=0.01, all_reduce=125_000_000, overlap=overlap)
        for k in range(3)
    ]
    run = simulate_cluster(fabric, jobs, ClusterOptions(placement="spread", order="fair"))
    ends = [outcome.finish_s for outcome in run.outcomes]
    assert ends == pytest.approx([ends[0]] * 3)
    assert 3 * 300 * 0.1 * 0.95 < ends[0] < 3 * 300 * 0.11
