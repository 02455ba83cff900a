# SPDX-License-Identifier: Apache-2.0
"""Plans are never slower than the usual placement, on volumes that the search has not seen.

Random clusters and jobs, from nearly empty to nearly full. Blind to larger jobs, and to baselines that are not ours.
"""

from __future__ import annotations

import numpy as np
import pytest

from dgtp_campaign import random_problem as campaign_problem
from offramp.dgtp import Search
from offramp.dgtp.policies import BLIND
from offramp.dgtp.problem import Problem
from offramp.dgtp.search import search
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.comparison import OURS, Comparing, baselines, compare
from offramp_sim.dgtp.native.machine import FastCluster
from offramp_sim.dgtp.setups import make_job, random_cluster


def random_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    machines = int(rng.integers(2, 9))
    workers, samplers = int(rng.integers(1, 2 * machines + 1)), int(rng.integers(1, 4))
    dataset = str(rng.choice(["products", "reddit", "papers100m"]))
    sync, gathered = str(rng.choice(["ps", "ring"])), float(rng.uniform(1e6, 3e8))
    while True:
        job = make_job(dataset, workers, samplers, sync, gathered=gathered)
        try:
            cluster, _ = random_cluster(machines, job, seed)
        except OfframpError:  # no cluster of this size can host as much
            workers = max(1, workers * 3 // 4)
            continue
        return Problem(job.graph(machines), cluster)


def never_above(seeds: range) -> list[float]:
    """Time over the best baseline's, of each."""
    ratios = []
    for seed in seeds:
        problem = random_problem(seed)
        how = Search(steps=60, reliefs=200, trials=10, iterations=5, seed=seed)
        best = compare(problem, search(problem, FastCluster, how, processes=1).machine, 10, ["oes"], seed)
        assert problem.feasible(best.machine)
        assert best.any_lower <= best.known.lower * (1 + 1e-9)
        assert best.known.lower <= best.reached * (1 + 1e-9)
        others = [seconds["oes"] for name, seconds in best.seconds.items() if name != OURS]
        assert best.reached == best.seconds[OURS]["oes"] <= min(others)
        ratios.append(best.reached / min(others))
    return ratios


@pytest.mark.full
def test_on_some_random_clusters() -> None:
    assert min(never_above(range(12))) < 1


@pytest.mark.slow
def test_on_a_thousand_random_clusters() -> None:
    shares = never_above(range(1000))
    print(f"\nover the best baseline: mean {np.mean(shares):.3f}, least {min(shares):.3f}, most {max(shares):.3f}")  # noqa: T201


def test_a_baseline_wins_over_a_bad_placement_unless_it_is_fixed() -> None:
    problem = random_problem(3)
    bad = max(
        (baselines(problem, seed)["first feasible"] for seed in range(8)),
        key=lambda machine: compare(problem, machine, 5, ["fifo"], 0, fixed=True).seconds[OURS]["fifo"],
    )
    kept = compare(problem, bad, 5, ["fifo"], 0, fixed=True)
    best = compare(problem, bad, 5, ["fifo"], 0)
    assert np.array_equal(kept.machine, bad)
    assert best.seconds[OURS]["fifo"] < kept.seconds[OURS]["fifo"]
    assert best.seconds[OURS] == min(best.seconds.values(), key=lambda each: each["fifo"])


def test_the_fastest_rates_of_flows_are_behind_none() -> None:
    chosen = set()
    for seed in (2, 3, 29):
        comparing = Comparing(campaign_problem(seed, 2.0), 8, tuple(BLIND), seed)
        comparing.with_ours(comparing.best.machine)
        machine, policy = comparing.fastest()
        every = [seconds for of_policy in comparing.seconds.values() for seconds in of_policy.values()]
        assert comparing.judge.makespan(machine, policy) == min(every)
        own = comparing.seconds[OURS]
        assert own[comparing.fastest(ours_only=True)[1]] == min(own.values())
        chosen.add(policy)
    assert chosen == {"oes", "fifo-greedy"}
