# SPDX-License-Identifier: Apache-2.0
"""Searching and simulating placements: wall and processor time, to be run with ``-s``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import placements as of
from offramp.dgtp import Search
from offramp.dgtp.bounds import bounds
from offramp.dgtp.colocation import max_colocated
from offramp.dgtp.draws import draw
from offramp.dgtp.search import search
from offramp_sim.dgtp.native.machine import FastCluster
from offramp_sim.dgtp.setups import make_setup

pytestmark = pytest.mark.bench


def timed(what: str, work: Callable[[], Any], times: int = 1) -> Any:
    """Print the time of one of ``times`` calls."""
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(times):
        result = work()
    wall, processor = (time.perf_counter() - wall) / times, (time.process_time() - processor) / times
    print(f"| {what} | {1e3 * wall:,.2f} ms | {1e3 * processor:,.2f} ms |")  # noqa: T201
    return result


@pytest.mark.parametrize("name", ["testbed-products-ps", "simulated-products", "simulated-papers100m", "large"])
def test_a_simulation_and_a_search(name):
    problem = of.large_problem() if name == "large" else make_setup(name).problem
    drawn = draw(problem.graph, 3 if name == "large" else 20, 0)
    judge, at = FastCluster(problem, drawn), max_colocated(problem, 0)
    judge.makespan(at)  # compiles
    sizes = f"{name}: {len(problem.graph.tasks)} tasks, {len(problem.cluster)} machines"
    print(f"\n{sizes}, {int(problem.data.sum()):,} transfers an iteration, {len(drawn)} iterations")  # noqa: T201
    timed("critical path", lambda: judge.critical_path(at), 10)
    makespan = timed("online execution", lambda: judge.makespan(at), 3)
    best = timed("search, one process", lambda: search(problem, FastCluster, Search(), processes=1))
    reached = FastCluster(problem, draw(problem.graph, best.iterations, 0)).makespan(best.machine)
    known = bounds(problem, best.machine, draw(problem.graph, best.iterations, 0), judge.critical_path)
    print(f"time {reached:.2f} s, lower bound of the placement {known.lower:.2f} s, colocated {makespan:.2f} s")  # noqa: T201
    assert problem.feasible(best.machine)
    assert known.lower <= reached * (1 + 1e-9)
