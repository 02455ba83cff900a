# SPDX-License-Identifier: Apache-2.0
"""Copies that a queue holds back into a later round, which only the program with the replication engine meets."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.switchgnn.wire import LANES, NO_ID, build_frames
from offramp_sim.switchgnn.jobs import six_vertices
from switchgnn_senders import from_senders

pytestmark = pytest.mark.p4

STATE = "SwitchGnnEgress.aggregate.state"
LANE = "SwitchGnnEgress.aggregate.lanes.val0"
DEAD = 0x8000


def frame(**fields: int) -> bytes:
    lanes = None if fields.get("is_fetch") else np.full((1, LANES), 7, np.int32)
    return next(build_frames(0, {"dst_id": NO_ID, "round": 1, **fields}, 1, lanes).frames())


@pytest.fixture(params=["python", "native"])
def target(request: pytest.FixtureRequest, p4_targets):
    target = p4_targets(f"replicated-{request.param}")(six_vertices())
    target.set_round(1)
    return target


def send(target, *frames: bytes) -> list[tuple[int, bytes]]:
    return list(target.process(from_senders(frames)))


@pytest.mark.parametrize("entry_round", [2, 40, 0x8000])
def test_a_copy_of_a_past_round_does_not_touch_an_aggregator_of_a_later_one(target, entry_round: int) -> None:
    """Vertex 4 is added to 0, 2: their entries are of a later round already."""
    state, lane = target.switch.registers[STATE], target.switch.registers[LANE]
    for slot in (0, 2):
        state.write(slot, entry_round << 16 | 1)
        lane.write(slot, 99)
    assert send(target, frame(src_id=4)) == []
    assert [state.read(slot) for slot in (0, 2)] == [entry_round << 16 | 1] * 2
    assert [lane.read(slot) for slot in (0, 2)] == [99, 99]
    assert target.counters()["stale"] == 2


def test_an_entry_of_half_of_all_rounds_ahead_is_of_the_past(target) -> None:
    """32,767 rounds ahead is later (above), 32,768 is earlier: its entry counts as empty."""
    state = target.switch.registers[STATE]
    for slot in (0, 2):
        state.write(slot, 0x8001 << 16 | 1)
    assert send(target, frame(src_id=4)) == []
    assert target.counters()["stale"] == 0
    assert [state.read(slot) >> 16 for slot in (0, 2)] == [1, 1]


def test_a_fetch_of_a_past_round_releases_nothing_of_a_later_one(target) -> None:
    state = target.switch.registers[STATE]
    state.write(3, 2 << 16 | 1)
    ((port, _),) = send(target, frame(src_id=3, dst_id=5, is_fetch=1))
    assert port == 3
    assert state.read(3) == 2 << 16 | 1
    state.write(3, 1 << 16 | 1)
    send(target, frame(src_id=3, dst_id=5, is_fetch=1))
    assert state.read(3) == 1 << 16 | DEAD


def test_only_sums_leave(target) -> None:
    assert send(target, frame(src_id=0)) == []
    counts = target.counters()
    assert (counts["opened"], counts["recirculations"], counts["uploads"]) == (3, 0, 1)
