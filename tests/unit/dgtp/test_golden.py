# SPDX-License-Identifier: Apache-2.0
"""Golden values of the specification (12.1, 12.3), exact; blind to what it and its readers both get wrong."""

from __future__ import annotations

import numpy as np
import pytest

import placements as of
from offramp.dgtp.bounds import bounds, critical_path, degrees
from offramp_sim.dgtp.engine import execute
from offramp_sim.dgtp.native.machine import FastCluster


@pytest.mark.parametrize(
    ("iterations", "makespan", "path", "alone"), [(1, 11, 20, 11), (2, 17, 29, 16), (3, 25, 38, 21), (10, 72, 101, 56)]
)
def test_example_a(iterations, makespan, path, alone):
    problem, drawn = of.example_a(), of.exact(of.example_a(), iterations)
    assert execute(problem, of.EXAMPLE_A, drawn).makespan == makespan
    assert critical_path(problem, of.EXAMPLE_A, drawn) == path
    assert critical_path(problem, of.EXAMPLE_A, drawn, alone=True) == alone
    node_degrees = degrees(problem, np.array(of.EXAMPLE_A))
    assert (node_degrees.ingress.tolist(), node_degrees.egress.tolist(), node_degrees.maximum) == ([3, 2], [2, 3], 3)
    fast = FastCluster(problem, of.as_floats(drawn))
    at = np.array(of.EXAMPLE_A)
    assert fast.makespan(at) == pytest.approx(makespan, rel=1e-12)
    assert (fast.critical_path(at), fast.critical_path(at, alone=True)) == (path, alone)


def test_the_schedule_of_example_a():
    problem = of.example_a()
    trace = execute(problem, of.EXAMPLE_A, of.exact(problem, 3))
    names = [task.name for task in problem.graph.tasks]
    tasks = {name: [(r.start, r.end) for r in trace.tasks if names[r.task] == name] for name in names}
    assert tasks["sampler 0"] == [(3, 4), (6, 7), (10, 11)]
    assert tasks["sampler 1"] == [(3, 4), (5, 6), (7, 8)]
    assert tasks["worker 0"] == [(10, 12), (16, 18), (21, 23)]
    assert tasks["ps 0"] == [(13, 14), (19, 20), (24, 25)]
    flows = {}
    for run in trace.flows:
        edge = problem.graph.edges[run.edge]
        flows.setdefault((names[edge.source], names[edge.target]), []).append((run.start, run.end))
    assert flows == {
        ("store 0", "sampler 1"): [(1, 3), (3, 5), (5, 7)],
        ("store 1", "sampler 0"): [(1, 3), (3, 6), (6, 10)],
        ("sampler 1", "worker 0"): [(4, 10), (10, 13), (13, 17)],
        ("worker 0", "ps 0"): [(12, 13), (18, 19), (23, 24)],
        ("ps 0", "worker 0"): [(14, 16), (20, 21)],
    }


@pytest.mark.parametrize(
    ("workers", "slow", "expected"),
    [
        (2, (), {1: (7, 13, 7), 2: (11, 21, 11), 3: (15, 29, 15)}),
        (3, (), {1: (10, 34, 9), 2: (16, 60, 15), 3: (23, 86, 21)}),
        (2, (0,), {2: (16, 36, 16)}),
        (3, (0,), {2: (31.375, 102, 22)}),
    ],
)
def test_example_b(workers, slow, expected):
    problem, at = of.example_b(workers, slow)
    assert degrees(problem, np.array(at)).maximum == {2: 3, 3: 6}[workers]
    for iterations, values in expected.items():
        drawn = of.exact(problem, iterations)
        times = execute(problem, at, drawn).makespan, critical_path(problem, at, drawn)
        assert (*times, critical_path(problem, at, drawn, alone=True)) == values
        fast = FastCluster(problem, of.as_floats(drawn))
        assert fast.makespan(np.array(at)) == pytest.approx(float(values[0]), rel=1e-12)


def test_the_size_of_example_a_s_graph():
    """(|V|, |E|) for three iterations is (32, 58)."""
    problem = of.example_a()
    edges, remote = problem.graph.edges, problem.remote(np.array(of.EXAMPLE_A))
    vertices = 3 * len(problem.graph.tasks) + sum(3 - edge.lag for edge, r in zip(edges, remote, strict=True) if r)
    pairs = sum((2 if r else 1) * (3 - edge.lag) for edge, r in zip(edges, remote, strict=True))
    pairs += 2 * len(problem.graph.tasks) + sum(2 - edge.lag for edge, r in zip(edges, remote, strict=True) if r)
    assert (vertices, pairs) == (32, 58)


def test_without_degrees_the_bounds_are_the_busiest_card_or_task():
    problem = of.example_a()
    known = bounds(problem, np.array(of.EXAMPLE_A), of.as_floats(of.exact(problem, 10)))
    assert (known.lower, known.upper, known.ratio) == (59, 101, 3)
