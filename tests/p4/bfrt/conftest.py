# SPDX-License-Identifier: Apache-2.0
"""A switch with a program that has every kind of BF-RT table, on both engines."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

from bfrt_requests import Requests
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import make_switch
from offramp_p4.frontend import load_pushed
from offramp_p4.runtime.device import P4Device
from offramp_p4_tools.bfrt.service import BfrtService
from tna_programs import tna

LOCAL = """
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) hits;
    DirectMeter(MeterType_t.BYTES) pace;
    DirectRegister<bit<16>>(9) seen;
    DirectRegisterAction<bit<16>, bit<16>>(seen) see = {
        void apply(inout bit<16> value, out bit<16> out_value) { value = value + 1; out_value = value; }
    };
    action to(PortId_t port) { tm.ucast_egress_port = port; hits.count(); }
    action paced(PortId_t port) { tm.ucast_egress_port = port; hdr.h.b = (bit<8>)pace.execute(); }
    action noted(PortId_t port) { tm.ucast_egress_port = port; hdr.h.c = see.execute(); }
    action miss() { dprsr.drop_ctl = 1; }
    table exact { key = { hdr.h.a: exact; } actions = { to; @defaultonly miss; }
                  default_action = miss; counters = hits; size = 8; idle_timeout = true; }
    table metered { key = { hdr.h.a: exact; } actions = { paced; NoAction; } default_action = NoAction;
                    meters = pace; size = 8; }
    table registered { key = { hdr.h.a: exact; } actions = { noted; NoAction; } default_action = NoAction;
                       registers = seen; size = 8; }
    action mark(bit<8> value) { hdr.h.b = value; }
    table ternary { key = { hdr.h.c: ternary; hdr.h.w: range; } actions = { mark; NoAction; }
                    default_action = NoAction; size = 8; }
    table prefix { key = { hdr.h.w: lpm; } actions = { mark; NoAction; } default_action = NoAction; size = 8; }
    ActionProfile(8) members;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) h;
    ActionSelector(members, h, SelectorMode_t.FAIR, 4, 4) groups;
    table chosen { key = { hdr.h.a: exact; hdr.h.c: selector; } actions = { mark; NoAction; }
                   implementation = groups; size = 8; }
    Counter<bit<32>, bit<3>>(8, CounterType_t.PACKETS) counter;
    Meter<bit<3>>(8, MeterType_t.PACKETS) meter;
    Register<pair_t, bit<3>>(8) pairs;
    Register<bit<8>, bit<3>>(8, 5) words;
    Lpf<bit<32>, bit<3>>(8) low;
    Wred<bit<32>, bit<3>>(8, 1, 0) red;
    RegisterParam<bit<8>>(3) step;
    RegisterAction<bit<8>, bit<3>, bit<8>>(words) grow = {
        void apply(inout bit<8> value, out bit<8> out_value) { value = value + step.read(); out_value = value; }
    };
"""
BODY = """
    counter.count(3);
    md.m = (bit<8>)meter.execute(1);
    md.w = low.execute(hdr.h.w, 0);
    md.m = md.m | red.execute(hdr.h.w, 0);
    if (hdr.h.a == 1) { metered.apply(); }
    else if (hdr.h.a == 2) { registered.apply(); }
    else if (hdr.h.a == 3) { ternary.apply(); tm.ucast_egress_port = 9; }
    else if (hdr.h.a == 4) { prefix.apply(); tm.ucast_egress_port = 9; }
    else if (hdr.h.a == 5) { chosen.apply(); tm.ucast_egress_port = 9; }
    else if (hdr.h.a == 6) { hdr.h.b = grow.execute(1); tm.ucast_egress_port = 9; dprsr.digest_type = 1; }
    else if (hdr.h.a == 7) { hdr.h.c = md.x; tm.ucast_egress_port = 9; }
    else { exact.apply(); }
    if (hdr.h.c == 0xffff) { tm.mcast_grp_a = 1; }
"""
PROGRAM = tna(
    BODY,
    top="struct pair_t { bit<16> first; bit<16> second; } struct note_t { bit<8> a; bit<16> c; }\n"
    "struct port_t { bit<16> label; bit<48> rest; }",
    local=LOCAL,
    iplocals="value_set<bit<16>>(4) known;",
    port="port_t p = port_metadata_unpack<port_t>(pkt); md.x = p.label;",
    ipbody="transition select(hdr.h.c) { known: special; default: accept; }",
    ipstates="state special { md.flag = true; transition accept; }",
    idlocal="Digest<note_t>() note;",
    idbody="if (dprsr.digest_type == 1) { note.pack({ hdr.h.a, hdr.h.c }); }",
)


@pytest.fixture(scope="session")
def program():
    return load_pushed(PROGRAM, "all.p4")


@pytest.fixture
def bed(program, engine: str) -> SimpleNamespace:
    """A device, its service and a bound client."""
    device = P4Device(0, partial(make_switch, engine=engine))
    device.load(program)
    service = BfrtService(device)

    def send(*frames: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        out = device.process(PacketBatch.of(list(frames)))
        return list(zip(out.ports.tolist(), map(bytes, out.frames()), strict=True))

    return SimpleNamespace(device=device, service=service, client=Requests(service), send=send)
