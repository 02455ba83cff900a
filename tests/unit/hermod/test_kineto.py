# SPDX-License-Identifier: Apache-2.0
"""PyTorch's profiler traces: what waits for what, what collectives bring, and how long it takes on a network."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offramp.hermod.chakra import load_dag, read_trace, schema
from offramp.hermod.dag import Coflow, Compute
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow import SimulationSetup, prepare_traces, run_flows

SUM = {
    "Collective name": "allreduce",
    "In msg nelems": 25_000_000,
    "Out msg nelems": 25_000_000,
    "Group size": 2,
    "dtype": "Float",
    "Process Group Name": "0",
    "Process Group Ranks": "[0, 1]",
}


def kernel(name: str, stream: int, begin: float, length: float, **arguments: Any) -> dict[str, Any]:
    facts = {"cat": "kernel", "ph": "X", "pid": 0, "tid": stream, "name": name, "ts": begin, "dur": length}
    return facts | {"args": {"stream": stream, **arguments}}


def step(rank: int) -> dict[str, Any]:
    """Forward, backward with a sum beside its second half, and an optimiser that waits for both."""
    begin = 1000.0 * rank
    events = [
        kernel("forward", 7, begin, 10_000),
        kernel("backward 1", 7, begin + 10_000, 5_000),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, begin + 15_000, 30_000, **SUM),
        kernel("backward 2", 7, begin + 15_000, 5_000),
        kernel("optimizer", 7, begin + 45_000, 1_000),
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": begin, "dur": 3, "tid": 1},
    ]
    info = {"rank": rank, "world_size": 2, "pg_config": [{"pg_name": "0", "pg_size": 2, "ranks": [0, 1]}]}
    return {"schemaVersion": 1, "distributedInfo": info, "traceEvents": events}


def write(folder: Path, *, packed: bool = False, **changes: Any) -> Path:
    for rank in range(2):
        text = json.dumps(step(rank) | changes)
        path = folder / f"trace.rank{rank}.json{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_a_step_takes_its_computation_and_the_networks_time(tmp_path: Path, packed: bool) -> None:
    """15 ms, then the longer of 5 ms and of 100 MB both ways over 10 Gbit/s, then 1 ms."""
    dag = load_dag(write(tmp_path, packed=packed))
    assert dag.workers == 2
    assert sum(isinstance(task, Coflow) for task in dag.tasks) == 1
    (coflow,) = (task for task in dag.tasks if isinstance(task, Coflow))
    assert coflow.flows.size.tolist() == [100_000_000, 100_000_000]
    seconds = sorted(task.seconds for task in dag.tasks if isinstance(task, Compute) and task.seconds)
    assert seconds == [0.001] * 2 + [0.005] * 4 + [0.01] * 2
    result = run_flows(prepare_traces(dag, 10.0, SimulationSetup()), "fair")
    assert result.end.max() == pytest.approx(0.015 + 0.08 + 0.001)
    fast = run_flows(prepare_traces(dag, 1000.0, SimulationSetup()), "fair")
    assert fast.end.max() == pytest.approx(0.015 + 0.005 + 0.001)


def test_gaps_count_as_computation(tmp_path: Path) -> None:
    events = [kernel("a", 7, 0, 100), kernel("b", 7, 350, 50)]
    (tmp_path / "trace.0.json").write_text(json.dumps({"traceEvents": events}))
    assert [(node.name, node.duration_us, node.waits) for node in read_trace(tmp_path / "trace.0.json").nodes] == [
        ("a", 100, []),
        ("gap", 250, [0]),
        ("b", 50, [1]),
    ]


@pytest.mark.parametrize(
    ("called", "kind"),
    [
        ("_allgather_base", schema.ALL_GATHER),
        ("all_gather_into_tensor_coalesced", schema.ALL_GATHER),
        ("_reduce_scatter_base", schema.REDUCE_SCATTER),
        ("all_to_allv", schema.ALL_TO_ALL),
        ("broadcast", schema.BROADCAST),
        ("reduce", schema.REDUCE),
    ],
)
def test_names_of_collectives(tmp_path: Path, called: str, kind: int) -> None:
    event = kernel("ncclDevKernel", 20, 0, 5, **SUM | {"Collective name": called, "dtype": "BFloat16"})
    (tmp_path / "trace.0.json").write_text(json.dumps({"traceEvents": [event]}))
    node = read_trace(tmp_path / "trace.0.json").nodes[-1]
    assert node.attributes["comm_type"] == kind
    assert node.attributes["comm_size"] == 50_000_000


def test_sends_and_receives_belong_together(tmp_path: Path) -> None:
    for rank, (name, field) in enumerate((("send", "Dst Rank"), ("recv", "Src Rank"))):
        event = kernel("ncclDevKernel_SendRecv", 20, 0, 5, **SUM | {"Collective name": name, field: 1 - rank})
        (tmp_path / f"trace.{rank}.json").write_text(json.dumps({"traceEvents": [event]}))
    (coflow,) = (task for task in load_dag(tmp_path).tasks if isinstance(task, Coflow))
    assert np.array_equal(np.stack([coflow.flows.source, coflow.flows.sink]), [[0], [1]])


@pytest.mark.parametrize(
    ("whole", "problem"),
    [
        ({"traceEvents": []}, "no kernels of a GPU"),
        ({"traceEvents": [kernel("ncclKernel_AllReduce", 20, 0, 5)]}, "does not say which collective"),
        ({"traceEvents": [kernel("n", 20, 0, 5, **SUM | {"Collective name": "magic"})]}, "expected one of allreduce"),
        ({"traceEvents": [kernel("n", 20, 0, 5, **SUM | {"dtype": "?"})]}, "expected a number and a type"),
        ({"traceEvents": [kernel("n", 20, 0, 5, **SUM | {"Collective name": "send"})]}, "expected Dst Rank"),
        ({"schema": "1.1.1-chakra.0.0.4", "nodes": []}, "chakra_trace_link and chakra_converter"),
    ],
)
def test_what_a_trace_lacks_is_one_line(tmp_path: Path, whole: dict[str, Any], problem: str) -> None:
    path = tmp_path / "trace.0.json"
    path.write_text(json.dumps(whole))
    with pytest.raises(OfframpError, match=problem) as refused:
        read_trace(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_trace_of_one_rank_alone_names_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "trace.0.json").write_text(json.dumps(step(0)))
    with pytest.raises(OfframpError, match="rank 1"):
        load_dag(tmp_path)
