# SPDX-License-Identifier: Apache-2.0
"""Chakra traces: our own again, a hand-made one of the published schema byte by byte, and faults."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from offramp.hermod.build import job_dag
from offramp.hermod.chakra import ChakraNode, ChakraTrace, export_dag, load_dag, read_trace, write_trace
from offramp.hermod.chakra import schema as chakra
from offramp.hermod.chakra.load import _on_wires
from offramp.hermod.chakra.match import TaskShare
from offramp.hermod.dag import Coflow, Compute, Dag, Flows
from offramp.hermod.factors import CType
from offramp.hermod.job import HermodJob
from offramp.hermod.models import DecoderTransformer
from offramp.hermod.traffic import ring
from offramp.themis.kinds import Collective
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.simulate import simulate
from offramp_sim.hermod.flow.study import SimulationSetup, prepare_traces

SPARSE = DecoderTransformer("sparse", 4, 64, 4, 4, 100, 256, experts=4, top_k=2)
JOB = HermodJob(SPARSE, 8, 2, ep=4, micro_batches=2, gpus_per_server=2, nics_per_server=2, imbalance=0.5)


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
        HermodJob(SPARSE, 8, 2, ep=4, micro_batches=2, gpus_per_server=2, nics_per_server=2, iteration_barrier=True), 2
    )
    export_dag(dag, tmp_path)
    assert described(load_dag(tmp_path)) == described(dag)


def test_others_read_groups_and_sizes_from_an_export(tmp_path: Path) -> None:
    """``comm_size`` is what a rank brings; two replicas of two stages make two groups."""
    dense = HermodJob(
        DecoderTransformer("dense", 4, 64, 4, 4, 100, 256), 4, 2, micro_batches=2, gpus_per_server=1, nics_per_server=1
    )
    export_dag(job_dag(dense, 1), tmp_path)
    groups = json.loads((tmp_path / "trace.groups.json").read_text())
    assert sorted(groups.values()) == [[0, 1], [2, 3]]
    rows = [node.attributes for node in read_trace(tmp_path / "trace.0.et").nodes if node.kind == chakra.COLLECTIVE]
    assert {str(row["pg_name"]) for row in rows} == {name for name, ranks in groups.items() if 0 in ranks}
    gradients = {row["comm_size"] for row in rows if row["comm_type"] == chakra.REDUCE_SCATTER}
    parameters = {row["comm_size"] for row in rows if row["comm_type"] == chakra.ALL_GATHER}
    assert gradients == {dense.dense_parameters() * dense.gradient_bytes}
    assert parameters == {dense.dense_parameters()}  # of two bytes each, half of which a rank has


def test_ends_and_lists_have_the_types_that_chakras_feeder_reads(tmp_path: Path) -> None:
    facts: dict[str, object] = {"comm_dst": 3, "tensor_size": 4, "involved_dim": [True, False], "names": ["a"]}
    node = ChakraNode(1, "send", chakra.SEND, [], 0, facts)  # type: ignore[arg-type]
    write_trace(ChakraTrace([node]), tmp_path / "a.0.json")
    (row,) = json.loads((tmp_path / "a.0.json").read_text())["nodes"]
    kinds = [next(key for key in each if key != "name") for each in row["attr"]]
    assert kinds == ["int32_val", "uint64_val", "bool_list", "string_list"]
    assert read_trace(tmp_path / "a.0.json").nodes == [node]


def test_the_bytes_are_those_of_the_published_schema(tmp_path: Path) -> None:
    node = ChakraNode(3, "ar", chakra.COLLECTIVE, [1, 2], 5, {"comm_type": 0, "is_cpu_op": False})
    write_trace(ChakraTrace([node], version="v"), tmp_path / "a.0.et")
    assert (tmp_path / "a.0.et").read_bytes() == (
        b"\x03\x0a\x01v"  # GlobalMetadata: field 1
        b"\x2d\x08\x03\x12\x02ar\x18\x07"  # id 1, name 2, type 3
        b"\x2a\x02\x01\x02\x38\x05"  # data_deps 5 packed, duration_micros 7
        b"\x52\x0d\x0a\x09comm_type\x48\x00"  # attr 10: name 1, int64_val 9
        b"\x52\x0e\x0a\x09is_cpu_op\xd8\x01\x00"  # bool_val 27
    )
    assert read_trace(tmp_path / "a.0.et").nodes == [node]


def test_a_profilers_tree_of_calls_is_no_dependency(tmp_path: Path) -> None:
    """Control dependencies count where there are no others."""
    rows = [{"id": 1, "type": chakra.COMPUTE, "ctrl_deps": [2]}, {"id": 2, "type": chakra.COMPUTE, "ctrl_deps": []}]
    path = tmp_path / "x.0.json"
    path.write_text(json.dumps({"nodes": rows}))
    assert [node.waits for node in read_trace(path).nodes] == [[2], []]
    path.write_text(json.dumps({"nodes": [rows[0], rows[1] | {"data_deps": [1], "ctrl_deps": [2]}]}))
    assert [node.waits for node in read_trace(path).nodes] == [[], [1]]


def test_traces_of_others_need_no_attributes_of_ours(tmp_path: Path) -> None:
    for rank in range(4):
        nodes = [
            ChakraNode(1, "fwd", chakra.COMPUTE, [], 100),
            ChakraNode(2, "a2a", chakra.COLLECTIVE, [1], 0, {"comm_type": chakra.ALL_TO_ALL, "comm_size": 400}),
            ChakraNode(3, "load", chakra.MEMORY_LOAD, [1], 7),
            ChakraNode(4, "ar", chakra.COLLECTIVE, [2, 3], 0, {"comm_type": chakra.ALL_REDUCE, "comm_size": 400}),
        ]
        peer = {"comm_dst" if rank == 0 else "comm_src": 1 - rank, "comm_tag": 9, "comm_size": 50}
        if rank < 2:
            nodes.append(ChakraNode(5, "p2p", chakra.SEND if rank == 0 else chakra.RECEIVE, [4], 0, peer))
        write_trace(ChakraTrace(nodes), tmp_path / f"theirs.{rank}.et")
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
        ([ChakraNode(1, "a", chakra.COMPUTE, [9])], "rank 0: node 1 waits for 9, which is absent"),
        ([ChakraNode(1, "a", chakra.COMPUTE), ChakraNode(1, "b", chakra.COMPUTE)], "rank 0: node 1 is there twice"),
        (
            [ChakraNode(1, "a", chakra.COLLECTIVE, [], 0, {"comm_type": 55})],
            "rank 0: node 1: collective of type 55 is not handled",
        ),
        ([ChakraNode(1, "a", chakra.SEND, [], 0, {"comm_dst": 3})], "rank 0: node 1: its peer 3 is not one of 1 ranks"),
        ([ChakraNode(1, "a", 9)], "rank 0: node 1: kind 9 is not handled"),
        ([ChakraNode(1, "a", chakra.COMPUTE, [2]), ChakraNode(2, "b", chakra.COMPUTE, [1])], "a cycle of dependencies"),
    ],
)
def test_a_trace_that_makes_no_sense_is_refused(nodes: list[ChakraNode], message: str, tmp_path: Path) -> None:
    write_trace(ChakraTrace(nodes), tmp_path / "x.0.et")
    with pytest.raises(OfframpError) as error:
        load_dag(tmp_path)
    assert str(error.value) == message


def collective(kind: int, size: int, waits: list[int] | None = None, **more: object) -> ChakraNode:
    return ChakraNode(9, "c", chakra.COLLECTIVE, waits or [], 0, {"comm_type": kind, "comm_size": size, **more})  # type: ignore[dict-item]


def write(folder: Path, ranks: list[list[ChakraNode]]) -> Path:
    for rank, nodes in enumerate(ranks):
        write_trace(ChakraTrace(nodes), folder / f"theirs.{rank}.et")
    return folder


def pairs(dag: Dag) -> list[list[tuple[int, int, int]]]:
    """Source, sink and bytes of each coflow."""
    flows = [c.flows for _, c in dag.coflows()]
    return [[(int(a), int(b), int(n)) for a, b, n in zip(f.source, f.sink, f.size, strict=True)] for f in flows]


def test_an_iteration_ends_with_its_last_task(tmp_path: Path) -> None:
    """A millisecond of computation, then 1 GiB by a ring of eight at 100 Gb/s, to the microsecond."""
    nodes = [ChakraNode(1, "fwd", chakra.COMPUTE, [], 1000), collective(chakra.ALL_REDUCE, 1 << 30, [1])]
    loaded = prepare_traces(load_dag(write(tmp_path, [nodes] * 8)), 100, SimulationSetup())
    expected = 1e-3 + 2 * (7 / 8) * (1 << 30) / (100e9 / 8)
    assert simulate(loaded, "fair").iteration_s == pytest.approx(expected, rel=1e-6)


def test_traces_without_computation_have_a_time(tmp_path: Path) -> None:
    loaded = prepare_traces(
        load_dag(write(tmp_path, [[collective(chakra.ALL_REDUCE, 8000)]] * 4)), 100, SimulationSetup()
    )
    assert simulate(loaded, "fair").iteration_s == pytest.approx(12_000 / 12.5e9, rel=1e-6)


@pytest.mark.parametrize("kind", [chakra.ALL_REDUCE, chakra.ALL_GATHER, chakra.REDUCE_SCATTER])
def test_rings_go_both_ways_round_with_half_of_the_bytes_each(tmp_path: Path, kind: int) -> None:
    folder = write(tmp_path, [[collective(kind, 801)]] * 4)
    (one,), (both_ways,) = (pairs(load_dag(folder, bidirectional=ways)) for ways in (False, True))
    assert sorted(both_ways) == sorted(
        (source, peer, part)
        for source, _, size in one
        for peer, part in (((source + 1) % 4, size - size // 2), ((source - 1) % 4, size // 2))
    )
    times = [
        simulate(prepare_traces(load_dag(folder, bidirectional=ways), 100, SimulationSetup()), "fifo").iteration_s
        for ways in (False, True)
    ]
    assert times[1] == pytest.approx(times[0], rel=1e-2)


def test_the_rings_of_a_job_go_both_ways_round() -> None:
    members = np.arange(4)
    ring_flows = ring(members, 100.0, bidirectional=True)
    assert sorted(
        zip(ring_flows.source.tolist(), ring_flows.sink.tolist(), ring_flows.size.tolist(), strict=True)
    ) == sorted((k, (k + way) % 4, 50.0) for k in range(4) for way in (1, -1))
    two = ring(members[:2], 100.0, bidirectional=True)
    assert (two.sink.tolist(), two.size.tolist()) == ([1, 0], [100.0, 100.0])
    dag = job_dag(JOB, 1, bidirectional=True)
    rings = [c.flows for _, c in dag.coflows() if c.ctype is CType.DP and len(set(c.flows.source)) > 2]
    assert rings
    assert all(len(flows.size) == 2 * len(set(flows.source)) for flows in rings)


@pytest.mark.parametrize("field", ["pg_name", "comm_group"])
def test_groups_stay_apart(field: str, tmp_path: Path) -> None:
    """Two rings of four, not one of eight."""
    ranks = [[collective(chakra.ALL_REDUCE, 400, **{field: str(rank // 4)})] for rank in range(8)]
    rings = pairs(load_dag(write(tmp_path, ranks)))
    assert [[(a, b) for a, b, _ in ring] for ring in rings] == [
        [(0, 1), (1, 2), (2, 3), (3, 0)],
        [(4, 5), (5, 6), (6, 7), (7, 4)],
    ]


def test_groups_of_a_file_and_of_a_captured_trace(tmp_path: Path) -> None:
    ranks = [[collective(chakra.ALL_GATHER, 10, pg_name="7")] if rank in (1, 3) else [] for rank in range(4)]
    write(tmp_path, ranks)
    (tmp_path / "comm_group.json").write_text('{"7": [3, 1]}')
    assert pairs(load_dag(tmp_path)) == [[(1, 3, 10), (3, 1, 10)]]
    (tmp_path / "comm_group.json").write_text('{"7": [3, 2, 1]}')
    with pytest.raises(OfframpError, match=r"rank 1: node 9: all-gather number 0 of its group is not on rank 2"):
        load_dag(tmp_path)
    (tmp_path / "comm_group.json").write_text('{"7": [3, 9]}')
    with pytest.raises(OfframpError, match=r"group 7: rank 9 is not one of the 4 that there are traces of"):
        load_dag(tmp_path)
    (tmp_path / "comm_group.json").unlink()
    metadata = ChakraNode(
        1, "## process_group:init ##", chakra.METADATA, inputs="""['[{"pg_name": "7", "ranks": [1, 2, 3]}]']"""
    )
    write(tmp_path, [[metadata, *nodes] for nodes in ranks])
    with pytest.raises(OfframpError, match=r"number 0 of its group is not on rank 2"):
        load_dag(tmp_path)


def test_operations_of_the_cpu_take_no_time_beside_those_they_launch(tmp_path: Path) -> None:
    launch = ChakraNode(
        1, "nccl:all_reduce", chakra.COLLECTIVE, [], 50, {"comm_type": 0, "comm_size": 99, "is_cpu_op": True}
    )
    call = ChakraNode(2, "aten::mm", chakra.COMPUTE, [1], 400, {"is_cpu_op": True})
    kernel = ChakraNode(3, "gemm", chakra.COMPUTE, [2], 100, {"is_cpu_op": False})
    dag = load_dag(write(tmp_path, [[launch, call, kernel]] * 2))
    assert not list(dag.coflows())
    assert sorted(t.seconds for _, t in dag.computations()) == pytest.approx([0] * 4 + [1e-4] * 2)
    write(tmp_path, [[ChakraNode(1, "a", chakra.COMPUTE, [], 400, {"is_cpu_op": True})]] * 2)
    assert sum(t.seconds for _, t in load_dag(tmp_path).computations()) == pytest.approx(8e-4)


def test_a_ring_of_sends_and_receives_is_no_cycle(tmp_path: Path) -> None:
    """Each rank sends, then receives, then sends what it has received: two turns, one after the other."""
    ranks = []
    for rank in range(3):
        to, of = {"comm_dst": (rank + 1) % 3, "comm_size": 12_500}, {"comm_src": (rank - 1) % 3, "comm_size": 12_500}
        nodes = [ChakraNode(1, "s", chakra.SEND, [], 0, to), ChakraNode(2, "r", chakra.RECEIVE, [1], 0, of)]
        ranks.append(
            [*nodes, ChakraNode(3, "s", chakra.SEND, [2], 0, to), ChakraNode(4, "r", chakra.RECEIVE, [3], 0, of)]
        )
    loaded = prepare_traces(load_dag(write(tmp_path, ranks)), 100, SimulationSetup())
    assert simulate(loaded, "fair").iteration_s == pytest.approx(2e-6, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (chakra.REDUCE, [(0, 1, 60), (2, 0, 60)]),
        (chakra.GATHER, [(0, 1, 60), (2, 1, 60)]),
        (chakra.SCATTER, [(1, 0, 20), (1, 2, 20)]),
        (chakra.BROADCAST, [(1, 2, 60), (2, 0, 60)]),
        (chakra.ALL_GATHER, [(0, 1, 120), (1, 2, 120), (2, 0, 120)]),
        (chakra.REDUCE_SCATTER_BLOCK, [(0, 1, 40), (1, 2, 40), (2, 0, 40)]),
        (chakra.BARRIER, []),
    ],
)
def test_every_collective_moves_its_bytes(kind: int, expected: list[tuple[int, int, int]], tmp_path: Path) -> None:
    """60 bytes of each of three ranks, the root is rank 1."""
    dag = load_dag(write(tmp_path, [[collective(kind, 60, comm_root=1)]] * 3))
    assert sorted(pairs(dag)[0]) == expected


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([[collective(0, 8)], []], "rank 0: node 9: all-reduce number 0 of its group is not on rank 1"),
        (
            [[ChakraNode(4, "s", chakra.SEND, [], 0, {"comm_dst": 1})], []],
            "rank 0: node 4: sends what no rank receives (number 0)",
        ),
        (
            [[], [ChakraNode(4, "r", chakra.RECEIVE, [], 0, {"comm_src": 0})]],
            "rank 1: node 4: receives what no rank sends (number 0)",
        ),
        ([[collective(3, 8, comm_root=5)]] * 2, "rank 0: node 9: its root 5 is not one of [0, 1]"),
    ],
)
def test_what_has_no_counterpart_is_named(ranks: list[list[ChakraNode]], message: str, tmp_path: Path) -> None:
    with pytest.raises(OfframpError) as error:
        load_dag(write(tmp_path, ranks))
    assert str(error.value) == message


def test_files_of_one_rank_and_of_several_traces_are_told_apart(tmp_path: Path) -> None:
    nodes = [[ChakraNode(1, "a", chakra.COMPUTE, [], 5)]] * 2
    write(tmp_path, nodes)
    for rank in range(2):
        write_trace(ChakraTrace([ChakraNode(1, "b", chakra.COMPUTE, [], 7)]), tmp_path / f"other_rank{rank}.json")
    with pytest.raises(OfframpError, match="traces other, theirs, expected one; name it as FOLDER/PREFIX"):
        load_dag(tmp_path)
    assert [t.seconds for _, t in load_dag(tmp_path / "other").computations()] == [7e-6, 7e-6]
    write_trace(ChakraTrace([]), tmp_path / "theirs.1.json")
    with pytest.raises(OfframpError, match=r"rank 1 has two files, theirs\.1\.et and theirs\.1\.json"):
        load_dag(tmp_path / "theirs")


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


class RecordingWires:
    """A network that notes which collectives it is asked for, and whose answer is one flow."""

    def __init__(self) -> None:
        self.asked: list[tuple[Collective, int, list[int]]] = []

    def latency_s(self, source: int, sink: int) -> float:
        return 1e-3 * (10 * source + sink)

    def collective(self, kind: Collective, size: int, ranks: Sequence[int]) -> tuple[Flows, float]:
        self.asked.append((kind, size, list(ranks)))
        return Flows(np.array([9]), np.array([8]), np.array([7.0])), 0.5


@pytest.mark.parametrize(
    ("kind", "sizes", "more", "asked"),
    [
        (chakra.ALL_REDUCE, (60, 60, 60), {}, [(Collective.ALL_REDUCE, 60, [0, 1, 2])]),
        (chakra.ALL_GATHER, (60, 60, 60), {}, [(Collective.ALL_GATHER, 180, [0, 1, 2])]),
        (chakra.ALL_REDUCE, (60, 60, 30), {}, []),  # ranks that bring different sizes
        (chakra.ALL_TO_ALL, (60, 60, 60), {"peers": [0], "sizes": [60]}, []),  # flows that the trace names
        (chakra.BARRIER, (0, 0, 0), {}, []),
    ],
)
def test_which_collectives_a_network_runs(kind, sizes, more, asked) -> None:
    wires = RecordingWires()
    attributes = [{"comm_type": kind, "comm_size": size} for size in sizes]
    attributes[-1] |= more
    nodes = [ChakraNode(0, "c", chakra.COLLECTIVE, [], 0, each) for each in attributes]
    ran = _on_wires([TaskShare(rank, node) for rank, node in reversed(list(enumerate(nodes)))], wires)
    assert wires.asked == asked
    assert (ran is None) == (not asked)
    assert ran is None or (ran[0].size.tolist(), ran[1]) == ([7.0], 0.5)
