# SPDX-License-Identifier: Apache-2.0
"""Golden runs of specification section 14.4: uploads in the order 0 to 5."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from offramp.switchgnn.wire import LANES, NO_ID, SWITCHGNN, build_frames
from offramp_sim.switchgnn.jobs import six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_senders import from_senders

pytestmark = pytest.mark.p4

X = [3, -1, 10, 4, -7, 2]


def upload_all(target) -> tuple[dict[int, list[int]], dict[int, list[int]], int]:
    """The results that each upload completes, the workers that it goes to raw, and the most aggregators ever open."""
    peak = 0
    results: dict[int, list[int]] = {}
    raws: dict[int, list[int]] = defaultdict(list)
    target.set_round(1)
    for vertex in range(6):
        lanes = np.full((1, LANES), X[vertex], np.int32)
        fields = {"src_id": vertex, "dst_id": NO_ID, "count": 2, "round": 1}
        for port, frame in target.process(from_senders(build_frames(0, fields, 1, lanes).frames())):
            header = SWITCHGNN.decode(frame[34:])
            value = int.from_bytes(frame[50:54], "big", signed=True)
            if header["src_id"] == NO_ID:
                results.setdefault(vertex, []).append(header["dst_id"])
                assert value == [7, 12, -5, 5, 13, 3][header["dst_id"]]
            else:
                assert (header["src_id"], header["dst_id"], header["count"]) == (vertex, NO_ID, 1)
                assert value == X[vertex]
                raws[vertex].append(port - 1)
        peak = max(peak, target.occupancy()[0])
    return results, dict(raws), peak


def test_room_for_all(make_strawman) -> None:
    target = make_strawman(six_vertices(), capacity=6)
    assert upload_all(target) == ({2: [4], 3: [5], 4: [0, 2], 5: [1, 3]}, {}, 5)
    # Vertex 2 opens 0 and 1 before it completes 4: one more while it passes.
    assert target.occupancy() == (0, 6)


def test_room_for_two(make_strawman) -> None:
    target = make_strawman(six_vertices(), capacity=2)
    results, raws, peak = upload_all(target)
    assert results == {4: [2], 5: [3]}
    assert raws == {0: [2], 1: [2], 2: [0, 2], 3: [0, 2], 4: [0], 5: [0]}
    assert peak == 2
    assert target.occupancy() == (0, 2)
    counts = target.counters()
    assert (counts["raw"], counts["results"]) == (8, 2)
    assert counts["passes"] == 14


def test_freed_aggregators_are_used_again(make_strawman) -> None:
    job = six_vertices()
    target = make_strawman(job, capacity=2)
    lockstep = Lockstep(job.plans, job.ports, target.process)
    lockstep.start()
    x = np.array(X, np.int32).reshape(6, 1)
    for _ in range(5):
        sums = lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
        assert [int(v) for s in sums for v in s[:, 0]] == [7, 12, -5, 5, 13, 3]
        assert target.occupancy()[0] == 0
    assert target.counters()["completed"] >= 5


def test_no_room_at_all(make_strawman) -> None:
    results, raws, _ = upload_all(make_strawman(six_vertices(), capacity=0))
    assert results == {}
    assert sum(map(len, raws.values())) == six_vertices().boundary.R == 12


def test_the_round_does_not_end_while_uploads_have_passes_to_make(p4_target) -> None:
    """A state that only a switch with queues reaches: the count of uploads under way is set by hand."""
    job = six_vertices()
    target = p4_target(job, capacity=2)
    target.set_round(1)
    in_flight = target.switch.registers["SwitchGnnIngress.in_flight.uploads"]
    in_flight.write(0, 1)
    done = [next(build_frames(h, {"src_id": h, "is_ack": 1, "is_fetch": 1, "round": 1}, 1).frames()) for h in range(3)]
    assert len(target.process(from_senders(done))) == 0
    assert target.counters()["waiting"] > 1
    assert target.counters()["go"] == 0
