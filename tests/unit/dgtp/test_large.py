# SPDX-License-Identifier: Apache-2.0
"""A job of a thousand tasks on a hundred machines."""

from __future__ import annotations

import time

import pytest

import placements as of
from offramp.dgtp import Search
from offramp.dgtp.colocation import max_colocated
from offramp.dgtp.draws import draw
from offramp.dgtp.search import search
from offramp_sim.dgtp.native.machine import FastCluster


@pytest.mark.slow
def test_a_thousand_tasks_are_planned_in_a_minute_of_one_core():
    problem = of.large_problem()
    assert len(problem.graph.tasks) == 1000
    FastCluster(problem, draw(problem.graph, 1, 0)).makespan(max_colocated(problem, 0))  # compiles
    begin = time.process_time()
    result = search(problem, FastCluster, Search(), processes=1)
    assert time.process_time() - begin < 60
    assert problem.feasible(result.machine)
    judge = FastCluster(problem, draw(problem.graph, result.iterations, 0))
    assert result.makespan <= judge.makespan(max_colocated(problem, 0))
