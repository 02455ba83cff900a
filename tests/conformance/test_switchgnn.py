# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's programs, control plane and workers over every kind of switch, packet for packet."""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from offramp.p4src import p4_text
from offramp.switchgnn.control import SwitchGnnControl, sizes_for
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp.switchgnn.two_level import leaf_entries
from offramp.switchgnn.wire import LANES, NO_ID, build_frames
from offramp.switchgnn.worker import Worker
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.jobs import GraphPlans, random_job, six_vertices
from offramp_sim.switchgnn.reference import ReferenceSwitch
from offramp_sim.switchgnn.strawman_reference import ReferenceStrawman
from switch_targets import Target
from switchgnn_leaf_reference import ReferenceLeaf

pytestmark = pytest.mark.p4

Start = Callable[..., tuple[Target, SwitchGnnControl]]


@pytest.fixture
def start(make_target: Callable[..., Target], tmp_path: Path) -> Start:
    """``start(job, capacity=None, name="v1model")``: a switch with the job loaded, and its control."""

    def run(job: GraphPlans, capacity: int | None = None, name: str = "v1model") -> tuple[Target, SwitchGnnControl]:
        program = tmp_path / "switchgnn.p4"
        name = name if capacity is None else "strawman_v1model"
        program.write_text(p4_text(f"switchgnn/{name}.p4", sizes_for(job.plans, capacity)))
        target = make_target(program, ports=4)
        target.open_all()
        control = SwitchGnnControl(target.session())
        control.load(job.plans, job.ports, capacity=capacity)
        return target, control

    return run


def job_of(seed: int, limit: int) -> GraphPlans:
    job = random_job(seed, vertices=30, edges=90, workers=4, limit=limit, features=(40, 5))
    return dataclasses.replace(job, ports=[3, 1, 4, 2])


def done(host: int, round_: int) -> bytes:
    fields = {"src_id": host, "is_ack": 1, "is_fetch": 1, "round": round_}
    return next(build_frames(host, fields, 1).frames())


def uploads(job: GraphPlans, block: int, round_: int) -> list[tuple[int, bytes]]:
    """(port, frame) of every upload of a block, in order."""
    plan = job.plans[0]
    part = plan.blocks[block]
    rng = np.random.default_rng(block)
    frames = []
    for rank in part.order.tolist():
        lanes = rng.integers(-(2**31), 2**31, (plan.chunks, LANES)).astype(np.int32)
        fields = {
            "src_id": int(part.vertices[rank]),
            "dst_id": NO_ID,
            "block_id": part.block_id,
            "count": int(part.need[rank]),
            "chunk_id": np.arange(plan.chunks),
            "round": round_,
        }
        port = job.ports[part.owner[rank]]
        frames += [(port, frame) for frame in build_frames(int(part.owner[rank]), fields, plan.chunks, lanes).frames()]
    return frames


def compare(
    target: Target, control: SwitchGnnControl, oracle: ReferenceSwitch, frames: list[tuple[int, bytes]]
) -> None:
    """Send one frame after another; what leaves must be what leaves the reference.

    The next frame waits until the switch has counted the last pass of this one: ports are read independently, so a
    frame that causes no reply might otherwise be overtaken by one on another port.
    """
    for port, frame in frames:
        expected: dict[int, list[bytes]] = defaultdict(list)
        for out_port, out in oracle.process_one(port, frame):
            expected[out_port].append(out)
        target.exchange(port, frame)
        for out_port, outs in expected.items():
            assert sorted(target.receive(out_port, len(outs))) == sorted(outs)
        deadline = time.monotonic() + 5.0
        while control.counters() != oracle.counters() and time.monotonic() < deadline:
            time.sleep(0.001)
    for port in target.ports:
        assert target.silent(port)


@pytest.mark.parametrize(
    ("name", "capacity"),
    [("v1model", None), ("replicated_v1model", None), ("strawman_v1model", 8)],
    ids=["switchgnn", "replicated", "strawman"],
)
def test_workers_get_exact_sums(start: Start, name: str, capacity: int | None) -> None:
    job = job_of(3, limit=8 if capacity is None else 1000)
    target, control = start(job, capacity, name)
    x = np.random.default_rng(0).integers(-(2**24), 2**24, (30, 40)).astype(np.int32)
    expected = job.expected(x)
    # bmv2 drops what it cannot queue: small windows, short pauses.
    workers = [Worker(i, job.plans, target.io(port), window=4, gap_s=0.002) for i, port in enumerate(job.ports)]

    def run(worker: Worker) -> None:
        worker.start()
        for plan, features in ((0, 40), (1, 5), (0, 33)):
            rows = worker.boundary(plan)
            values = np.ascontiguousarray(x[rows, :features])
            assert np.array_equal(worker.exchange(plan, values), expected[rows, :features])

    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(run, workers))
    counts = control.counters()
    ran = [job.plans[plan] for plan in (0, 1, 0)]
    assert counts["passes"] == sum(plan.passes for plan in ran)
    assert counts["uploads"] == sum(plan.packets for plan in ran)
    assert (counts["overflows"] > 0) == (capacity is not None)
    occupancy = control.occupancy()
    if "registers" in target.lacks:
        assert occupancy is None
    else:
        assert occupancy is not None
        assert occupancy[0] == 0
        assert 0 < occupancy[1] <= max(plan.aggregators_peak for plan in job.plans)


