# SPDX-License-Identifier: Apache-2.0
"""Iterations with computation against ASTRA-sim's analytical back end at its own latencies: to the nanosecond.

Measured with ASTRA-sim at commit 518bd51 (of March 2026) and its analytical back end, congestion-unaware; before
November 2025 its groups were always rings. The slow tests measure again, with the program that ``OFFRAMP_ASTRA_SIM``
names, on networks, traces and text workloads below the folder that ``OFFRAMP_ASTRA_INPUTS`` names. Blind to: ranks that
begin a collective over several dimensions at different times, which all end together here.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from astra_sim_program import FOLDER, NEEDED, ends_ns, network_files, system_of
from offramp.hermod.build import job_dag
from offramp.hermod.chakra import schema
from offramp.hermod.chakra.export import GROUPS, export_dag
from offramp.hermod.chakra.groups import groups_of
from offramp.hermod.chakra.load import read_ranks
from offramp.hermod.chakra.node import ChakraNode, ChakraTrace
from offramp.hermod.chakra.trace import write_trace
from offramp.hermod.job import HermodJob
from offramp.hermod.models import DecoderTransformer
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.network_file import load_network
from offramp.themis.system_file import SystemFile
from offramp_base.errors import OfframpError
from offramp_sim.themis.iteration import train
from offramp_sim.themis.trace import TracedIteration, run_traces
from offramp_sim.themis.workload import CommunicationScope, LayerCollective, TrainingWorkload, WorkloadLayer
from offramp_sim.themis.workload_file import load_workload
from workload_traces import WorkloadTrace

MIB = 1 << 20
MOST_MESSAGES = 64**3
"""Most messages of a stage in which all NPUs send to each other, in as many chunks; ASTRA-sim takes long for more."""
US = 1_000_000
SYSTEM = SystemFile(endpoint_ns=10, memory_bps=50 * 8e9)
NETWORKS = {
    "ring": [("Ring", 8, 50, 500)],
    "switch": [("Switch", 8, 50, 500)],
    "direct": [("FullyConnected", 8, 50, 500)],
    "two": [("Ring", 8, 200, 50), ("Switch", 2, 50, 500)],
}
MODEL = DecoderTransformer("small", 8, 1024, 16, 16, 32_000, 4096)
SPARSE = replace(MODEL, experts=4, top_k=2)
FAST = {"gpu_tflops": 312.0 * 20}
"""GPUs so fast that communication is most of the time."""
JOBS = {
    "replicas": HermodJob(MODEL, 8, pp=1, micro_batches=2, **FAST),
    "pipeline": HermodJob(MODEL, 8, pp=8, micro_batches=8, **FAST),
    "both": HermodJob(MODEL, 8, pp=2, micro_batches=4, **FAST),
    "interleaved": HermodJob(MODEL, 8, pp=4, micro_batches=4, schedule="interleaved", chunks=2, **FAST),
    "experts": HermodJob(SPARSE, 8, pp=2, ep=4, micro_batches=2, **FAST),
    "large": HermodJob(MODEL, 16, pp=2, micro_batches=4, **FAST),
}


def network_file(folder: Path, rows: list[tuple[str, int, float, float]]) -> Path:
    lines = ("topology", "npus_count", "bandwidth", "latency")
    columns = zip(*rows, strict=True)
    path = folder / "network.yml"
    path.write_text("\n".join(f"{k}: [ {', '.join(map(str, e))} ]" for k, e in zip(lines, columns, strict=True)))
    return path


def run(place: Path, network: Network, chunks: int, system: SystemFile = SYSTEM) -> TracedIteration:
    return run_traces(place, system.on(network), system, "baseline", chunks)


MEASURED = [  # job, network, chunks, nanoseconds
    ("replicas", "ring", 1, 49_688_976),
    ("replicas", "ring", 64, 53_288_936),
    ("replicas", "switch", 1, 33_574_224),
    ("replicas", "switch", 16, 34_302_952),
    ("pipeline", "ring", 1, 27_653_500),
    ("both", "ring", 1, 50_327_808),
    ("both", "ring", 16, 50_865_231),
    ("both", "direct", 64, 27_208_068),
    ("interleaved", "switch", 16, 30_364_307),
    ("experts", "switch", 16, 37_635_613),
    ("experts", "ring", 1, 115_626_920),
    ("experts", "ring", 64, 131_735_026),
    ("large", "two", 16, 46_449_746),
]


@pytest.mark.parametrize(("job", "network", "chunks", "theirs"), MEASURED)
def test_jobs(tmp_path, job, network, chunks, theirs):
    export_dag(job_dag(JOBS[job], 1), tmp_path)
    ran = run(tmp_path / "trace", load_network(str(network_file(tmp_path, NETWORKS[network]))), chunks)
    assert ran.total == theirs * 1000
    assert 0 < ran.compute < ran.total


RING = Network("ring", (Dimension(DimensionTopology.RING, 4, 16e9, 1000),))
PLAIN = SystemFile(endpoint_ns=10)


def compute(number: int, us: int, *waits: int, **facts: int) -> ChakraNode:
    return ChakraNode(number, "compute", schema.COMPUTE, list(waits), us, dict(facts))


def reduce(number: int, size: int, *waits: int, **facts: object) -> ChakraNode:
    return ChakraNode(number, "sum", schema.COLLECTIVE, list(waits), 0, {"comm_type": 0, "comm_size": size, **facts})


def written(folder: Path, ranks: list[list[ChakraNode]]) -> Path:
    for rank, nodes in enumerate(ranks):
        write_trace(ChakraTrace(nodes), folder / f"trace.{rank}.et")
    return folder / "trace"


STEP = 1000 + 1024 + 10
"""Nanoseconds of a step of an all-reduce of 4,096 bytes: a link, 1,024 bytes at 1 byte/ns, an endpoint."""


def test_one_at_a_time_and_beside_each_other(tmp_path):
    """Two collectives follow each other, while the second computation runs beside the first of them."""
    nodes = [compute(1, 5), reduce(2, 4096, 1), compute(3, 20, 1), reduce(4, 4096, 1), compute(5, 1, 4)]
    ran = run(written(tmp_path, [nodes] * 4), RING, 1, PLAIN)
    once = 6 * STEP + 10
    assert ran.total == (5000 + 2 * once + 1000) * 1000
    assert ran.compute == 26 * US


def test_a_ring_of_some_waits_for_each_message_in_turn(tmp_path):
    """For three ranks in a row on a ring of eight, two messages pass one link and one passes two."""
    ring = Network("ring", (Dimension(DimensionTopology.RING, 8, 16e9, 1000),))
    (tmp_path / "group.json").write_text('{"1": [0, 1, 2]}')
    ranks = [[reduce(1, 3072, pg_name="1")] if rank < 3 else [compute(1, 1)] for rank in range(8)]
    ran = run(written(tmp_path, ranks), ring, 1, PLAIN)
    way = [2, 1, 1, 2]  # of the four steps, to the rank that ends last
    assert ran.total == (10 + sum(STEP + (hop - 1) * 1000 for hop in way)) * 1000
    ring_run = run(tmp_path / "trace", ring.with_rings(bidirectional=True), 1, PLAIN)  # halves of the bytes, either way
    assert ring_run.total == (10 + sum(STEP - 512 + (hop - 1) * 1000 for hop in way)) * 1000


def test_a_group_runs_the_algorithm_of_the_dimension(tmp_path):
    """Halving and doubling among four of eight; messages take 3,048, 2,024, 2,024 and 3,048 ns, and one is 5 us late.

    By hand, a rank goes on 10 ns after the later of its own step and its partner's message: after four steps.
    """
    (tmp_path / "group.json").write_text('{"1": [0, 1, 2, 3]}')
    late = [0, 5, 0, 0]
    ranks = [[compute(1, us), reduce(2, 4096, 1, pg_name="1")] for us in late] + [[compute(1, 1)]] * 4
    switch = Network("switch", (Dimension(DimensionTopology.SWITCH, 8, 8e9, 1000),))
    ran = run(written(tmp_path, ranks), switch, 1, PLAIN)
    assert ran.ended[:4] == (12_146_000, 15_194_000, 10_194_000, 13_170_000)


def test_along_one_dimension_groups_are_apart(tmp_path):
    two = Network(
        "two", (Dimension(DimensionTopology.RING, 2, 8e9, 1000), Dimension(DimensionTopology.RING, 2, 8e9, 3000))
    )
    ranks = [[compute(1, 10 * (1 + npu // 2)), reduce(2, 4096, 1, involved_dim=[True, False])] for npu in range(4)]
    ran = run(written(tmp_path, ranks), two, 1, PLAIN)
    took = (2 * (1000 + 2048 + 10) + 10) * 1000
    assert ran.ended == (10 * US + took, 10 * US + took, 20 * US + took, 20 * US + took)


def test_sends_and_receives(tmp_path):
    """A sender is busy until its message has arrived; a receive that is posted late is over at once."""
    send = {"comm_dst": 1, "comm_size": 4096}
    first = [
        ChakraNode(1, "a", schema.SEND, [], 0, {**send, "comm_tag": 1}),
        ChakraNode(2, "b", schema.SEND, [], 0, send),
    ]
    second = [
        ChakraNode(1, "a", schema.RECEIVE, [], 0, {"comm_src": 0, "comm_size": 4096, "comm_tag": 1}),
        compute(2, 20, 1),
        ChakraNode(3, "b", schema.RECEIVE, [2], 0, {"comm_src": 0, "comm_size": 4096}),
    ]
    ran = run(written(tmp_path, [first, second, [compute(1, 1)], [compute(1, 1)]]), RING, 1, PLAIN)
    once = (1000 + 4096) * 1000
    assert ran.ended[:2] == (2 * once, once + 20 * US)


def test_a_roofline(tmp_path):
    """2,000 operations at 1e9 per second, then 8,000 bytes at 2e9; without it what is recorded, or 1 ns."""
    nodes = [compute(1, 7, num_ops=2000, tensor_size=800), compute(2, 0, 1, num_ops=10, tensor_size=8000)]
    place = written(tmp_path, [nodes] * 4)
    roofline = replace(PLAIN, peak_flops=1e9, memory_bps=16e9)
    assert run(place, RING, 1, roofline).total == (2000 + 4000) * 1000
    assert run(place, RING, 1, PLAIN).total == 7 * US + 1000


def test_replay_only(tmp_path):
    """Communication takes what was recorded, and waits for nobody."""
    ranks = [[compute(1, 5), ChakraNode(2, "sum", schema.COLLECTIVE, [1], 7, {"comm_type": 99})]] + [
        [compute(1, 1)]
    ] * 3
    assert run(written(tmp_path, ranks), RING, 1, replace(PLAIN, replay_only=True)).ended[:2] == (12 * US, US)


def test_what_cannot_run(tmp_path):
    with pytest.raises(OfframpError, match=r"4 ranks, ring has 8 NPUs"):
        run(written(tmp_path, [[compute(1, 1)]] * 4), Network("ring", (Dimension(DimensionTopology.RING, 8, 8e9),)), 1)
    with pytest.raises(OfframpError, match=r"expected serial delays, which have messages"):
        run_traces(tmp_path / "trace", RING, PLAIN, "baseline", 1)
    orders = [reduce(1, 64, pg_name="1"), reduce(2, 64, pg_name="2")]
    crossed = [replace(orders[0], id=2), replace(orders[1], id=1)]
    with pytest.raises(OfframpError, match="rank 0: node 1, sum: never begins or never ends"):
        run(written(tmp_path, [orders, crossed, [], []]), RING, 1, PLAIN)


def layered(network: Network, mib: int) -> TrainingWorkload:
    """Four layers; the model's group is the first of several dimensions."""
    several = len(network.dimensions) > 1
    gradients = (
        LayerCollective(
            Collective.ALL_REDUCE, mib * MIB, CommunicationScope.DATA if several else CommunicationScope.ALL
        ),
    )
    activations = (
        (LayerCollective(Collective.ALL_REDUCE, mib * MIB // 4, CommunicationScope.MODEL, blocking=True),)
        if several
        else ()
    )
    layers = tuple(
        WorkloadLayer(f"layer{k}", 100 * US, 150 * US, 50 * US, activations, activations, gradients) for k in range(4)
    )
    group = network.dimensions[0].size if several else 1
    return TrainingWorkload("layered", layers, group, fuse_gradients=False)


def test_a_workload_and_its_traces_take_as_long(tmp_path):
    network = SYSTEM.on(load_network(str(network_file(tmp_path, NETWORKS["two"]))))
    workload = layered(network, 32)
    place = written(tmp_path, [WorkloadTrace(workload, network).trace().nodes] * network.npus)
    took = run_traces(place, network, SYSTEM, "baseline", 16).total
    assert took == train(workload, network, "baseline", 1, 16).total
    assert took > 4 * 300 * US


def compared(folder: Path, network_path: Path, chunks: int, **more: object) -> None:
    """Ours of the traces in a folder beside the program's, each NPU's end within a hundred-thousandth of the whole."""
    groups = folder / GROUPS
    network = load_network(str(network_path))
    memory = float(str(more.get("local-mem-bw", 50)))
    system = replace(SYSTEM, memory_bps=memory * 8e9, peak_flops=0.002e12 if more else None)
    theirs = ends_ns(
        folder,
        folder / "trace",
        network_path,
        system_of(system.on(network), chunks, **more),
        groups if groups.exists() else None,
    )
    ours = run(folder / "trace", network, chunks, system).ended
    if max(theirs) > 1 << 60:
        pytest.skip("ASTRA-sim divides no operations by no bytes")
    assert len(theirs) == len(ours)
    assert sorted(end / 1000 for end in ours) == pytest.approx(sorted(theirs), abs=max(theirs) * 1e-5)


@pytest.mark.slow
@NEEDED
@pytest.mark.parametrize("path", network_files(), ids=lambda path: path.stem)
def test_layers_beside_astra_sim(tmp_path, path):
    """A collective of 1 MiB to 1 GiB for each layer's gradients, in 1 to 64 chunks."""
    network = SYSTEM.on(load_network(str(path)))
    several = [chunks for chunks in (1, 8, 64) if network.npus**2 * chunks <= MOST_MESSAGES]
    if not several:
        pytest.skip(f"{network.npus} NPUs, each of which sends to each: ASTRA-sim takes too long")
    for mib, chunks in ((m, n) for m in (1, 32, 1024) for n in several):
        workload = layered(network, mib)
        written(tmp_path, [WorkloadTrace(workload, network).trace().nodes] * network.npus)
        theirs = max(ends_ns(tmp_path, tmp_path / "trace", path, system_of(network, chunks), None)) * 1000
        assert run_traces(tmp_path / "trace", network, SYSTEM, "baseline", chunks).total == pytest.approx(theirs, 1e-3)
        assert train(workload, network, "baseline", 1, chunks).total == pytest.approx(theirs, 1e-3)


@pytest.mark.slow
@NEEDED
@pytest.mark.parametrize("chunks", [1, 16, 64])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("job", JOBS)
def test_jobs_beside_astra_sim(tmp_path, job, name, chunks):
    path = network_file(tmp_path, NETWORKS[name])
    if load_network(str(path)).npus != JOBS[job].gpus:
        pytest.skip(f"{job} is for {JOBS[job].gpus} NPUs")
    export_dag(job_dag(JOBS[job], 1), tmp_path)
    compared(tmp_path, path, chunks)


def published() -> list[Path]:
    """Prefixes of traces below the folder that have computation on two ranks or more."""
    places = []
    for path in sorted(Path(FOLDER).rglob("*.0.et")) if FOLDER else []:
        place = path.parent / path.name.removesuffix(".0.et")
        try:
            traces, _ = read_ranks(place)
        except OfframpError:
            continue
        if len(traces) > 1 and any(node.kind == schema.COMPUTE for node in traces[0].nodes):
            places.append(place)
    return places


def numbered(place: Path, folder: Path) -> int:
    """The traces again, with groups that are numbered and listed as the program wants them; how many ranks."""
    traces, groups = read_ranks(place)
    users: dict[str, list[int]] = {}
    known: dict[str, tuple[int, ...]] = {}
    for rank, trace in enumerate(traces):
        known |= {**groups_of(trace, len(traces)), **groups}
        for node in trace.nodes:
            if node.kind == schema.COLLECTIVE and node.attributes.get("pg_name"):
                users.setdefault(str(node.attributes["pg_name"]), []).append(rank)
    numbers = {name: str(k) for k, name in enumerate(sorted(users), 1)}
    for rank, trace in enumerate(traces):
        for node in trace.nodes:
            name = str(node.attributes.pop("pg_name", ""))
            if name in numbers:
                node.attributes["pg_name"] = numbers[name]
        write_trace(trace, folder / f"trace.{rank}.et")
    if numbers:
        members = {number: known.get(name, sorted(set(users[name]))) for name, number in numbers.items()}
        (folder / GROUPS).write_text(json.dumps(members))
    return len(traces)


@pytest.mark.slow
@NEEDED
@pytest.mark.parametrize("roofline", [False, True], ids=["recorded", "roofline"])
@pytest.mark.parametrize("place", published(), ids=lambda place: place.name)
def test_published_traces_beside_astra_sim(tmp_path, place, roofline):
    ranks = numbered(place, tmp_path)
    path = network_file(tmp_path, [("Ring", ranks, 50, 500)])
    more = {"local-mem-bw": 20, "peak-perf": 0.002, "roofline-enabled": 1} if roofline else {}
    for chunks in (1, 16):
        compared(tmp_path, path, chunks, **more)


def texts() -> list[Path]:
    """Text workloads of ASTRA-sim 1 below the folder, each once."""
    by_content: dict[bytes, Path] = {}
    for path in sorted(Path(FOLDER).rglob("*.txt")) if FOLDER else []:
        content = path.read_bytes()
        if content[:6].split(b"_")[0] in (b"DATA\n", b"MODEL\n", b"HYBRID"):
            by_content.setdefault(content, path)
    return list(by_content.values())


def whole_microseconds(workload: TrainingWorkload) -> TrainingWorkload:
    def rounded(ps: int) -> int:
        return round(ps / US) * US

    return replace(
        workload,
        layers=tuple(
            replace(
                each,
                forward_ps=rounded(each.forward_ps),
                input_ps=rounded(each.input_ps),
                weight_ps=rounded(each.weight_ps),
            )
            for each in workload.layers
        ),
    )


@pytest.mark.slow
@NEEDED
@pytest.mark.parametrize("path", texts(), ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "rows",
    [
        [("Ring", 2, 200, 50), ("FullyConnected", 8, 100, 500), ("Switch", 4, 50, 2000)],
        [("Ring", 8, 50, 500), ("Switch", 4, 50, 500)],
    ],
    ids=["three", "two"],
)
def test_text_workloads_beside_astra_sim(tmp_path, rows, path):
    """Their computation in whole microseconds, as traces have it; all-to-alls through a switch go directly."""
    network_path = network_file(tmp_path, rows)
    network = SYSTEM.on(load_network(str(network_path)))
    try:
        workload = whole_microseconds(load_workload(str(path), network))
        fits = workload.fitted(network) == network
    except OfframpError as error:
        pytest.skip(str(error))
    if not fits:
        pytest.skip("a group ends inside a dimension")
    written(tmp_path, [WorkloadTrace(workload, network).trace().nodes] * network.npus)
    for chunks in (1, 16):
        theirs = max(ends_ns(tmp_path, tmp_path / "trace", network_path, system_of(network, chunks), None)) * 1000
        assert run_traces(tmp_path / "trace", network, SYSTEM, "baseline", chunks).total == pytest.approx(theirs, 1e-3)
        assert train(workload, network, "baseline", 1, chunks).total == pytest.approx(theirs, 2e-3)
