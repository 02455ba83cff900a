# SPDX-License-Identifier: Apache-2.0
"""A Tofino's queues: what egress is told of them by hand, and both engines on random loads.

Blind to what both engines get wrong beyond the first test, and to what the chip counts in a cell beside the frame.
"""

from __future__ import annotations

import random

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.frontend import load_text
from offramp_p4.queued import QueuedSwitch
from offramp_p4.state import CloneSession, Replica
from offramp_p4.tm import QueueConfig, TmConfig
from queued_pair import Pair, random_config
from tna_programs import packet, tna

pytestmark = pytest.mark.p4

ORDERS = load_text(
    tna(
        """
        tm.ucast_egress_port = (bit<9>)hdr.h.a[2:0];
        tm.qid = (bit<5>)hdr.h.b[1:0];
        if (hdr.h.a == 200 || hdr.h.a == 201) { tm.ucast_egress_port = 68; }
        if (hdr.h.a[3:3] == 1) { tm.mcast_grp_a = 1; tm.rid = 1; }
        if (hdr.h.a[4:4] == 1) { dprsr.mirror_type = 1; md.session = 5; }
        if (hdr.h.a[5:5] == 1 && ig.resubmit_flag == 0) { dprsr.resubmit_type = 1; }
        if (hdr.h.a[6:6] == 1) { tm.bypass_egress = 1; }
        dprsr.digest_type = (bit<3>)hdr.h.b[6:6];
        md.copy = {kind = 3, x = 4};
        md.again = {tag = 1, rest = 2};
        """,
        idlocal="Mirror(1) m; Resubmit(1) r; Digest<mirror_h>(1) d;",
        idbody="m.emit<mirror_h>(md.session, md.copy); r.emit<resubmit_h>(md.again); d.pack(md.copy);",
        ebody="""
        hdr.h.c = (bit<16>)eg.enq_qdepth ^ ((bit<16>)eg.deq_qdepth << 8);
        hdr.h.w = hdr.h.w + (bit<32>)eg.deq_timedelta + (bit<32>)eg.enq_tstamp;
        if (hdr.h.a == 200) { hdr.h.a = 3; }
        if (hdr.h.b[7:7] == 1) { dprsr.mirror_type = 1; md.session = 6; hdr.h.b[7:7] = 0; }
        """,
        edlocal="Mirror(1) m;",
        edbody="m.emit(md.session);",
    ),
    "orders.p4",
)


@pytest.mark.full
def test_egress_is_told_of_its_queue() -> None:
    """Three frames of 108 bytes at 8 bytes a microsecond; each is 132 on the line, which take 16.5 of them."""
    nodes = Pair(ORDERS, TmConfig.uniform(rate_bps=64 * 10**6)).nodes
    for node in nodes:
        for _ in range(3):
            node.receive(5 * 10**6, 0, packet(a=1, rest=bytes(100)))
        frames = [d.frame for d in node.advance(10**9)]
        assert [(f[3], f[2]) for f in frames] == [(0, 3), (2, 2), (3, 0)]  # cells of 80 bytes found and left
        assert [int.from_bytes(f[4:8], "big") - 5_000 for f in frames] == [0, 16_000, 33_000]


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20))
def test_random_traffic(seed: int) -> None:
    draw = random.Random(seed)
    pair = Pair(ORDERS, random_config(draw), max_passes=draw.choice([3, 400]), cpu_port=192)
    for node in pair.nodes:
        node.switch.pre.multicast[1] = (Replica(2, 1), Replica(3, 1), Replica(2, 2), Replica(300, 3))
        node.switch.pre.clones[5] = CloneSession((Replica(4, 0), Replica(2, 1)), packet_length=40)
        node.switch.pre.clones[6] = CloneSession((Replica(1, 0),))
    if draw.random() < 0.5:
        pair.observe()
    now = left = 0
    for _ in range(60):
        now += draw.choice([0, 0, 10**5, 10**7, 10**9])
        a = draw.choice([draw.randrange(256), 200, 201, draw.randrange(8)])
        frame = packet(a, draw.randrange(256), rest=draw.randbytes(draw.choice([0, 60, 700])))
        pair.receive(now, draw.randrange(8), frame)
        if draw.random() < 0.3:
            now += draw.choice([0, 10**6, 10**8])
            left += pair.advance(now)
    left += pair.advance(now + 10**12)
    assert left > 20


@pytest.mark.full
def test_a_port_that_is_not_there() -> None:
    for node in Pair(ORDERS, TmConfig.uniform()).nodes:
        with pytest.raises(OfframpError, match="port 128: this Tofino has ports 0 to 127"):
            node.receive(0, 128, packet())
        assert node.switch.stats.packets_in == 0


def test_a_queue_that_is_not_there_is_counted() -> None:
    config = TmConfig.uniform(queues=1, queue=QueueConfig(limit_packets=9))
    for node in Pair(ORDERS, config).nodes:
        node.receive(0, 0, packet(a=1, b=3))
        assert isinstance(node, QueuedSwitch)
        assert (node.advance(10**9), node.tm.misdirected) == ([], 1)
