"""A job of a thousand tasks on a hundred machines."""

from __future__ import annotations

import time

import numpy as np
import pytest

from offramp.placement import Cluster, Job, Kind, Machine, Problem, Search, Volume, draw, search
from offramp.placement.colocation import max_colocated
from offramp_sim.cluster.native.machine import FastCluster


@pytest.mark.slow
def test_a_thousand_tasks_are_planned_in_a_minute_of_one_core():
    rng = np.random.default_rng(0)
    rates = rng.choice([10e9, 20e9, 50e9], 100)
    cluster = Cluster(
        tuple(
            Machine(f"m{i}", {"cpu": int(rng.integers(12, 33)), "gpu": int(rng.integers(2, 6))}, rate, rate)
            for i, rate in enumerate(rates)
        )
    )
    job = Job(
        workers=297,
        samplers=2,
        sync="ps",
        servers=9,
        gathered=Volume(1e8, 0.05),
        subgraph=Volume(1e8, 0.05),
        model_bytes=0.83e6,
        store=Kind(0.01),
        sampler=Kind(0.02, {"cpu": 2}),
        worker=Kind(0.06, {"cpu": 1, "gpu": 1}),
        ps=Kind(0.003, {"cpu": 1}),
    )
    problem = Problem(job.graph(100), cluster)
    assert len(problem.graph.tasks) == 1000
    FastCluster(problem, draw(problem.graph, 1, 0)).makespan(max_colocated(problem, 0))  # compiles
    begin = time.process_time()
    found = search(problem, FastCluster, Search(), processes=1)
    assert time.process_time() - begin < 60
    assert problem.feasible(found.machine)
    judge = FastCluster(problem, draw(problem.graph, found.iterations, 0))
    assert found.makespan <= judge.makespan(max_colocated(problem, 0))
