# SPDX-License-Identifier: Apache-2.0
"""Online execution against the best schedule, the search against the best placement, where one can tell."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import placements as of
from dgtp_optimum import best_placement, feasible_placements, optimal_slots
from dgtp_slotted import execute_in_slots
from offramp.dgtp import DgtpJob, FlowVolume, Machine, MachineCluster, Problem, Search, TaskType
from offramp.dgtp.bounds import bounds, degrees
from offramp.dgtp.draws import draw
from offramp.dgtp.search import search
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.engine import execute
from offramp_sim.dgtp.native.machine import FastCluster


def test_example_a_in_slots_and_at_best():
    """Aligned to whole slots both engines agree; the optimum lies between the lower bound and online execution."""
    problem = of.example_a()
    for iterations, online in ((1, 11), (2, 17)):
        drawn = of.exact(problem, iterations)
        slots = execute_in_slots(problem, of.EXAMPLE_A, drawn, 100)
        assert online <= slots <= online + 2
        best = optimal_slots(problem, of.EXAMPLE_A, drawn, slots)
        known = bounds(problem, np.array(of.EXAMPLE_A), of.as_floats(drawn))
        assert known.lower <= best <= slots
        assert online <= known.ratio * best
    with pytest.raises(OfframpError, match="unfinished after 5"):
        execute_in_slots(problem, of.EXAMPLE_A, of.exact(problem, 2), 5)


@pytest.mark.parametrize("seed", range(12))
def test_never_beyond_the_competitive_ratio(seed):
    """The ratio to the optimum of the integer program is at most Delta (theorem 1)."""
    rng = random.Random(seed)
    cluster = MachineCluster(
        tuple(Machine(f"m{m}", {}, Fraction(8 * rng.randint(1, 3)), Fraction(8 * rng.randint(1, 3))) for m in range(2))
    )
    job = DgtpJob(
        workers=rng.randint(1, 2),
        samplers=1,
        sync="ps",
        gathered=FlowVolume(Fraction(4)),
        subgraph=FlowVolume(Fraction(2)),
        model_bytes=Fraction(1),
        **{name: TaskType(Fraction(rng.randint(0, 2))) for name in ("store", "sampler", "worker", "ps")},
    )
    problem = Problem(job.graph(2), cluster)
    at = problem.whole([rng.randrange(2) for _ in problem.movable]).tolist()
    rows = [[Fraction(rng.randint(0, 4)) for _ in problem.graph.edges] for _ in range(rng.randint(1, 2))]
    online = execute(problem, at, rows).makespan
    slots = execute_in_slots(problem, at, rows, 200)
    best = optimal_slots(problem, at, rows, slots)
    known = bounds(problem, np.array(at), of.as_floats(rows))
    assert known.lower <= best + 1e-9
    assert best <= slots
    assert online <= max(1, degrees(problem, np.array(at)).maximum) * best


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_best_placement(seed):
    """Within 1 % of the best of all placements on the volumes of the search."""
    problem = of.small_problem(seed)
    how = Search(walks=2, steps=1000, trials=300, iterations=5, seed=seed)
    result = search(problem, FastCluster, how, processes=1)
    judge = FastCluster(problem, draw(problem.graph, 5, seed))
    _, best = best_placement(problem, judge.makespan)
    assert problem.feasible(result.machine)
    assert best <= result.makespan <= 1.01 * best
    assert judge.makespan(result.machine) == result.makespan
    assert sum(1 for _ in feasible_placements(problem)) > 50
