# SPDX-License-Identifier: Apache-2.0
"""The Metropolis walk: where it goes, how often, and what it returns."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import placements as of
from offramp.dgtp import MachineCluster, Problem, Search
from offramp.dgtp.bounds import card_seconds, leaving
from offramp.dgtp.colocation import max_colocated
from offramp.dgtp.draws import draw
from offramp.dgtp.exploration import Exploration, explore
from offramp.dgtp.packing import initial_feasible
from offramp.dgtp.refinement import refine
from offramp.dgtp.relief import relieve
from offramp.dgtp.search import search
from offramp_base.errors import OfframpError
from offramp_base.progress import listen
from offramp_sim.dgtp.native.machine import FastCluster
from offramp_sim.dgtp.setups import homogeneous_testbed, make_job, make_setup


class Weights:
    """Costs that depend on the placement alone."""

    def __init__(self, problem):
        self.problem = problem

    def critical_path(self, machine):
        return 1.0 + 0.05 * float((machine * (1 + np.arange(len(machine)))).sum() % 7)

    def makespan(self, machine):
        return self.critical_path(machine)


def toy():
    """Three tasks on machines where some placements exceed capacities, all within twice of them."""
    for seed in range(100):
        problem = of.packing_problem(seed)
        if len(problem.cluster) == 3 and len(problem.movable) == 3:
            try:
                return problem, initial_feasible(problem, 0)
            except OfframpError:
                continue
    raise AssertionError


@pytest.mark.full
def test_states_are_visited_as_often_as_their_cost_says():
    """Frequencies in proportion to exp(-beta cost), over all states within the relaxed capacities (section V-B)."""
    problem, start = toy()
    weights, beta = Weights(problem), 3.0
    visits: Counter[bytes] = Counter()
    how = Exploration(steps=50_000, beta=beta, simulations=0)
    explore(problem, start, weights, how, 1, lambda machine: visits.update([machine.tobytes()]))
    cost, limit = {}, problem.capacity * 2
    for code in range(3 ** len(problem.movable)):
        at = problem.whole([code // 3**k % 3 for k in range(len(problem.movable))])
        used = problem.usage(at)
        if (used <= limit).all():
            cost[at.tobytes()] = weights.critical_path(at) * (1 + problem.excess(used))
    assert set(visits) <= set(cost)
    scale = beta / weights.critical_path(start)
    expected = {state: math.exp(-scale * c) for state, c in cost.items()}
    total, count = sum(expected.values()), sum(visits.values())
    distance = sum(abs(visits[s] / count - e / total) for s, e in expected.items()) / 2
    assert distance < 0.02


def test_what_a_walk_keeps_to():
    setup = make_setup("testbed-products-ring")
    problem = setup.problem
    judge = FastCluster(problem, draw(problem.graph, 5, 0))
    start = initial_feasible(problem, 3)
    seen = []
    explored = explore(problem, start, judge, Exploration(steps=400), 7, lambda m: seen.append(m.copy()))
    assert len(seen) == 400
    for machine in seen:
        assert (problem.usage(machine) <= 2 * problem.capacity).all()
        problem.check(machine)  # stores stay, ring tasks follow their workers
    assert problem.feasible(explored.machine)
    assert explored.makespan == judge.makespan(explored.machine) <= judge.makespan(start)
    again = explore(problem, start, judge, Exploration(steps=400), 7)
    assert (again.machine == explored.machine).all()
    none = explore(problem, start, judge, Exploration(steps=0), 7)
    assert (none.machine == start).all()


def test_a_walk_counts_its_transitions_and_simulates_the_feasible_ones_that_are_short():
    """All transitions are accepted: the states that it shows say which of them were feasible, new and short enough."""
    problem, start = toy()
    weights, states = Weights(problem), [start]
    simulated: list[bytes] = []

    class Counting(Weights):
        def makespan(self, machine):
            simulated.append(machine.tobytes())
            return super().makespan(machine)

    how, reports = Exploration(steps=600, beta=0.0, gamma=0.02), []
    with listen(lambda what, done, total: reports.append((what, done, total))):
        explored = explore(problem, start, Counting(problem), how, 3, lambda m: states.append(m.copy()))
    moves = [after for before, after in pairwise(states) if (before != after).any()]
    feasible = [m for m in moves if problem.excess(problem.usage(m)) == 0]
    assert (explored.accepted, explored.feasible) == (len(moves), len(feasible))
    assert 0 < len(feasible) < len(moves)
    least, expected = weights.critical_path(start), [start.tobytes()]
    for m in feasible:
        if (path := weights.critical_path(m)) <= 1.02 * least:
            least = min(least, path)
            if m.tobytes() not in expected:
                expected.append(m.tobytes())
    assert simulated == expected
    assert explored.simulated == len(expected)
    assert explored.makespan == min(weights.makespan(np.frombuffer(m, start.dtype)) for m in expected)
    assert reports == [("walking", 0, 600), ("walking", 250, 600), ("walking", 500, 600)]


def test_greed_at_its_limit_and_by_simulated_time():
    setup = make_setup("testbed-products-ps")
    problem = setup.problem
    judge = FastCluster(problem, draw(problem.graph, 3, 0))
    start = initial_feasible(problem, 0)
    costs = []

    def note(machine):
        costs.append(judge.makespan(machine) * (1 + problem.excess(problem.usage(machine))))

    explore(problem, start, judge, Exploration(steps=300, beta=1e9, by_makespan=True), 1, note)
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(costs))


def test_refinement_never_loses_and_stays_feasible():
    setup = make_setup("testbed-products-ps")
    judge = FastCluster(setup.problem, draw(setup.problem.graph, 5, 0))
    start = initial_feasible(setup.problem, 0)
    better = refine(setup.problem, start, judge, 200, 0)
    assert setup.problem.feasible(better.machine)
    assert better.makespan < judge.makespan(start)


@pytest.mark.full
def test_relief_takes_load_off_the_busiest_cards_and_stays_feasible():
    problem = make_setup("simulated-products").problem
    drawn = draw(problem.graph, 5, 0)
    start = max_colocated(problem, 0)
    relieved = relieve(problem, start, drawn, 3000, 0)
    assert problem.feasible(relieved)
    assert (relieved == relieve(problem, start, drawn, 3000, 0)).all()
    sent = leaving(problem, drawn)
    assert card_seconds(problem, relieved, sent).max() < 0.9 * card_seconds(problem, start, sent).max()
    judge = FastCluster(problem, drawn)
    assert judge.makespan(relieved) < 0.9 * judge.makespan(start)
    alone = Problem(make_job("products", 1, 1, "ps").graph(1), MachineCluster(homogeneous_testbed().machines[:1]))
    assert (relieve(alone, max_colocated(alone, 0), draw(alone.graph, 2, 0), 100, 0) == 0).all()


@pytest.mark.full
def test_the_same_search_whoever_works_on_it():
    setup = make_setup("testbed-products-ps")
    how = Search(walks=2, steps=200, reliefs=100, trials=50, iterations=3, seed=5)
    progress = []
    with listen(lambda what, done, total: progress.append((done, total)) if what == "searching" else None):
        here = search(setup.problem, FastCluster, how, processes=1)
    there = search(setup.problem, FastCluster, how, processes=2)
    assert progress == [(done, 4) for done in range(5)]  # two walks, and both starts as they are
    assert (here.machine == there.machine).all()
    assert here.makespan == there.makespan == min(walk.makespan for walk in here.walks)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Search("best"), "method best: expected one of paper, portfolio"),
        (lambda: Search(walks=0), "walks 0: expected at least 1"),
        (lambda: Search(reliefs=-1), "reliefs -1: expected at least 0"),
        (lambda: Exploration(steps=-1), "steps -1: expected at least 0"),
        (lambda: Exploration(beta=-0.1), "beta -0.1: expected at least 0"),
    ],
)
def test_settings_that_cannot_be(make, message):
    with pytest.raises(OfframpError, match=message):
        make()