@pytest.mark.parametrize("name", ["v1model", "replicated_v1model"])
def test_switchgnn_is_the_reference_packet_for_packet(start: Start, name: str) -> None:
    job = job_of(5, limit=12)
    target, control = start(job, None, name)
    oracle = ReferenceSwitch(job.plans, job.ports, replicates=control.target.replicates)
    frames = [(job.ports[h], done(h, 0)) for h in range(4)]
    for round_, block in ((1, 0), (2, 1)):
        data = uploads(job, block, round_)
        frames += [*data, data[0], data[-1], *((job.ports[h], done(h, round_)) for h in (0, 0, 1, 2, 3, 1))]
    compare(target, control, oracle, frames)
    assert control.counters() == oracle.counters()


def test_a_leaf_is_the_reference_packet_for_packet(make_target: Callable[..., Target], tmp_path: Path) -> None:
    """Leaf 0 of two, which is the root; what the other leaf sends comes from its reference."""
    job, network = six_vertices(), LeafSpine((0, 0, 1), spines=2)
    program = tmp_path / "switchgnn.p4"
    program.write_text(p4_text("switchgnn/v1model.p4", sizes_for(job.plans, leaves=network.leaves)))
    target = make_target(program, ports=4)
    target.open_all()
    control = SwitchGnnControl(target.session())
    control.load_place(leaf_entries(job.plans, network, 0, acks=True), job.plans)
    leaf, other = (ReferenceLeaf(job.plans, network, rack, acks=True) for rack in (0, 1))
    sent = {frame[34:38]: frame for _, frame in uploads(job, 0, 1)}

    def upload(vertex: int) -> bytes:
        return sent[vertex.to_bytes(4, "big")]

    def short(**fields: int) -> bytes:
        return next(build_frames(0, {"round": 1, **fields}, 1).frames())

    ((_, its_done),) = other.process_one(1, done(2, 0))
    start = [(1, done(0, 0)), (2, done(1, 0)), (2, done(1, 0)), (3, its_done), (3, its_done), (1, done(0, 0))]
    other.round = 1
    partials = [frame for vertex in (4, 5) for _, frame in other.process_one(1, upload(vertex))]
    assert len(partials) == 4
    fetch = short(src_id=0, dst_id=4, is_fetch=1)
    ack = short(src_id=0, dst_id=NO_ID, is_ack=1, count=3)
    data = [(3, partials[0]), (4, partials[0]), (1, upload(0)), (2, upload(2)), (1, fetch), (2, upload(3)), (1, ack)]
    data += [(1, upload(1)), (1, upload(1)), *((3, frame) for frame in partials[1:])]
    compare(target, control, leaf, [*start, *data, (1, done(0, 1)), (2, done(1, 1)), (2, done(1, 1))])
    assert control.counters() == leaf.counters()


def test_strawman_is_the_reference_packet_for_packet(start: Start) -> None:
    job = job_of(5, limit=1000)
    target, control = start(job, 6)
    oracle = ReferenceStrawman(job.plans, job.ports, 6)
    frames = [(job.ports[h], done(h, 0)) for h in range(4)]
    frames += uploads(job, 0, 1)
    compare(target, control, oracle, frames)
    assert control.counters() == oracle.counters()
    assert control.counters()["raw"] > 0


def test_golden_barrier(start: Start) -> None:
    """Specification section 14.9, begun at the start barrier."""
    job = six_vertices()
    target, control = start(job)
    compare(
        target,
        control,
        ReferenceSwitch(job.plans, job.ports),
        [(1 + host, done(host, round_)) for host, round_ in [(0, 0), (0, 0), (2, 0), (1, 0), (2, 0), (1, 1)]],
    )
    counts = control.counters()
    assert (counts["done"], counts["done_repeated"], counts["go"], counts["go_repeated"]) == (4, 1, 1, 1)


def test_truncated_and_foreign_packets_are_counted_and_change_nothing(start: Start) -> None:
    job = six_vertices()
    target, control = start(job)
    oracle = ReferenceSwitch(job.plans, job.ports)
    good = {frame[34:38]: frame for _, frame in uploads(job, 0, 1)}
    first, second = good[bytes(4)], good[bytes([0, 0, 0, 5])]  # vertices 0 and 5 make up 3's sum
    garbage = [
        *(first[:n] for n in (20, 34, 49, 50, 177)),
        first[:12] + b"\x86\xdd" + first[14:],
        first[:23] + b"\x11" + first[24:],
        first[:37] + b"\x09" + first[38:],
        first[:47] + b"\x01" + first[48:],
        first[:49] + b"\x02" + first[50:],
    ]
    frames = [(port, done(host, 0)) for host, port in enumerate(job.ports)]
    compare(target, control, oracle, [*frames, *((1, frame) for frame in garbage), (1, first), (3, second)])
    counts = control.counters()
    assert counts == oracle.counters()
    assert (counts["malformed"], counts["foreign"], counts["unknown"], counts["stale"]) == (6, 2, 1, 1)


def test_a_job_that_the_program_has_no_room_for_is_refused(make_target: Callable[..., Target], tmp_path: Path) -> None:
    job = job_of(3, limit=30)
    needed = sizes_for(job.plans)
    refusals = {
        "AGGREGATORS": r"register SwitchGnnIngress\.guard\.seen: slots",
        "FANOUT_ENTRIES": r"table SwitchGnnIngress\.fanout\.v2agg: entries",
    }
    for macro, what in refusals.items():
        program = tmp_path / f"{macro}.p4"
        program.write_text(p4_text("switchgnn/v1model.p4", {**needed, macro: 7}))
        control = SwitchGnnControl(make_target(program, ports=4).session())
        with pytest.raises(OfframpError, match=what + r": the plan needs \d+, the switch program has 7"):
            control.load(job.plans, job.ports)
