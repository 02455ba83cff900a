# SPDX-License-Identifier: Apache-2.0
"""Invariants of online execution on random jobs, in rational arithmetic (12.2); the fast engine against it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import placements as of
from dgtp_chain import continuous_chain
from offramp.dgtp import Problem
from offramp.dgtp.bounds import critical_path, degrees
from offramp_sim.dgtp.engine import execute
from offramp_sim.dgtp.native.machine import FastCluster
from offramp_sim.dgtp.policies import POLICIES, make_policy

SEEDS = st.integers(0, 2**32)
TRIALS = settings(derandomize=True, max_examples=60, deadline=None)


@pytest.mark.full
@TRIALS
@given(SEEDS)
def test_what_theory_promises(seed):
    """CP1 and loads <= T <= CP <= Delta CP1, degrees never above those of an iteration, a chain without a gap."""
    problem, at, drawn = of.random_problem(seed)
    trace = execute(problem, at, drawn, rates=True)
    bounds = degrees(problem, np.array(at))
    alone = critical_path(problem, at, drawn, alone=True)
    path = critical_path(problem, at, drawn)
    assert alone <= trace.makespan <= path <= max(1, bounds.maximum) * alone
    for moment in trace.moments:
        into, out_of = Counter(), Counter()
        rate_in, rate_out = Counter(), Counter()
        for edge, rate in moment.rates.items():
            source, target = at[problem.graph.edges[edge].source], at[problem.graph.edges[edge].target]
            assert rate > 0
            assert source != target
            into[target] += 1
            out_of[source] += 1
            rate_in[target] += rate
            rate_out[source] += rate
        for m, machine in enumerate(problem.cluster.machines):
            assert into[m] <= bounds.ingress[m]
            assert out_of[m] <= bounds.egress[m]
            assert rate_in[m] <= machine.ingress_bps / 8
            assert rate_out[m] <= machine.egress_bps / 8
    links = continuous_chain(problem, at, trace)
    assert links[0].start == 0
    assert links[-1].end == trace.makespan
    assert all(first.end == second.start for first, second in pairwise(links))


@pytest.mark.full
@TRIALS
@given(SEEDS)
def test_constraints_8_to_13(seed):
    problem, at, drawn = of.random_problem(seed)
    trace = execute(problem, at, drawn, rates=True)
    iterations = len(drawn)
    tasks = {(r.task, r.iteration): r for r in trace.tasks}
    flows = {(r.edge, r.iteration): r for r in trace.flows}
    assert len(tasks) == len(trace.tasks) == iterations * len(problem.graph.tasks)
    sent = Counter()
    ends = [m.start for m in trace.moments[1:]] + [trace.makespan]
    for moment, end in zip(trace.moments, ends, strict=True):
        for edge, rate in moment.rates.items():
            sent[edge] += rate * (end - moment.start)
    for (edge, n), run in flows.items():
        e = problem.graph.edges[edge]
        assert n + e.lag < iterations
        assert at[e.source] != at[e.target]
        assert tasks[e.source, n].end <= run.start <= run.end <= tasks[e.target, n + e.lag].start
        if (edge, n - 1) in flows:
            assert flows[edge, n - 1].end <= run.start
    for edge in {edge for edge, _ in flows}:
        assert sent[edge] == sum(drawn[n][edge] for e, n in flows if e == edge)
    for (task, n), run in tasks.items():
        if n:
            assert tasks[task, n - 1].end <= run.start
    crossing = problem.remote(np.array(at))
    assert len(flows) == sum(iterations - e.lag for e, r in zip(problem.graph.edges, crossing, strict=True) if r)


@TRIALS
@given(SEEDS, st.sampled_from(POLICIES))
def test_machine_code_equals_the_exact_engine(seed, policy):
    problem, at, drawn = of.random_problem(seed)
    slow = execute(problem, at, as_lists := of.as_floats(drawn).tolist(), make_policy(policy, problem))
    times = FastCluster(problem, np.array(as_lists)).times(np.array(at), policy)
    assert times.makespan == pytest.approx(float(slow.makespan), rel=1e-9, abs=1e-12)
    if policy == "oes":
        for run in slow.tasks:
            assert times.task_start[run.iteration, run.task] == pytest.approx(float(run.start), rel=1e-9, abs=1e-9)
        for run in slow.flows:
            assert times.flow_end[run.iteration, run.edge] == pytest.approx(float(run.end), rel=1e-9, abs=1e-9)
        fast = FastCluster(problem, np.array(as_lists))
        for alone in (False, True):
            expected = critical_path(problem, at, drawn, alone=alone)
            assert fast.critical_path(np.array(at), alone) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.full
@TRIALS
@given(SEEDS, st.sampled_from(POLICIES))
def test_every_policy_keeps_to_the_cards_and_gets_done(seed, policy):
    problem, at, exactly = of.random_problem(seed)
    drawn = of.as_floats(exactly).tolist()  # rates that depend on what is left have no short fractions
    trace = execute(problem, at, drawn, make_policy(policy, problem), rates=True)
    for moment in trace.moments:
        loads = Counter()
        for edge, rate in moment.rates.items():
            loads["in", at[problem.graph.edges[edge].target]] += rate
            loads["out", at[problem.graph.edges[edge].source]] += rate
        for (way, m), load in loads.items():
            machine = problem.cluster.machines[m]
            limit = (machine.ingress_bps if way == "in" else machine.egress_bps) / 8
            assert load <= limit * (1 + 1e-9)
    assert trace.makespan >= critical_path(problem, at, drawn, alone=True) * (1 - 1e-9)


@pytest.mark.full
@TRIALS
@given(SEEDS, st.data())
def test_nothing_ahead_is_known(seed, data):
    """Another size of a flow that has not ended changes nothing before."""
    problem, at, drawn = of.random_problem(seed)
    first = execute(problem, at, drawn, rates=True)
    if not first.flows:
        return
    run = data.draw(st.sampled_from(first.flows))
    changed = [list(row) for row in drawn]
    changed[run.iteration][run.edge] += data.draw(st.integers(1, 9))
    second = execute(problem, at, changed, rates=True)
    for kind in ("tasks", "flows"):
        early = [[r for r in getattr(t, kind) if r.end < run.end] for t in (first, second)]
        assert sorted(early[0], key=repr) == sorted(early[1], key=repr)
    before = [[m for m in t.moments if m.start < run.end] for t in (first, second)]
    assert [m.rates for m in before[0]] == [m.rates for m in before[1]]


@pytest.mark.full
@TRIALS
@given(SEEDS, st.sampled_from([2, 3, Fraction(1, 2)]))
def test_scaling(seed, factor):
    problem, at, drawn = of.random_problem(seed)
    scaled = [[v * factor for v in row] for row in drawn]
    faster = Problem(problem.graph, _scaled_cards(problem, factor))
    base = execute(problem, at, drawn).makespan
    assert execute(faster, at, scaled).makespan == base
    assert critical_path(problem, at, scaled) >= critical_path(problem, at, drawn) or factor < 1


def _scaled_cards(problem, factor):
    from dataclasses import replace

    from offramp.dgtp import MachineCluster

    return MachineCluster(
        tuple(
            replace(m, ingress_bps=m.ingress_bps * factor, egress_bps=m.egress_bps * factor)
            for m in problem.cluster.machines
        )
    )


@pytest.mark.full
@TRIALS
@given(SEEDS, st.randoms(use_true_random=False))
def test_names_of_machines_do_not_matter(seed, rng):
    from dataclasses import replace

    from offramp.dgtp import MachineCluster
    from offramp.dgtp.taskgraph import TaskGraph

    problem, at, drawn = of.random_problem(seed)
    order = list(range(len(problem.cluster)))
    rng.shuffle(order)  # machine m becomes order[m]
    machines = [None] * len(order)
    for m, machine in enumerate(problem.cluster.machines):
        machines[order[m]] = machine
    tasks = tuple(replace(t, home=None if t.home is None else order[t.home]) for t in problem.graph.tasks)
    other = Problem(TaskGraph(tasks, problem.graph.edges), MachineCluster(tuple(machines)))
    moved = [order[m] for m in at]
    assert execute(other, moved, drawn).makespan == execute(problem, at, drawn).makespan


def test_everything_on_one_machine_needs_no_network():
    problem = of.example_a()
    from dataclasses import replace

    from offramp.dgtp.taskgraph import TaskGraph

    tasks = tuple(replace(task, home=None) for task in problem.graph.tasks)
    free = Problem(TaskGraph(tasks, problem.graph.edges), problem.cluster)
    for iterations, makespan in {1: 5, 2: 8, 3: 11, 10: 32}.items():
        drawn = of.exact(problem, iterations)
        assert execute(free, [0] * 6, drawn).makespan == critical_path(free, [0] * 6, drawn) == makespan


def test_a_card_a_thousand_times_slower():
    problem, at = of.example_b(2)
    drawn = of.exact(problem, 5)
    cluster = _scaled_cards(problem, 1).machines
    from dataclasses import replace

    from offramp.dgtp import MachineCluster

    slow = Problem(problem.graph, MachineCluster((replace(cluster[0], egress_bps=Fraction(8, 1000)), cluster[1])))
    exactly = execute(slow, at, drawn).makespan
    assert FastCluster(slow, of.as_floats(drawn)).makespan(np.array(at)) == pytest.approx(float(exactly), rel=1e-9)
    assert exactly > 1000
