# SPDX-License-Identifier: Apache-2.0
"""Destinations of a Tofino's packets: unicast, multicast and its pruning, CPU, egress bypass, recirculation, drops."""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load_text
from offramp_p4.state import Replica
from offramp_p4.tna.replication import MulticastNode, MulticastTree, TofinoReplication
from tna_programs import make, packet, tna

pytestmark = pytest.mark.p4


def switch(body: str = "", *, cpu_port: int | None = None, max_passes: int = 10_000, **parts: str) -> PlainSwitch:
    return make(load_text(tna(body, **parts), "prog.p4"), cpu_port=cpu_port, max_passes=max_passes)


def pre(s: PlainSwitch) -> TofinoReplication:
    assert isinstance(s.pre, TofinoReplication)
    return s.pre


def test_a_packet_goes_to_its_port_with_its_payload() -> None:
    s = switch("tm.ucast_egress_port = 9; hdr.h.b = hdr.h.a + 1;")
    assert s.process_one(1, packet(a=4, rest=b"rest")) == [(9, packet(a=4, b=5, rest=b"rest"))]
    assert (s.stats.packets_in, s.stats.packets_out, s.stats.passes) == (1, 1, 1)


@pytest.mark.full
def test_a_packet_without_a_port_is_dropped() -> None:
    s = switch("")
    assert s.process_one(1, packet()) == []
    assert s.stats.dropped == 1


def test_invalidate_takes_the_port_back() -> None:
    s = switch("tm.ucast_egress_port = 9; if (hdr.h.a == 1) { invalidate(tm.ucast_egress_port); }")
    assert s.process_one(1, packet(a=1)) == []
    assert len(s.process_one(1, packet(a=2))) == 1


def test_egress_sees_port_queue_and_length() -> None:
    s = switch(
        "tm.ucast_egress_port = 9; tm.qid = 3; tm.ingress_cos = 5;",
        ebody="hdr.h.a = (bit<8>) eg.egress_qid; hdr.h.b = (bit<8>) eg.egress_cos; hdr.h.c = eg.pkt_length;"
        "hdr.h.w = (bit<32>) eg.egress_port;",
    )
    assert s.process_one(1, packet(rest=bytes(4))) == [(9, packet(a=3, b=5, c=12, w=9, rest=bytes(4)))]


def test_drop_ctl_of_ingress_and_of_egress() -> None:
    s = switch(
        "tm.ucast_egress_port = 9; dprsr.drop_ctl = hdr.h.a[2:0];",
        ebody="dprsr.drop_ctl = hdr.h.b[2:0];",
    )
    assert s.process_one(1, packet(a=1)) == []
    assert s.process_one(1, packet(b=1)) == []
    assert len(s.process_one(1, packet(a=2, b=4))) == 1
    assert s.stats.dropped == 2


def test_egress_bypass() -> None:
    s = switch("tm.ucast_egress_port = 9; tm.bypass_egress = hdr.h.a[0:0];", ebody="hdr.h.b = 0xEE;")
    assert s.process_one(1, packet(a=1)) == [(9, packet(a=1))]
    assert s.process_one(1, packet(a=2)) == [(9, packet(a=2, b=0xEE))]


def test_bridged_metadata_travels_in_front() -> None:
    s = switch(
        "tm.ucast_egress_port = 9; hdr.bridge = { hdr.h.a + 1 };",
        epbody="pkt.extract(hdr.bridge); pkt.extract(hdr.h); transition accept;",
        ebody="hdr.h.b = hdr.bridge.note; hdr.bridge.setInvalid();",
    )
    assert s.process_one(1, packet(a=6)) == [(9, packet(a=6, b=7))]


def test_two_groups_and_unicast_at_once() -> None:
    s = switch(
        "tm.ucast_egress_port = 1; tm.mcast_grp_a = 5; tm.mcast_grp_b = 6;",
        ebody="hdr.h.a = (bit<8>) eg.egress_port; hdr.h.c = eg.egress_rid; hdr.h.b = (bit<8>) eg.egress_rid_first;",
    )
    pre(s).multicast[5] = (Replica(2, 7), Replica(3, 7))
    pre(s).multicast[6] = (Replica(4, 8),)
    assert s.process_one(0, packet()) == [
        (1, packet(a=1)),
        (2, packet(a=2, b=1, c=7)),
        (3, packet(a=3, c=7)),
        (4, packet(a=4, b=1, c=8)),
    ]
    assert s.stats.replicas == 3


PRUNING = (
    "tm.mcast_grp_a = 1; tm.rid = hdr.h.c; tm.level1_exclusion_id = (bit<16>) hdr.h.a;"
    "tm.level2_exclusion_id = (bit<9>) hdr.h.b; tm.level1_mcast_hash = hdr.h.w[12:0];"
    "tm.level2_mcast_hash = hdr.h.w[28:16];"
)


def ports(s: PlainSwitch, **fields: int) -> list[int]:
    return [port for port, _ in s.process_one(0, packet(**fields))]


