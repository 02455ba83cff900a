# SPDX-License-Identifier: Apache-2.0
"""Traces of TNA programs: every way that a packet takes through the chip, and nothing changed by it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from offramp_p4.frontend import load_text
from offramp_p4.state import ActionData, CloneSession, Exact, GroupAction, MeterCell, Replica, TableEntry
from offramp_p4.switch import Switch
from offramp_p4.tna.replication import MulticastNode, MulticastTree
from offramp_p4.trace import PacketTrace
from offramp_p4.trace.alternatives import alternatives
from offramp_p4.trace.render import tree
from offramp_p4_tools.fuzz.campaign import Campaign
from offramp_p4_tools.fuzz.compare import traced_engine
from offramp_p4_tools.fuzz.tofino import random_tofino_program
from tna_programs import packet, tna

pytestmark = pytest.mark.p4
GOLDEN = Path(__file__).parent / "golden" / "tna.txt"

LOCAL = """
    action to(PortId_t p) { tm.ucast_egress_port = p; }
    action drop() { dprsr.drop_ctl = 1; }
    table t { key = { hdr.h.c: exact; } actions = { to; drop; } default_action = drop; }
    Counter<bit<32>, bit<8>>(4, CounterType_t.BYTES) bytes;
    Register<bit<32>, bit<8>>(4) seen;
    RegisterAction<bit<32>, bit<8>, bit<32>>(seen) see = {
        void apply(inout bit<32> value, out bit<32> rv) { value = value + 1; rv = value; }
    };
"""
BODY = """
    if (ig.resubmit_flag == 0 && hdr.h.a == 1) { dprsr.resubmit_type = 2; }
    t.apply();
    bytes.count(hdr.h.a);
    hdr.h.w = see.execute(hdr.h.a);
    if (hdr.h.b == 1) { dprsr.mirror_type = 1; md.session = 5; md.copy.setValid(); }
    if (hdr.h.b == 2) { tm.mcast_grp_a = 3; dprsr.digest_type = 1; }
    if (hdr.h.b == 3) { tm.copy_to_cpu = 1; }
    if (ig.ingress_port == 68) { tm.ucast_egress_port = 4; tm.bypass_egress = 1; }
"""
PROGRAM = tna(
    BODY,
    top="struct note_t { bit<8> a; }",
    local=LOCAL,
    idlocal="Mirror(1) mirror; Resubmit(2) again; Digest<note_t>(1) note;",
    idbody="""if (dprsr.mirror_type == 1) { mirror.emit<mirror_h>(md.session, md.copy); }
        if (dprsr.resubmit_type == 2) { again.emit(md.again); }
        if (dprsr.digest_type == 1) { note.pack({ hdr.h.a }); }""",
    ebody="if (hdr.h.a == 3) { dprsr.drop_ctl = 1; }",
)
PACKETS = {
    "unicast, and a mirror": packet(0, 1, 9),
    "resubmitted": packet(1, 0, 9),
    "dropped by ingress": packet(2, 0, 5),
    "dropped by egress": packet(3, 0, 9),
    "indices out of range, recirculated": packet(9, 0, 68),
    "multicast, and a digest": packet(0, 2, 9),
    "to the CPU": packet(0, 3, 9),
    "to a port that is not there": packet(0, 0, 300),
    "too short": b"abc",
}


def switch(traces: list[PacketTrace]) -> Switch:
    s = Switch(load_text(PROGRAM, "prog.p4"), trace=traces.append, cpu_port=64)
    for port in (9, 68, 300):
        s.tables["pipe.I.t"].insert(TableEntry((Exact(port),), ActionData("I.to", (port,))))
    s.pre.clones[5] = CloneSession((Replica(3, 1),))
    s.pre.trees[3] = MulticastTree((MulticastNode(7, (1, 2)),))
    return s


def test_every_way_through_the_chip() -> None:
    traces: list[PacketTrace] = []
    s = switch(traces)
    out = [s.process_one(0, frame) for frame in PACKETS.values()]
    console = Console(file=io.StringIO(), width=4000, highlight=False)
    for name, trace in zip(PACKETS, traces, strict=True):
        console.print(f"--- {name}")
        console.print(tree(trace))
    text = "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"  # type: ignore[attr-defined]
    assert text == GOLDEN.read_text(encoding="utf-8")
    outputs = [[span.output for span in trace.spans if span.output is not None] for trace in traces]
    assert list(map(sorted, outputs)) == list(map(sorted, out))
    for trace in traces:
        assert trace.to_json()["spans"]
        assert all(s.output or s.dropped or any(trace.children(s)) for s in trace.spans)


def test_a_packet_that_never_ends_is_cut_off() -> None:
    traces: list[PacketTrace] = []
    program = load_text(tna("tm.ucast_egress_port = 68; tm.bypass_egress = 1;"))
    Switch(program, trace=traces.append, max_passes=3).process_one(0, packet())
    assert [span.dropped for span in traces[0].spans][-1] == "the packet has used up its 3 passes"
    traces.clear()
    Switch(program, trace=traces.append, max_steps=100_000, max_passes=10**6).process_one(0, packet())
    assert traces[0].spans[-1].dropped == "the packet has used up its steps"


@pytest.mark.full
def test_a_traced_switch_does_the_same() -> None:
    campaign = Campaign(traced_engine, write=random_tofino_program)
    campaign.run(trials=8)
    assert [f"{f.kind} {f.seed}: {f.message}" for f in campaign.findings] == []
    assert (campaign.counts.programs, campaign.counts.unsupported) == (8, 0)


def test_a_meter_that_is_given_a_colour() -> None:
    local = "Meter<bit<8>>(2, MeterType_t.PACKETS) m;"
    traces: list[PacketTrace] = []
    body = "tm.ucast_egress_port = 1; tm.bypass_egress = 1; hdr.h.a = m.execute(8w1, MeterColor_t.YELLOW);"
    s = Switch(load_text(tna(body, local=local)), trace=traces.append)
    cell: MeterCell = s.meters["pipe.I.m"].cells[1]
    cell.configure(((1.0, 5), (1.0, 5)))
    assert s.process_one(0, packet())[0][1][0] == 1
    assert cell.levels[0] == 5


def test_all_ways_through_a_selector() -> None:
    local = """
        ActionProfile(16) profile;
        Hash<bit<16>>(HashAlgorithm_t.CRC16) h;
        ActionSelector(profile, h, SelectorMode_t.FAIR, 8, 4) selector;
        SelectorAction(selector) down = { void apply(inout bit<1> value) { value = 0; } };
        action to(PortId_t p) { tm.ucast_egress_port = p; }
        table t { key = { hdr.h.a: exact; hdr.h.w: selector; } actions = { to; } implementation = selector; }
    """
    program = load_text(tna("if (hdr.h.b == 1) { down.execute(hdr.h.w); } else { t.apply(); }", local=local))

    def switch_to(sink: object) -> Switch:
        s = Switch(program, trace=sink)  # type: ignore[arg-type]
        for i in range(3):
            s.profiles["pipe.I.profile"].insert_member(i, ActionData("I.to", (10 + i,)))
        s.profiles["pipe.I.selector"].insert_group(1, [0, 1, 2])
        s.tables["pipe.I.t"].insert(TableEntry((Exact(1),), GroupAction(1)))
        s.process_one(0, packet(b=1, w=1))
        return s

    ways = list(alternatives(switch_to, (0, packet(a=1))))
    assert [[span.output[0] for span in trace.spans if span.output] for trace in ways] == [[10], [12]]
