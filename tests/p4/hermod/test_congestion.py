# SPDX-License-Identifier: Apache-2.0
"""Marks, profiles and strict order, against the model that is told what queues hold.

Blind to when a real queue is long: all frames arrive at one instant, or the depth is made up.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from hermod_model import CONGESTED, PORTS, Model, ecn_of, ipv4, random_frame, with_mark
from offramp.hermod.switch.entries import SwitchPlan, ThresholdProfile
from offramp_base.wire.ethernet import ipv4_checksum
from offramp_p4 import PlainSwitch, ir, make_switch
from offramp_p4.queued import QueuedSwitch
from offramp_p4.tm import TmConfig
from offramp_p4.tna.metadata import IntrinsicHeader
from offramp_sim.hermod import direct

pytestmark = pytest.mark.p4

TO_2 = bytes.fromhex("020000000002020000000001")
SLOW = TmConfig.uniform(rate_bps=10**9)
LATER = 10**12


@pytest.fixture
def switch(engine: str, programs: dict[str, ir.Program]) -> PlainSwitch:
    return make_switch(programs["v1model"], engine)


def test_a_burst_leaves_in_strict_order_with_the_marks_of_its_queues(switch: PlainSwitch) -> None:
    rng, model = random.Random(3), Model(CONGESTED)
    direct.load(switch, CONGESTED)
    queued = QueuedSwitch(switch, SLOW)
    depths: Counter[tuple[int, int]] = Counter()
    leaving: list[tuple[int, int, bytes]] = []
    for _ in range(600):
        came_from, frame = rng.choice(PORTS), random_frame(rng)
        queued.receive(0, came_from, frame)
        ports, queue, onward, role = model.ingress(came_from, frame)
        for port in ports:
            sent = model.egress(came_from, port, queue, onward, depths[port, queue], role)
            depths[port, queue] += 1
            if sent is not None:
                leaving.append((port, -queue, sent))
    leaving.sort(key=lambda each: each[:2])  # stable: in a queue they leave as they came
    departed = queued.advance(LATER)
    for port in PORTS:
        assert [d.frame for d in departed if d.port == port] == [f for p, _, f in leaving if p == port]
    for at in ((p, q) for p in PORTS for q in range(8)):
        assert direct.sent(switch, *at) == (model.sent[at], model.sent_bytes[at])
        assert (direct.marked(switch, *at), direct.dropped(switch, *at)[0]) == (model.marked[at], model.dropped[at])
    assert model.marked.total() > 50
    assert model.dropped.total() > 50


@pytest.mark.parametrize("ecn", [1, 2])
@pytest.mark.parametrize("checksum", [0, 1, 2, 3, 0x00FF, 0x0100, 0xFFFD, 0xFFFE])
def test_the_checksum_stays_right(switch: PlainSwitch, ecn: int, checksum: int) -> None:
    """RFC 791's sum over the whole header, options included, before and after; each borrow of RFC 1624."""
    direct.load(switch, SwitchPlan({}, 0, 0, {0: ThresholdProfile(0)}, {0x0200_0000_0002: 2}, PORTS))
    queued = QueuedSwitch(switch, SLOW)
    frame = TO_2 + b"\x08\x00" + ipv4(random.Random(checksum), 0xB8 | ecn, 7, checksum)
    assert ipv4_checksum(frame[14:]) == 0
    for _ in range(2):
        queued.receive(0, 1, frame)
    first, second = (d.frame for d in queued.advance(LATER))
    assert first == frame  # it found nothing before it
    assert (ecn_of(second), ipv4_checksum(second[14:])) == (3, 0)
    assert second == with_mark(frame)


def test_on_tofino_by_the_depth_in_cells(programs: dict[str, ir.Program], monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded switch gives TNA programs no queues, so the chip's header is made to tell of some."""
    rng, model = random.Random(5), Model(CONGESTED)
    switch = make_switch(programs["tna"], "python")
    direct.load(switch, CONGESTED)
    depth = 0
    pack = IntrinsicHeader.pack
    monkeypatch.setattr(IntrinsicHeader, "pack", lambda self, values: pack(self, values | {"enq_qdepth": depth}))
    for _ in range(600):
        port, frame, depth = rng.choice(PORTS), random_frame(rng), rng.choice([0, 1, 2, 4, 6, (1 << 19) - 1])
        assert switch.process_one(port, frame) == model.pass_(port, frame, depth)
    for at in ((p, q) for p in PORTS for q in range(8)):
        assert (direct.marked(switch, *at), direct.dropped(switch, *at)[0]) == (model.marked[at], model.dropped[at])
    assert model.marked.total() > 50
    assert model.dropped.total() > 50