def test_level_1_pruning_leaves_out_nodes() -> None:
    s = switch(PRUNING)
    pre(s).trees[1] = MulticastTree(
        (MulticastNode(1, (1, 2), xid=4), MulticastNode(2, (3,), xid=5), MulticastNode(3, (4,)))
    )
    assert ports(s) == [1, 2, 3, 4]
    assert ports(s, a=4) == [3, 4]
    assert ports(s, a=5) == [1, 2, 4]


def test_level_2_pruning_leaves_out_ports_of_the_own_rid() -> None:
    s = switch(PRUNING)
    pre(s).trees[1] = MulticastTree((MulticastNode(1, (1, 2)), MulticastNode(2, (1, 3))))
    pre(s).excluded_ports[9] = frozenset({1})
    assert ports(s, b=9, c=1) == [2, 1, 3]
    assert ports(s, b=9, c=2) == [1, 2, 3]
    assert ports(s, b=8, c=1) == [1, 2, 1, 3]


def test_hashes_pick_nodes_and_members() -> None:
    s = switch(PRUNING)
    pre(s).trees[1] = MulticastTree(
        (MulticastNode(1, (), lags=(0,)),), ecmp=((MulticastNode(2, (5,)), MulticastNode(3, (6,))),)
    )
    pre(s).lags[0] = (1, 2, 3)
    assert ports(s, w=0) == [1, 5]
    assert ports(s, w=1 | 2 << 16) == [3, 6]


def test_groups_of_the_control_plane_are_pruned_by_port_too() -> None:
    s = switch(PRUNING)
    pre(s).multicast[1] = (Replica(1, 1), Replica(2, 1))
    pre(s).excluded_ports[9] = frozenset({1})
    assert ports(s, b=9, c=1) == [2]
    s.reset()
    assert ports(s) == []


def test_copy_to_cpu_is_one_more_copy() -> None:
    s = switch("tm.ucast_egress_port = 9; tm.copy_to_cpu = 1; dprsr.drop_ctl = hdr.h.a[2:0];", cpu_port=64)
    assert ports(s) == [9, 64]
    assert ports(s, a=1) == [64]
    assert ports(s, a=2) == [9]
    assert switch("tm.copy_to_cpu = 1;").process_one(0, packet()) == []


def test_recirculation_port() -> None:
    s = switch(
        "hdr.h.b = hdr.h.b + 1; hdr.h.c = (bit<16>) ig.ingress_port;"
        "if (hdr.h.b < 3) { tm.ucast_egress_port = 68; tm.bypass_egress = hdr.h.a[0:0]; }"
        "else { tm.ucast_egress_port = 2; }"
    )
    assert s.process_one(7, packet()) == [(2, packet(b=3, c=68))]
    assert s.process_one(7, packet(a=1)) == [(2, packet(a=1, b=3, c=68))]
    assert (s.stats.recirculations, s.stats.passes) == (4, 6)


def test_more_recirculation_ports_and_a_loop_that_never_ends() -> None:
    program = load_text(tna("tm.ucast_egress_port = 10;"))
    s = make(program, recirculation_ports=[10], max_passes=7)
    assert s.process_one(0, packet()) == []
    assert (s.stats.passes, s.stats.looped) == (7, 1)


def test_ports_that_the_chip_does_not_have() -> None:
    s = switch("tm.ucast_egress_port = 200;")
    assert s.process_one(127, packet()) == []
    assert s.stats.dropped == 1
    with pytest.raises(OfframpError, match=r"port 128: this Tofino has ports 0 to 127 \(128 per pipe\)"):
        s.process_one(128, packet())
    assert s.stats.packets_in == 1


def test_time_stamps_are_nanoseconds() -> None:
    s = switch(
        "tm.ucast_egress_port = 1; hdr.h.w = ig.ingress_mac_tstamp[31:0]; hdr.h.c = prsr.global_tstamp[15:0];",
        ebody="hdr.h.a = eg.enq_tstamp[7:0]; hdr.h.b = prsr.global_tstamp[7:0];",
    )
    s.now_us = 3
    assert s.process_one(0, packet()) == [(1, packet(a=3000 & 0xFF, b=3000 & 0xFF, c=3000, w=3000))]


TWO_PIPES = tna("tm.ucast_egress_port = (bit<9>) hdr.h.c; hdr.h.a = 1;").replace(
    "Switch(pipe) main;",
    "control J(inout headers hdr, inout meta_t md, in ingress_intrinsic_metadata_t ig,"
    " in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,"
    " inout ingress_intrinsic_metadata_for_tm_t tm) { apply { tm.ucast_egress_port = 3; hdr.h.a = 2; } }"
    "Pipeline(IP(), J(), ID(), EP(), E(), ED()) other; Switch(pipe, other) main;",
)


def test_each_pipe_runs_its_own_program_on_its_own_ports() -> None:
    s = make(load_text(TWO_PIPES))
    assert s.process_one(5, packet(c=130)) == [(130, packet(a=1, c=130))]
    assert s.process_one(130, packet()) == [(3, packet(a=2))]
    # To the recirculation port of pipe 1, through pipe 1's ingress.
    assert s.process_one(5, packet(c=128 + 68)) == [(3, packet(a=2, c=196))]
