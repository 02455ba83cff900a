# SPDX-License-Identifier: Apache-2.0
"""Golden runs of specification section 14.3, and the arithmetic of one aggregator."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.switchgnn.wire import LANES, NO_ID, SWITCHGNN, build_frames
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import SIX_VERTEX_BLOCKS, GraphPlans, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_senders import from_senders

pytestmark = pytest.mark.p4

X = np.array([[3], [-1], [10], [4], [-7], [2]], np.int32)
REMOTE_SUMS = [7, 12, -5, 5, 13, 3]


class Recorder:
    """Notes each result, by round."""

    def __init__(self, target) -> None:
        self.target = target
        self.results: dict[int, dict[int, int]] = {}
        self.order: dict[int, list[int]] = {}

    def process(self, batch: PacketBatch) -> PacketBatch:
        for _, frame in batch:
            header = SWITCHGNN.decode(frame[34:])
            if len(frame) == 178:
                self.order.setdefault(header["round"], []).append(header["src_id"])
        out = self.target.process(batch)
        for _, frame in out:
            header = SWITCHGNN.decode(frame[34:])
            if len(frame) == 178:
                value = int.from_bytes(frame[50:54], "big", signed=True)
                self.results.setdefault(header["round"], {})[header["dst_id"]] = value
        return out


def exchange(job: GraphPlans, process) -> list[int]:
    lockstep = Lockstep(job.plans, job.ports, process)
    lockstep.start()
    sums = lockstep.exchange(0, [X[e.boundaries[0]] for e in lockstep.endpoints])
    return [int(v) for s in sums for v in s[:, 0]]


@pytest.mark.full
def test_six_vertices_in_one_block(make_target) -> None:
    job = six_vertices()
    target = make_target(job)
    assert exchange(job, target.process) == REMOTE_SUMS
    counts = target.counters()
    assert (counts["passes"], counts["uploads"], counts["results"]) == (14, 6, 6)
    assert counts["recirculations"] == target.further_passes(8) + 2
    assert target.occupies(0, 6)


def test_six_vertices_in_blocks_of_three(make_target) -> None:
    job = six_vertices(SIX_VERTEX_BLOCKS)
    recorder = Recorder(make_target(job))
    assert exchange(job, recorder.process) == REMOTE_SUMS
    assert recorder.results == {
        1: {0: 3, 2: -4, 4: 13},
        2: {1: 2, 3: 2, 5: 3},
        3: {0: 4, 3: 3},
        4: {1: 10, 2: -1},
    }
    counts = recorder.target.counters()
    assert (counts["passes"], counts["uploads"], counts["results"]) == (14, 10, 10)
    # Workers send side by side here; the plan's order is the golden one, and a worker keeps to it.
    orders = [block.vertices[block.order].tolist() for block in job.plans[0].blocks]
    assert orders == [[0, 2, 4], [5, 1, 3], [0, 3], [1, 2]]


@pytest.mark.parametrize(
    ("a", "b", "total"),
    [
        (2**31 - 1, 1, -(2**31)),
        (-(2**31), -1, 2**31 - 1),
        (-5, 3, -2),
        (2**30, 2**30 - 1, 2**31 - 1),
        (0, 0, 0),
    ],
)
def test_lanes_are_int32_and_do_not_mix(make_target, a: int, b: int, total: int) -> None:
    """Vertex 3 of the six needs 0 and 5."""
    target = make_target(six_vertices())
    target.set_round(1)
    sent = np.zeros((2, LANES), np.int32)
    sent[:, 7] = a, b
    sent[:, 30] = 1, 2
    fields = {"src_id": np.array([0, 5]), "dst_id": NO_ID, "round": 1}
    ((port, frame),) = target.process(from_senders(build_frames(0, fields, 2, sent).frames()))
    assert port == 2
    assert frame[34:50].hex() == "ffffffff000000030000000200000001"
    expected = np.zeros(LANES, np.int32)
    expected[7], expected[30] = total, 3
    assert np.array_equal(np.frombuffer(frame[50:178], ">i4"), expected)


def test_a_result_is_the_same_whoever_completes_it(make_target) -> None:
    frames = []
    for order in ([0, 5], [5, 0]):
        target = make_target(six_vertices())
        target.set_round(1)
        for worker, vertex in enumerate(order):
            lanes = np.full((1, LANES), vertex + 1, np.int32)
            fields = {"src_id": vertex, "round": 1, "dst_id": NO_ID}
            out = target.process(from_senders(build_frames(worker, fields, 1, lanes).frames()))
        frames.append([(port, frame) for port, frame in out if SWITCHGNN.decode(frame[34:])["dst_id"] == 3])
    assert frames[0] == frames[1]
    assert len(frames[0]) == 1


def test_what_a_round_left_behind_does_not_reach_the_next(make_target) -> None:
    target = make_target(six_vertices())
    target.set_round(1)
    lanes = np.full((1, LANES), 100, np.int32)
    target.process(from_senders(build_frames(0, {"src_id": 0, "dst_id": NO_ID, "round": 1}, 1, lanes).frames()))
    assert target.occupies(3, 3)
    target.set_round(2)
    fields = {"src_id": np.array([0, 5]), "dst_id": NO_ID, "round": 2}
    out = list(target.process(from_senders(build_frames(0, fields, 2, np.ones((2, LANES), np.int32)).frames())))
    assert [np.frombuffer(frame[50:178], ">i4").tolist() for _, frame in out] == [[2] * LANES]
    assert target.occupies(3, 4)
