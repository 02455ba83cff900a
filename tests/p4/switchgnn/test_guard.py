# SPDX-License-Identifier: Apache-2.0
"""Packets that the switch refuses: duplicates, strangers, remains. None of them may change a sum."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.switchgnn.wire import LANES, NO_ID, build_frames
from offramp_sim.switchgnn.jobs import six_vertices
from switchgnn_senders import from_senders

pytestmark = pytest.mark.p4


def upload(vertex: int, value: int, **fields: int) -> bytes:
    lanes = np.full((1, LANES), value, np.int32)
    header = {"src_id": vertex, "dst_id": NO_ID, "count": 1, "round": 1, **fields}
    return next(build_frames(0, header, 1, lanes).frames())


def send(target, *frames: bytes) -> list[tuple[int, bytes]]:
    return list(target.process(from_senders(frames)))


GOOD = upload(0, 3)
REFUSED = {
    "stale": [
        upload(0, 9, round=0),
        upload(0, 9, round=2),
        upload(0, 9, round=40000),
    ],
    "unknown": [upload(6, 9), upload(0, 9, block_id=1), upload(NO_ID, 9)],
    "malformed": [
        upload(0, 9, chunk_id=1),
        upload(0, 9, chunk_id=255),
        *(GOOD[:n] for n in (0, 13, 14, 33, 34, 49, 50, 177)),
    ],
    "foreign": [
        GOOD[:12] + b"\x86\xdd" + GOOD[14:],  # IPv6
        GOOD[:14] + b"\x46" + GOOD[15:],  # IPv4 with options
        GOOD[:14] + b"\x65" + GOOD[15:],  # version 6
        GOOD[:20] + b"\x00\x01" + GOOD[22:],  # a later fragment
        GOOD[:23] + b"\x11" + GOOD[24:],  # UDP
        upload(0, 9, is_ack=1, resend=1),
        upload(0, 9, is_ack=1, is_fetch=1, resend=1),
    ],
}

REFUSED_PULLS = {
    "stale": [upload(0, 9, dst_id=5, round=2, is_fetch=1)],
    "unknown": [
        *(upload(6, 9, dst_id=5, is_fetch=1), upload(0, 9, block_id=1, dst_id=5, is_fetch=1)),
        *(upload(0, 9, is_fetch=1), upload(0, 9, resend=1), upload(0, 9, is_ack=1)),  # of nobody, to nobody, off
    ],
    "malformed": [upload(0, 9, dst_id=5, is_fetch=1, chunk_id=1)],
}


@pytest.mark.parametrize("outcome", REFUSED)
def test_refused_packets_are_counted_and_change_nothing(make_target, outcome: str) -> None:
    check_refused(make_target, outcome, REFUSED[outcome])


@pytest.mark.parametrize("outcome", REFUSED_PULLS)
def test_refused_pulls_are_counted_and_change_nothing(make_target, outcome: str) -> None:
    check_refused(make_target, outcome, REFUSED_PULLS[outcome])


def check_refused(make_target, outcome: str, frames: list[bytes]) -> None:
    target = make_target(six_vertices())
    target.set_round(1)
    for count, frame in enumerate(frames, 1):
        before = target.counters()
        assert send(target, frame) == []
        after = target.counters()
        assert after[outcome] == count, frame.hex()
        assert {k: v for k, v in after.items() if k != outcome} == {k: v for k, v in before.items() if k != outcome}
    # 3 needs 0 and 5; nothing of the above is in its sum.
    assert send(target, GOOD) == []
    (port, frame), *others = send(target, upload(5, 2))
    assert (port, others) == (2, [])
    assert np.frombuffer(frame[50:178], ">i4").tolist() == [5] * LANES


def test_an_upload_counts_once_a_round(make_target) -> None:
    target = make_target(six_vertices())
    target.set_round(1)
    send(target, GOOD, GOOD, upload(0, 100))
    counts = target.counters()
    assert (counts["uploads"], counts["duplicate"], counts["opened"]) == (1, 2, 3)
    assert target.occupies(3, 3)


def test_bytes_after_the_payload_travel_along(make_target) -> None:
    target = make_target(six_vertices())
    target.set_round(1)
    send(target, GOOD)
    ((_, frame),) = send(target, upload(5, 2) + b"tail")
    assert frame[178:] == b"tail"
