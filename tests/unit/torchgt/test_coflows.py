# SPDX-License-Identifier: Apache-2.0
"""A step's exchanges as coflows: bytes, order, priorities, and the programs that read them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from offramp.hermod.chakra import load_dag
from offramp.hermod.dag import Coflow, Compute
from offramp.hermod.factors import CType
from offramp.hermod.plan_file import plan_from
from offramp.torchgt.coflows import StepExchanges, export_step, priorities, step_dag
from offramp.torchgt.parallel import layer_bytes
from offramp_sim.hermod.flow.simulate import simulate
from offramp_sim.hermod.flow.study import SimulationSetup, prepare_traces

STEP = StepExchanges(4, 256, 32, 3, 4, 4, 5000, 700, 0.3)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_bytes_are_those_of_the_formula(ranks: int) -> None:
    step = StepExchanges(ranks, 256, 32, 3, 4, 4, 5000, 700, 0.3)
    sent = np.zeros((3, ranks))
    summed = 0.0
    for _, coflow in step_dag(step).coflows():
        if coflow.ctype is CType.EP:
            np.add.at(sent[coflow.factors.lid], coflow.flows.source, coflow.flows.size)
        else:
            summed += coflow.flows.size.sum()
    assert (sent == 2 * layer_bytes(256, 32, ranks)).all()
    parameters = 3 * 5000 + 700
    assert summed == pytest.approx(2 * (ranks - 1) * parameters * 4)


def test_tasks_wait_for_those_before_and_all_time_is_there() -> None:
    dag = step_dag(STEP)
    assert all(before < k for k, task in enumerate(dag.tasks) for before in task.waits)
    assert sum(task.seconds for _, task in dag.computations()) == pytest.approx(4 * 0.3)
    roles = Counter(task.role for _, task in dag.coflows())
    assert set(roles.values()) == {3}
    assert len(roles) == 6
    for _, task in dag.computations():
        for before in task.waits:
            other = dag.tasks[before]
            assert isinstance(other, Coflow) or other.worker == task.worker


def test_sums_start_with_a_layer_and_nothing_waits_for_them() -> None:
    dag = step_dag(STEP)
    waited = {before for task in dag.tasks if isinstance(task, Compute) for before in task.waits}
    last = max(k for k, coflow in dag.coflows() if coflow.ctype is CType.EP)
    for k, coflow in dag.coflows():
        assert (k in waited) == (coflow.ctype is CType.EP and k != last)


def test_tokens_go_before_sums_and_lower_layers_first() -> None:
    document = priorities(STEP)
    plan_from(document)
    by_type: dict[bool, set[int]] = {True: set(), False: set()}
    for coflow in document["coflows"]:
        by_type[coflow["role"] in ("reduce-scatter", "all-gather")].add(coflow["queue"])
        assert document["dscp_to_queue"][coflow["dscp"]] == coflow["queue"]
        assert coflow["bytes"] == sum(size for _, _, size in coflow["flows"])
    assert max(by_type[True]) < min(by_type[False])
    dscp = {c["layer"]: c["dscp"] for c in document["coflows"] if c["role"] == "dispatch"}
    assert dscp[0] > dscp[1] >= dscp[2]


def test_traces_come_back_and_priorities_never_lose(tmp_path) -> None:
    paths = export_step(STEP, tmp_path)
    assert [path.name for path in paths] == [f"trace.{rank}.et" for rank in range(4)]
    dag = load_dag(tmp_path)
    assert sum(1 for _ in dag.coflows()) == sum(1 for _ in step_dag(STEP).coflows())
    slow = prepare_traces(dag, 1e-3, SimulationSetup())
    seconds = {policy: simulate(slow, policy).iteration_s for policy in ("fair", "hermod")}
    assert 0.3 < seconds["hermod"] < seconds["fair"]
