# SPDX-License-Identifier: Apache-2.0
"""FETCH, RESEND, ACK and congestion marks on the switch, packet by packet, in the six-vertex example."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.p4src import p4_source
from offramp.switchgnn.wire import LANES, NO_ID, SWITCHGNN, build_frames
from offramp_base.wire.ethernet import ipv4_checksum
from offramp_p4 import make_switch
from offramp_p4.frontend import load
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import six_vertices
from switchgnn_senders import from_senders
from switchgnn_soak import SIZES

pytestmark = pytest.mark.p4


def frame(value: int | None = None, **fields: int) -> bytes:
    lanes = None if value is None else np.full((1, LANES), value, np.int32)
    return next(build_frames(0, {"dst_id": NO_ID, "round": 1, **fields}, 1, lanes).frames())


def fetch(lacks: int, wanted: int) -> bytes:
    return frame(src_id=lacks, dst_id=wanted, is_fetch=1)


def send(target, *frames: bytes) -> list[tuple[int, bytes]]:
    return list(target.process(from_senders(frames)))


def late(counts: dict[str, int]) -> int:
    """Contributions that found their aggregator released; on Tofino they count as further ones, and there are none."""
    return counts["released"] or counts["added"]


@pytest.fixture
def target(make_target):
    """The six-vertex job in round 1; workers 0, 1, 2 on ports 1, 2, 3 own vertices 0 1, 2 3, 4 5."""
    target = make_target(six_vertices(), acks=True)
    target.set_round(1)
    return target


def test_fetch_releases_the_aggregator_and_reaches_the_owner_of_what_is_wanted(target) -> None:
    send(target, frame(3, src_id=0))  # for 2, 3 and 4
    assert target.occupies(3, 3)
    ((port, out),) = send(target, fetch(3, 5))
    assert (port, out[34:].hex()) == (3, "00000003000000050000000040000001")
    ((port, out),) = send(target, frame(src_id=3, dst_id=5, is_fetch=1, resend=1))  # repeated
    assert (port, out[34:].hex()) == (3, "00000003000000050000000050000001")
    assert ipv4_checksum(out[14:34]) == 0
    assert target.occupies(2, 3)
    # 3 needs 0 and 5: 5 finds its aggregator dead, and completes nothing.
    assert [SWITCHGNN.decode(f[34:])["dst_id"] for _, f in send(target, frame(2, src_id=5))] == []
    assert len(send(target, fetch(3, 5), fetch(3, 0))) == 2
    counts = target.counters()
    assert (counts["fetched"], late(counts), counts["completed"]) == (4, 1, 0)
    assert target.occupies(3, 3)  # of 1, 2 and 4


def test_fetch_before_any_contribution_and_after_the_sum(target) -> None:
    send(target, fetch(3, 0))
    assert send(target, frame(3, src_id=0), frame(2, src_id=5)) == []
    assert late(target.counters()) == 2
    target.set_round(2)
    ((port, _),) = send(target, frame(3, src_id=0, round=2), frame(2, src_id=5, round=2))
    assert port == 2
    before = target.open()
    send(target, frame(src_id=3, dst_id=5, is_fetch=1, round=2))
    assert target.open() == before


def test_resend_passes_by_the_aggregators(target) -> None:
    sent = frame(3, src_id=0, dst_id=3, count=1, resend=1)
    ((port, out),) = send(target, sent)
    assert (port, out[34:]) == (2, sent[34:])
    assert target.occupies(0, 0)
    assert target.counters()["resent"] == 1


def test_ack_reaches_the_owners_of_all_neighbours_once(target) -> None:
    out = send(target, frame(src_id=0, count=3, is_ack=1, ecn=1))  # neighbours 2 and 3 of worker 1, 4 of worker 2
    assert [(port, f[34:].hex()) for port, f in sorted(out)] == [
        (2, "00000000ffffffff00000003a0000001"),
        (3, "00000000ffffffff00000003a0000001"),
    ]
    assert target.counters()["acknowledged"] == 1


def test_pulls_of_another_round_are_dropped(target) -> None:
    stale = [{"src_id": 3, "dst_id": 5, flag: 1, "round": 2} for flag in ("is_fetch", "resend", "is_ack")]
    assert send(target, *(frame(**fields) for fields in stale)) == []
    assert target.counters()["stale"] == 3


@pytest.mark.parametrize("marked", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_a_sum_carries_the_marks_of_its_contributions(target, marked: tuple[int, int]) -> None:
    send(target, frame(9, src_id=0, ecn=1), frame(9, src_id=5, ecn=1))  # what an earlier round left
    target.set_round(2)
    uploads = [frame(1, src_id=u, ecn=ecn, round=2) for u, ecn in zip((0, 5), marked, strict=True)]
    ((_, out),) = send(target, *uploads)
    assert SWITCHGNN.decode(out[34:])["ecn"] == max(marked)


def test_the_only_contribution_carries_its_own_mark(make_target) -> None:
    job = six_vertices([[(0, 3)]])
    target = make_target(job)
    target.set_round(1)
    ((_, out),) = send(target, frame(1, src_id=0, ecn=1))
    assert SWITCHGNN.decode(out[34:])["ecn"] == 1


@pytest.mark.parametrize(("depth", "mark"), [(0, 1), (1, 0)])
def test_features_that_join_a_queue_of_the_depth_are_marked(depth: int, mark: int) -> None:
    """The queue is empty. At depth 0 all features are marked, as in the end-to-end test of training under marks."""
    job = six_vertices([[(0, 3)]])
    switch = make_switch(load(p4_source("switchgnn/v1model.p4"), defines={**SIZES, "ECN_DEPTH": str(depth)}), "python")
    direct.load(switch, job.plans, job.ports)
    switch.registers["SwitchGnnIngress.round.current"].write(0, 1)
    ((_, out),) = send(switch, frame(1, src_id=0))
    assert SWITCHGNN.decode(out[34:])["ecn"] == mark
