# SPDX-License-Identifier: Apache-2.0
"""Chakra traces: our own again, a hand-made one of the published schema byte by byte, and faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp.hermod.build import job_dag
from offramp.hermod.chakra import Node, Trace, export_dag, load_dag, read_trace, write_trace
from offramp.hermod.chakra import schema as chakra
from offramp.hermod.dag import Coflow, Compute, Dag
from offramp.hermod.factors import CType
from offramp.hermod.job import Job
from offramp.hermod.models import Model
from offramp_base.errors import OfframpError

SPARSE = Model("sparse", 4, 64, 4, 4, 100, 256, experts=4, top_k=2)
JOB = Job(SPARSE, 8, 2, ep=4, micro_batches=2, gpus_per_server=2, nics_per_server=2, imbalance=0.5)


def described(dag: Dag) -> list[tuple[object, ...]]:
    """Every task by what it is, with what it waits for, in an order of its own."""

    def name(task: Compute | Coflow) -> tuple[object, ...]:
        if isinstance(task, Compute):
            return "compute", task.worker, task.iteration, task.mid, task.layers, task.backward
        pairs = zip(task.flows.source.tolist(), task.flows.sink.tolist(), task.flows.size.round().tolist(), strict=True)
        return task.role, task.iteration, task.factors, task.stage, tuple(sorted(pairs))

    return sorted(
        ((name(t), tuple(sorted((name(dag.tasks[b]) for b in t.waits), key=repr))) for t in dag.tasks), key=repr
    )


@pytest.mark.parametrize("suffix", ["et", "json"])
def test_our_own_traces_come_back(tmp_path: Path, suffix: str) -> None:
    dag = job_dag(JOB, 2)
    paths = export_dag(dag, tmp_path, suffix)
    assert len(paths) == dag.workers
    back = load_dag(tmp_path)
    assert described(back) == described(dag)
    facts = ("workers", "stages", "iterations", "layers", "micro_batches", "interleaved")
    assert [getattr(back, f) for f in facts] == [getattr(dag, f) for f in facts]
    times = [sorted(t.seconds for _, t in d.computations()) for d in (dag, back)]
    assert times[1] == pytest.approx(times[0], abs=5.1e-7)


def test_a_barrier_comes_back(tmp_path: Path) -> None:
    dag = job_dag(
        Job(SPARSE, 8, 2, ep=4, micro_batches=2, gpus_per_server=2, nics_per_server=2, iteration_barrier=True), 2
    )
    export_dag(dag, tmp_path)
    assert described(load_dag(tmp_path)) == described(dag)


def test_the_bytes_are_those_of_the_published_schema(tmp_path: Path) -> None:
    node = Node(3, "ar", chakra.COLLECTIVE, [1, 2], 5, {"comm_type": 0, "is_cpu_op": False})
    write_trace(Trace([node], version="v"), tmp_path / "a.0.et")
    assert (tmp_path / "a.0.et").read_bytes() == (
        b"\x03\x0a\x01v"  # GlobalMetadata: field 1
        b"\x2d\x08\x03\x12\x02ar\x18\x07"  # id 1, name 2, type 3
        b"\x2a\x02\x01\x02\x38\x05"  # data_deps 5 packed, duration_micros 7
        b"\x52\x0d\x0a\x09comm_type\x48\x00"  # attr 10: name 1, int64_val 9
        b"\x52\x0e\x0a\x09is_cpu_op\xd8\x01\x00"  # bool_val 27
    )
    assert read_trace(tmp_path / "a.0.et").nodes == [node]


def test_traces_of_others_need_no_attributes_of_ours(tmp_path: Path) -> None:
    for rank in range(4):
        nodes = [
            Node(1, "fwd", chakra.COMPUTE, [], 100),
            Node(2, "a2a", chakra.COLLECTIVE, [1], 0, {"comm_type": chakra.ALL_TO_ALL, "comm_size": 400}),
            Node(3, "load", chakra.MEMORY_LOAD, [1], 7),
            Node(4, "ar", chakra.COLLECTIVE, [2, 3], 0, {"comm_type": chakra.ALL_REDUCE, "comm_size": 400}),
        ]
        peer = {"comm_dst" if rank == 0 else "comm_src": 1 - rank, "comm_tag": 9, "comm_size": 50}
        if rank < 2:
            nodes.append(Node(5, "p2p", chakra.SEND if rank == 0 else chakra.RECEIVE, [4], 0, peer))
        write_trace(Trace(nodes), tmp_path / f"theirs.{rank}.et")
    dag = load_dag(tmp_path)
    coflows = [c for _, c in dag.coflows()]
    assert [c.ctype for c in coflows] == [CType.EP, CType.DP, CType.PP]
    exchange, reduction, transfer = (c.flows for c in coflows)
    assert len(exchange.size) == 12
    assert set(exchange.size) == {100}
    assert set(reduction.size) == {2 * 400 * 3 // 4}
    assert sorted(zip(reduction.source.tolist(), reduction.sink.tolist(), strict=True)) == [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 0),
    ]
    assert (transfer.source.tolist(), transfer.sink.tolist(), transfer.size.tolist()) == ([0], [1], [50])
    assert sum(t.seconds for _, t in dag.computations()) == pytest.approx(4e-4)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([Node(1, "a", chakra.COMPUTE, [9])], "rank 0: node 1 waits for 9, which is absent"),
        ([Node(1, "a", chakra.COMPUTE), Node(1, "b", chakra.COMPUTE)], "rank 0: node 1 is there twice"),
        (
            [Node(1, "a", chakra.COLLECTIVE, [], 0, {"comm_type": 5})],
            "rank 0: node 1: collective of type 5 is not handled",
        ),
        ([Node(1, "a", chakra.SEND, [], 0, {"comm_dst": 3})], "rank 0: node 1: its peer 3 is none of 1 ranks"),
        ([Node(1, "a", 9)], "rank 0: node 1: kind 9 is not handled"),
        ([Node(1, "a", chakra.COMPUTE, [2]), Node(2, "b", chakra.COMPUTE, [1])], "a cycle of dependencies"),
    ],
)
def test_a_trace_that_makes_no_sense_is_refused(nodes: list[Node], message: str, tmp_path: Path) -> None:
    write_trace(Trace(nodes), tmp_path / "x.0.et")
    with pytest.raises(OfframpError) as error:
        load_dag(tmp_path)
    assert str(error.value) == message


@pytest.mark.parametrize("content", [b"\xff", b"\x05abc", b"\x02\x0a\x05", b""])
def test_what_is_no_trace_is_said(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.0.et"
    path.write_bytes(content)
    with pytest.raises(OfframpError, match="not a Chakra execution trace"):
        read_trace(path)
    (tmp_path / "x.0.json").write_text("[3]")
    with pytest.raises(OfframpError, match="not a Chakra execution trace"):
        read_trace(tmp_path / "x.0.json")
    with pytest.raises(OfframpError, match=r"no files like trace\.0\.et"):
        load_dag(tmp_path / "absent")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"global_metadata": {"\\ud800": 1}, "nodes": []}', "x.json: expected JSON: half of a surrogate pair"),
        ("[" * 100_000, "x.json: expected JSON: nested deeper than 50"),
        ('{"nodes": [{"id": 1, "id": 2}]}', "x.json: expected JSON: id is there twice in one object"),
    ],
)
def test_hostile_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(OfframpError, match=message):
        read_trace(path)
