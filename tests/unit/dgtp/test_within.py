# SPDX-License-Identifier: Apache-2.0
"""A search with a limit of time, and what no placement can beat."""

from __future__ import annotations

import time

import numpy as np
import pytest

import placements as of
from dgtp_optimum import feasible_placements
from offramp.dgtp import Search
from offramp.dgtp.colocation import max_colocated
from offramp.dgtp.draws import draw
from offramp.dgtp.relaxation import placements_lower
from offramp.dgtp.search import initial_feasible, search
from offramp_base.settings.error import SettingsError
from offramp_sim.dgtp.native.machine import FastCluster


@pytest.mark.full
def test_time_stops_a_search_that_would_go_on_for_hours():
    problem = of.large_problem()
    drawn = draw(problem.graph, 3, 0)
    judge = FastCluster(problem, drawn)
    starts = [judge.makespan(start(problem, 0)) for start in (initial_feasible, max_colocated)]
    endless = Search(walks=1, steps=10**9, trials=10**9, iterations=3, within=2.0)
    begun = time.monotonic()
    result = search(problem, FastCluster, endless, processes=1)
    assert time.monotonic() - begun < 60
    assert problem.feasible(result.machine)
    assert result.makespan == judge.makespan(result.machine)
    assert result.makespan <= min(starts)


def test_a_limit_that_is_long_enough_changes_no_counts():
    problem = of.small_problem(1)
    counted = Search(walks=2, steps=200, reliefs=0, trials=50, iterations=3, seed=1)
    timed = Search(walks=2, steps=200, reliefs=0, trials=50, iterations=3, seed=1, within=3600.0)
    plain, late = (search(problem, FastCluster, how, processes=1) for how in (counted, timed))
    assert plain.makespan == late.makespan
    assert plain.machine.tolist() == late.machine.tolist()


@pytest.mark.parametrize("within", [0.0, -1.0, float("nan")])
def test_a_limit_is_more_than_nothing(within):
    with pytest.raises(SettingsError, match="within"):
        Search(within=within)


@pytest.mark.parametrize("seed", range(3))
def test_no_placement_beats_the_bound_over_placements(seed):
    problem = of.small_problem(seed)
    drawn = draw(problem.graph, 5, seed)
    judge = FastCluster(problem, drawn)
    least = min(judge.makespan(np.asarray(p)) for p in feasible_placements(problem))
    bound = placements_lower(problem, drawn)
    assert 0.3 * least < bound <= least


@pytest.mark.parametrize("seed", range(40))
def test_nor_a_random_one_of_random_jobs(seed):
    problem, machine, drawn = of.random_problem(seed)
    volumes = of.as_floats(drawn)
    bound = placements_lower(problem, volumes)
    for policy in ("oes", "fifo", "maxmin"):
        assert bound <= FastCluster(problem, volumes).makespan(np.asarray(machine), policy) * (1 + 1e-9)
