# SPDX-License-Identifier: Apache-2.0
"""Sizes, feasibility, costs and critical paths as specified (sections 3, 6, 8, 10 and 12)."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import placements as of
from offramp.dgtp import DgtpJob, FlowVolume, Machine, MachineCluster, Problem
from offramp.dgtp.bounds import critical_path
from offramp.dgtp.exploration import Exploration, explore
from offramp.dgtp.packing import pack
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.setups import make_job, random_cluster, simulated_job

SEEDS = st.integers(0, 2**32)
TRIALS = settings(derandomize=True, max_examples=40, deadline=None)


@pytest.mark.parametrize(
    ("dataset", "machines", "tasks", "flows"),
    [("testbed", 4, 23, 72), ("products", 8, 57, 320), ("papers100m", 16, 117, 1400)],
)
def test_sizes_of_the_papers_jobs(dataset, machines, tasks, flows):
    """Section 10; flows before what stays local: M |Js| + |Js| + 2 |Jw| |Jps|."""
    job = make_job("products", 6, 2, "ps") if dataset == "testbed" else simulated_job(dataset)[0]
    graph = job.graph(machines)
    assert len(graph.tasks) == tasks
    assert sum(edge.volume is not None for edge in graph.edges) == flows


def test_iterations_follow_from_epochs_and_batches():
    assert simulated_job("products")[0].iterations == 5 * 197
    assert simulated_job("papers100m")[0].iterations == 25 * 1208


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_tasks_and_flows_of_a_ring(workers):
    """Section 3: 2W - 2 steps, a chunk each; a single worker has no ring at all."""
    job = DgtpJob(
        workers=workers, samplers=1, sync="ring", gathered=FlowVolume(1), subgraph=FlowVolume(1), model_bytes=workers
    )
    graph = job.graph(2)
    steps = 2 * workers - 2
    assert len(graph.tasks) == 2 + 2 * workers + workers * steps
    assert sum(edge.volume is not None for edge in graph.edges) == 2 * workers + workers + workers * steps


@pytest.mark.full
@pytest.mark.parametrize(("dataset", "least", "most"), [("products", 0.26, 0.46), ("papers100m", 0.01, 0.10)])
def test_how_many_random_clusters_can_host_the_job(dataset, least, most):
    """Section 8.2: 36 and 5 per cent of draws."""
    job, machines = simulated_job(dataset)
    draws = hosted = 0
    while draws < 250:
        _, refused = random_cluster(machines, job, draws)
        draws += refused + 1
        hosted += 1
    assert least <= hosted / draws <= most


def explicit_path(problem: Problem, at: list[int], drawn: list, shares: bool = True):
    """The longest path of the explicit graph, vertex by vertex: tasks and flows of every iteration (section 6.2)."""
    edges, machines = problem.graph.edges, problem.cluster.machines
    remote = [e.volume is not None and at[e.source] != at[e.target] for e in edges]
    into = [sum(r and at[e.target] == m for e, r in zip(edges, remote, strict=True)) for m in range(len(machines))]
    out_of = [sum(r and at[e.source] == m for e, r in zip(edges, remote, strict=True)) for m in range(len(machines))]

    @cache
    def task(j: int, n: int):
        if n < 0:
            return 0
        inputs = [arrived(e, n - edges[e].lag) for e in range(len(edges)) if edges[e].target == j]
        machine = machines[at[j]]
        work = problem.graph.tasks[j]
        return max([task(j, n - 1), *inputs]) + work.seconds / machine.speed.get(work.kind, 1)

    @cache
    def arrived(e: int, n: int):
        if n < 0:
            return 0
        if not remote[e]:
            return task(edges[e].source, n)
        source, target = at[edges[e].source], at[edges[e].target]
        bits = 8 * drawn[n][e]
        weight = max(
            bits * (into[target] if shares else 1) / machines[target].ingress_bps,
            bits * (out_of[source] if shares else 1) / machines[source].egress_bps,
        )
        return max(task(edges[e].source, n), arrived(e, n - 1)) + weight

    return max(task(j, len(drawn) - 1) for j in range(len(problem.graph.tasks)))


@TRIALS
@given(SEEDS)
def test_the_critical_path_is_the_longest_of_the_explicit_graph(seed):
    problem, at, drawn = of.random_problem(seed)
    assert critical_path(problem, at, drawn) == explicit_path(problem, at, drawn)
    assert critical_path(problem, at, drawn, alone=True) == explicit_path(problem, at, drawn, shares=False)


@TRIALS
@given(SEEDS)
def test_the_critical_path_is_monotone(seed):
    """Section 12.2, 10: in volumes and in bandwidth, at the same degrees; makespans need not be."""
    problem, at, drawn = of.random_problem(seed)
    rng = random.Random(seed)
    path = critical_path(problem, at, drawn)
    more = [[v + rng.randint(0, 3) if v else v for v in row] for row in drawn]
    assert critical_path(problem, at, more) >= path
    cards = problem.cluster.machines
    faster = tuple(replace(m, ingress_bps=m.ingress_bps * rng.randint(1, 3)) for m in cards)
    assert critical_path(Problem(problem.graph, MachineCluster(faster)), at, drawn) <= path


@TRIALS
@given(st.integers(0, 10**6))
def test_the_penalty_is_nothing_exactly_where_capacities_are_kept(seed):
    """Equation 27, against sums in plain Python."""
    problem = of.packing_problem(seed)
    at = problem.whole([random.Random(seed).randrange(len(problem.cluster)) for _ in problem.movable])
    excess = 0.0
    for m, machine in enumerate(problem.cluster.machines):
        for resource in problem.resources:
            need = sum(
                t.demand.get(resource, 0) for t, where in zip(problem.graph.tasks, at, strict=True) if where == m
            )
            has = machine.capacity.get(resource, 0)
            if need > has * (1 + 1e-9):
                excess += (need - has) / has if has else float("inf")
    assert problem.excess(problem.usage(at)) == pytest.approx(excess)
    assert problem.feasible(at) == (excess == 0)


class Flat:
    """Every placement costs the same."""

    def critical_path(self, machine):
        return 1.0

    def makespan(self, machine):
        return 1.0


def test_moves_that_cost_nothing_are_always_taken_within_the_relaxed_capacities():
    """Section 6.3: hosts come from equation 28, which leaves none where mu is 0 and no core is free."""
    job = make_job("products", 2, 1, "ps")
    full = Machine("full", {"cpu": 4, "gpu": 1, "memory": 15e9}, 1e9, 1e9)
    problem = Problem(
        job.graph(2), MachineCluster((full, replace(full, name="other", capacity={**full.capacity, "cpu": 3})))
    )
    counts = pack(problem, [0, 1])
    assert counts.sum() == 5
    start = problem.whole([0, 1, 0, 1, 0])
    assert problem.feasible(start)
    seen = []
    explore(problem, start, Flat(), Exploration(steps=50, mu=0.0), 0, lambda m: seen.append(m.copy()))
    assert all((m == start).all() for m in seen)
    walked = explore(problem, start, Flat(), Exploration(steps=200, mu=10.0, beta=0.0), 0)
    assert walked.accepted == 200
    assert np.isinf(problem.excess(np.full_like(problem.capacity, 1.0))) == (problem.capacity == 0).any()


def test_a_job_without_workers_samplers_is_refused():
    with pytest.raises(OfframpError, match="samplers"):
        DgtpJob(workers=2, samplers=0, sync="ps", gathered=FlowVolume(1), subgraph=FlowVolume(1), model_bytes=1)
