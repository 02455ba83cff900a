# SPDX-License-Identifier: Apache-2.0
"""Feasible starts and colocation, against every placement there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import placements as of
from offramp.dgtp import DgtpJob, FlowVolume, Machine, MachineCluster, Problem, TaskType, packing
from offramp.dgtp.colocation import colocated, max_colocated
from offramp.dgtp.packing import Groups, classes, initial_feasible, pack
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.setups import homogeneous_testbed, make_job

TRIALS = settings(derandomize=True, max_examples=80, deadline=None)


def all_placements(problem):
    for at in product(range(len(problem.cluster)), repeat=len(problem.movable)):
        whole = problem.whole(at)
        if problem.feasible(whole):
            yield whole


@pytest.mark.full
@TRIALS
@given(st.integers(0, 10**6), st.booleans())
def test_a_start_is_found_exactly_if_there_is_one(seed, program):
    problem = of.packing_problem(seed)
    exists = next(all_placements(problem), None) is not None
    with pytest.MonkeyPatch.context() as patch:
        if program:
            patch.setattr(packing, "_LARGEST_TABLE", 0)
        if not exists:
            with pytest.raises(OfframpError, match=r"placement: (no way|the tasks need)"):
                initial_feasible(problem, seed)
            return
        placement = initial_feasible(problem, seed)
    assert problem.feasible(placement)
    assert (problem.check(placement) == placement).all()


@pytest.mark.full
@TRIALS
@given(st.integers(0, 10**6), st.booleans())
def test_colocation_is_the_best_of_all(seed, program):
    problem = of.packing_problem(seed)
    best = max((colocated(problem, at) for at in all_placements(problem)), default=None)
    if best is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        if program:
            patch.setattr(packing, "_LARGEST_TABLE", 0)
        placement = max_colocated(problem, seed)
    assert problem.feasible(placement)
    assert colocated(problem, placement) == best


@pytest.mark.parametrize(("cores", "whole"), [(8, 4), (16, 6)])
def test_the_testbed_keeps_four_groups_whole(cores, whole):
    """Two pairs of workers and samplers have to be split (section VI-A); with twice the cores none."""
    cluster = MachineCluster(
        tuple(Machine(m.name, {**m.capacity, "cpu": cores}, 1e10, 1e10) for m in homogeneous_testbed().machines)
    )
    problem = Problem(make_job("products", 6, 2, "ps").graph(4), cluster)
    for seed in range(5):
        at = max_colocated(problem, seed)
        kinds = [task.kind for task in problem.graph.tasks]
        first, worker = kinds.index("sampler"), kinds.index("worker")
        groups = [at[first + 2 * w] == at[first + 2 * w + 1] == at[worker + w] for w in range(6)]
        assert sum(groups) == whole
        assert problem.feasible(at)


def test_capacities_met_exactly_are_enough():
    cluster = MachineCluster((Machine("m0", {"cpu": 0.3}, 8, 8),))
    job = DgtpJob(
        workers=1,
        samplers=2,
        sync="ps",
        gathered=FlowVolume(1),
        subgraph=FlowVolume(1),
        model_bytes=1,
        sampler=TaskType(1, {"cpu": 0.1}),
        worker=TaskType(1, {"cpu": 0.1}),
    )
    problem = Problem(job.graph(1), cluster)
    at = initial_feasible(problem, 0)
    assert problem.excess(problem.usage(at)) == 0
    assert (at == 0).all()


def test_what_is_short_is_named():
    cluster = MachineCluster((Machine("m0", {"cpu": 8, "gpu": 1}, 8e9, 8e9), Machine("m1", {"cpu": 1}, 8e9, 8e9)))

    def problem(**kinds):
        job = DgtpJob(
            workers=2, samplers=1, sync="ring", gathered=FlowVolume(1), subgraph=FlowVolume(1), model_bytes=1, **kinds
        )
        return Problem(job.graph(2), cluster)

    with pytest.raises(OfframpError, match="placement: the tasks need 2 gpu, all machines together have 1"):
        initial_feasible(problem(worker=TaskType(1, {"gpu": 1})), 0)
    with pytest.raises(OfframpError, match="no way to place the tasks meets every machine's capacities"):
        initial_feasible(problem(sampler=TaskType(1, {"cpu": 4.2})), 0)
    with pytest.raises(OfframpError, match="machine m1: what is bound to it needs 2 cpu, it has 1"):
        problem(store=TaskType(1, {"cpu": 2}))


@pytest.mark.parametrize("program", [False, True])
def test_counts_cover_every_task(program, monkeypatch):
    if program:
        monkeypatch.setattr(packing, "_LARGEST_TABLE", 0)
    problem = Problem(make_job("products", 6, 2, "ps").graph(4), homogeneous_testbed())
    counts = pack(problem, [2, 0, 3, 1])
    assert counts.sum(axis=0).tolist() == list(classes(problem).sizes) == [12, 6, 1]
    grouped = pack(problem, [2, 0, 3, 1], Groups(0, 1, 2))
    assert np.minimum(grouped[:, 0], 2 * grouped[:, 1]).sum() == 10
