# SPDX-License-Identifier: Apache-2.0
"""A plan that is kept when machines leave or come, against all placements of small jobs. Blind to what moving takes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import placements as of
from dgtp_optimum import feasible_placements
from offramp.dgtp.cluster import MachineCluster
from offramp.dgtp.colocation import max_colocated
from offramp.dgtp.draws import draw
from offramp.dgtp.plan import make_plan
from offramp.dgtp.problem import Problem
from offramp.dgtp.replacement import NOWHERE, carried_over, moved, moves_of, place_again
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim.dgtp.native.machine import FastCluster
from offramp_sim.dgtp.setups import make_setup

SETUP = """machines:
  - {{name: gtx, count: {gtx}, cpu: 8, gpu: 2, memory: 48GB, network: 10Gbps}}
  - {{name: v100, count: {v100}, cpu: 20, gpu: 4, memory: 256GB, network: 50Gbps, speed: {{worker: 2.5}}}}
job:
  sync: ps
  store: {{seconds: 0.010}}
  sampler: {{each: 2, seconds: 0.020, cpu: 2, memory: 7GB}}
  worker: {{count: {workers}, seconds: 0.060, cpu: 1, gpu: 1, memory: 3GB}}
  ps: {{count: 1, seconds: 0.003, cpu: 1, memory: 5GB}}
  gathered: {{mean: 100MB, spread: 0.05}}
  subgraph: {{mean: 100MB, spread: 0.05}}
  model: 0.83MB
"""


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_no_feasible_placement_moves_fewer(seed):
    """From a placement that asks too much of a machine: by classes, as members of one are interchangeable."""
    problem = of.small_problem(seed)
    judge = FastCluster(problem, draw(problem.graph, 3, 0))
    rng = np.random.default_rng(seed)
    before = problem.whole(rng.integers(0, 2, len(problem.movable)))
    machine = place_again(problem, before, judge)
    assert problem.feasible(machine)
    least = min(len(moved(problem, before, np.asarray(each))) for each in feasible_placements(problem))
    assert len(moved(problem, before, machine)) == least


@pytest.mark.full
def test_what_fits_stays_and_more_moves_never_take_longer():
    problem = make_setup("testbed-products-ps").problem
    judge = FastCluster(problem, draw(problem.graph, 3, 0))
    before = max_colocated(problem, 1)
    kept = place_again(problem, before, judge)
    assert (kept == before).all()
    times = [judge.makespan(place_again(problem, before, judge, moves=moves, seed=3)) for moves in (0, 4)]
    assert times[1] <= times[0]


@pytest.mark.full
def test_tasks_of_a_machine_that_left_go_elsewhere_alone():
    """Without the last machine, by names: stores are as many as machines, so that only movable tasks are compared."""
    job = make_setup("simulated-products")
    machines = job.problem.cluster.machines
    plan = make_plan(job.problem, max_colocated(job.problem, 0), {})
    roomy = [replace(m, capacity={name: 2 * value for name, value in m.capacity.items()}) for m in machines[:-1]]
    gone = [role for role in plan.roles if role.machine == machines[-1].name and role.kind != "store"]
    graph = job.problem.graph
    bound = [i for i, task in enumerate(graph.tasks) if task.home == len(machines) - 1]
    assert gone
    assert bound
    tasks = tuple(replace(t, home=0) if i in bound else t for i, t in enumerate(graph.tasks))
    problem = Problem(type(graph)(tasks, graph.edges), MachineCluster(tuple(roomy)))
    before, known = carried_over(problem, plan)
    machine = place_again(problem, before, FastCluster(problem, draw(graph, 3, 0)))
    moves = moves_of(problem, before, known, machine)
    assert (moves.lost, moves.moved, moves.new, moves.bytes) == (len(gone), 0, 0, 0.0)
    assert (before[problem.movable] == NOWHERE).sum() == len(gone)


def test_memory_that_moves_is_counted_at_the_busiest_card():
    problem = of.small_problem(0)
    before = problem.whole(np.zeros(len(problem.movable), np.int64))
    after = before.copy()
    after[problem.movable[0]] = 1
    known = np.ones(len(before), np.int64)
    moves = moves_of(problem, before, known, after)
    assert moves.moved == 1
    assert moves.bytes == 0  # the job names no memory
    assert moves.kept == len(problem.movable) - 1


def run(tmp_path, *arguments, **machines):
    path = tmp_path / "setup.yaml"
    path.write_text(SETUP.format(**machines))
    base = ["simulate", "dgtp", str(path), "--policy", "oes", "--processes", "1", "--iterations", "3"]
    return CliRunner().invoke(app, [*base, *arguments])


@pytest.mark.full
def test_a_command_keeps_the_plan_that_another_wrote(tmp_path):
    search = ["--search", "colocated", "--export", str(tmp_path / "plan")]
    assert run(tmp_path, *search, gtx=4, v100=3, workers=6).exit_code == 0
    keep = ["--keep", str(tmp_path / "plan" / "plan.json"), "--json", str(tmp_path / "n.json")]
    for machines, moves in (({"gtx": 4, "v100": 4}, 0), ({"gtx": 2, "v100": 4}, 0)):
        done = run(tmp_path, *keep, **machines, workers=6)
        assert done.exit_code == 0, done.exception
        numbers = json.loads((tmp_path / "n.json").read_text())
        assert numbers["moves"]["moved"] == moves
        assert numbers["moves"]["kept"] + numbers["moves"]["lost"] == 6 + 12 + 1
        assert "Of the earlier plan's tasks," in done.output
    assert run(tmp_path, *keep, gtx=4, v100=3, workers=8).exit_code == 0
    assert json.loads((tmp_path / "n.json").read_text())["moves"]["new"] == 2 + 4


def test_a_budget_of_nothing_still_gives_the_better_baseline(tmp_path):
    path = tmp_path / "n.json"
    assert run(tmp_path, "--within", "0.001", "--json", str(path), gtx=4, v100=3, workers=6).exit_code == 0
    seconds = {name: row["oes"] for name, row in json.loads(path.read_text())["seconds"].items()}
    assert seconds["ours"] <= min(seconds.values())


def test_what_is_no_plan_is_refused(tmp_path):
    result = run(tmp_path, "--keep", str(tmp_path / "nothing.json"), gtx=4, v100=3, workers=6)
    assert isinstance(result.exception, OfframpError)
