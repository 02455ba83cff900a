# SPDX-License-Identifier: Apache-2.0
"""Further passes that begin with the headers of the first: packets are those of the Python engine, which parses each.

What a packet does is drawn bit by bit: headers that change or come and go, clones of both kinds, copies, resubmission,
truncation, frames that end early. Blind to time, which this is for: docs/decisions.md has it.
"""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest

from offramp_base.wire.batch import PacketBatch
from offramp_p4.engines import make_switch
from offramp_p4.frontend import load_text
from offramp_p4.native.architecture import PacketMode, architecture, build
from offramp_p4.state import CloneSession, Replica
from offramp_p4_tools.fuzz.compare import FuzzInput, FuzzVerdict, compare, native_engine
from offramp_p4_tools.fuzz.packets import random_packets
from offramp_p4_tools.fuzz.programs import random_program

pytestmark = [pytest.mark.p4, pytest.mark.full]

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header first_t { bit<8> kind; bit<8> passes; bit<16> does; bit<4> x; bit<12> y; }
header second_t { bit<16> d; bit<16> e; }
header lanes_t { bit<32> a; bit<48> b; bit<72> c; bit<8> d; }
struct headers { first_t first; second_t second; lanes_t lanes; }
struct meta_t { @field_list(1) bit<8> hop; bit<32> w; @field_list(1) @field_list(2) bit<16> sum; }
parser P(packet_in pkt, out headers hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.first);
        transition select(hdr.first.kind) { 1: second; 2: lanes; 3: reject; default: accept; }
    }
    state second { pkt.extract(hdr.second); transition select(hdr.second.d) { 0: accept; default: lanes; } }
    state lanes { pkt.extract(hdr.lanes); transition accept; }
}
control VC(inout headers hdr, inout meta_t meta) { apply { } }
control I(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(64) sums;
    apply {
        bit<32> sum;
        bit<16> does = hdr.first.does;
        sums.read(sum, (bit<32>)hdr.first.kind);
        sums.write((bit<32>)hdr.first.kind, sum + hdr.lanes.a + meta.w + sm.packet_length + (bit<32>)sm.instance_type);
        meta.w = meta.w + sum + 7;
        meta.sum = meta.sum + (bit<16>)sum;
        if (sm.parser_error != error.NoError) { meta.sum = meta.sum + 1; }
        sm.egress_spec = 3;
        if (does[0:0] == 1 && meta.hop == 2) { hdr.second.e = hdr.second.e + 1; }
        if (does[1:1] == 1 && meta.hop == 1) { hdr.second.setInvalid(); }
        if (does[2:2] == 1 && meta.hop == 1) { hdr.lanes.setValid(); hdr.lanes.a = meta.w; }
        if (does[3:3] == 1) { clone_preserving_field_list(CloneType.I2E, 5, 1); }
        if (does[4:4] == 1 && sm.instance_type == 0) { resubmit_preserving_field_list(2); }
        if (does[5:5] == 1) { sm.mcast_grp = 9; }
        if (does[6:6] == 1 && meta.hop == 1) { truncate(11); }
        if (does[7:7] == 1) { hdr.first.y = hdr.first.y + 1; hdr.first.y = hdr.first.y - 1; }
        if (does[8:8] == 1 && meta.hop == 2) { mark_to_drop(sm); }
        if (meta.hop == hdr.first.passes) { hdr.first.does = meta.sum; }
    }
}
control E(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.first.does[9:9] == 1 && sm.instance_type == 0) {
            clone_preserving_field_list(CloneType.E2E, 6, 1);
        }
        if (hdr.first.does[10:10] == 1) { hdr.first.x = hdr.first.x + (bit<4>)sm.egress_rid; }
        if (meta.hop < hdr.first.passes) {
            meta.hop = meta.hop + 1;
            recirculate_preserving_field_list(1);
        }
    }
}
control CC(inout headers hdr, inout meta_t meta) { apply { } }
control D(packet_out pkt, in headers hdr) {
    apply { pkt.emit(hdr.first); pkt.emit(hdr.second); pkt.emit(hdr.lanes); }
}
V1Switch(P(), VC(), I(), E(), CC(), D()) main;
"""
EMITS = "pkt.emit(hdr.first); pkt.emit(hdr.second); pkt.emit(hdr.lanes);"
KEEPS = {
    "as it is": ("", ""),
    "emits the structure": (EMITS, "pkt.emit(hdr);"),
    "saves no fields": ("recirculate_preserving_field_list(1)", "recirculate_preserving_field_list(3)"),
    "has only one field": ("bit<8> hop; bit<32> w", "bit<8> hop; @field_list(1) bit<32> w"),
    "looks ahead": ("select(hdr.second.d) { 0:", "select(pkt.lookahead<bit<16>>()) { 0:"),
}
"""Texts in the program, and what stands in their place, where the deparser gives back what the parser reads."""
DOES_NOT = {
    "emits in another order": (EMITS, "pkt.emit(hdr.second); pkt.emit(hdr.first); pkt.emit(hdr.lanes);"),
    "emits twice": (EMITS, EMITS + "pkt.emit(hdr.second);"),
    "emits less": (EMITS, "pkt.emit(hdr.first); pkt.emit(hdr.lanes);"),
    "emits by choice": (EMITS, EMITS.replace("pkt.emit(hdr.l", "if (hdr.first.x != 1) pkt.emit(hdr.l")),
    "skips bytes": ("state lanes {", "state lanes { pkt.advance(16);"),
    "parses by what kind of pass it is": ("select(hdr.first.kind) { 1:", "select(sm.instance_type) { 0:"),
    "parses by metadata": ("select(hdr.first.kind) { 1:", "select(meta.hop) { 1:"),
    "writes metadata": ("state second {", "state second { meta.sum = 3;"),
    "writes a header": ("state second {", "state second { hdr.first.x = 3;"),
    "has a variable": ("state start {", "bit<8> twice = hdr.first.x ++ 4w0;\n state start {"),
    "reads again": ("state lanes {", "state lanes { pkt.extract(hdr.first);"),
    "restores headers": ("bit<32> w;", "bit<32> w; bit<8> unused;"),
    "has one pass": ("", ""),
}


def gives_back(text: str) -> bool:
    """Findings of the compiler."""
    loaded = load_text(text)
    source = build(loaded, architecture(loaded).objects(loaded), PacketMode.BATCH).text
    (verdict,) = re.findall(r'define internal i64 @"p4.gives_back"\(\).*?ret i64 (\d)', source, re.DOTALL)
    return verdict == "1"


def changed(name: str) -> str:
    old, new = (KEEPS | DOES_NOT)[name]
    if name == "restores headers":  # as older programs name them
        old, new = "recirculate_preserving_field_list(1)", "recirculate({ hdr.first.x, meta.hop })"
    if name == "has one pass":
        return re.sub(r"(recirculate|resubmit)_preserving_field_list\(\d\);", "", PROGRAM)
    assert not old or PROGRAM.count(old) == 1
    return PROGRAM.replace(old, new) if old else PROGRAM


def frames(rng: np.random.Generator, count: int) -> PacketBatch:
    loads = []
    for _ in range(count):
        does = int(rng.integers(0, 1 << 11)) & int(rng.integers(0, 1 << 11)) & int(rng.integers(0, 1 << 11))
        head = bytes([int(rng.integers(0, 5)), int(rng.integers(0, 6))]) + does.to_bytes(2, "big")
        whole = head + rng.bytes(2) + bytes(2 * [int(rng.integers(0, 2))]) + rng.bytes(40)
        loads.append((1, whole[: int(rng.integers(0, 48))] if rng.random() < 0.3 else whole))
    return PacketBatch.of(loads)


@pytest.mark.parametrize("name", [*KEEPS, *DOES_NOT])
def test_the_compiler_knows_what_gives_back_what_it_parses(name: str) -> None:
    assert gives_back(changed(name)) == (name in KEEPS)


@pytest.mark.parametrize("name", [*KEEPS, "emits in another order"])
def test_packets_are_those_of_the_other_engine(name: str) -> None:
    text = changed(name)
    loaded, rng = load_text(text), np.random.default_rng(len(name))
    switches = [make_switch(loaded, engine, max_passes=40) for engine in ("native", "python")]
    for switch in switches:
        switch.pre.multicast[9] = (Replica(3, 1), Replica(4, 2))
        switch.pre.clones[5] = CloneSession((Replica(6, 0),))
        switch.pre.clones[6] = CloneSession((Replica(7, 0),), packet_length=9)
    native, python = switches
    for count in (1, 2, 30, 400):
        batch = frames(rng, count)
        assert list(native.process(batch)) == list(python.process(batch))
        sums = [[switch.registers["I.sums"].read(i) for i in range(64)] for switch in switches]
        assert sums[0] == sums[1]
    assert native.stats == python.stats
    assert native.stats.recirculations > 100


IN_ORDER = """
parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h0);
        transition select(hdr.h0.kind) { 0 .. 99: one; 100 .. 199: two; default: accept; }
    }
    state one { packet.extract(hdr.h1); transition select(hdr.h0.next) { 0 &&& 1: two; default: accept; } }
    state two { packet.extract(hdr.h2); transition accept; }
}
"""
GOES_ROUND = "if (meta.rounds < 3 && std.ingress_port != 2) { meta.rounds = meta.rounds + 1; recirculate"
EMITS_IN_ORDER = "packet.emit(hdr.h0); packet.emit(hdr.h1); packet.emit(hdr.h2);"


def agrees(seed: int) -> FuzzVerdict:
    """A random program with a parser and a deparser that give back what they read, on both engines."""
    text = random_program(seed).text
    start, end = text.index("parser Parse("), text.index("control MyVerify")
    text = text[:start] + IN_ORDER + text[end:]
    text = re.sub(r"(packet\.emit\(.*?\);\s*)+", EMITS_IN_ORDER, text)
    body = text.index("apply {", text.index("control MyEgress")) + len("apply {")
    text = text[:body] + GOES_ROUND + "_preserving_field_list(1); }" + text[body:]
    assert gives_back(text)
    return compare(native_engine, text, FuzzInput(tuple(random_packets(Random(seed), 60, (7, 90, 150))), seed))


def test_random_programs_agree() -> None:
    assert agrees(1) == FuzzVerdict("same")


@pytest.mark.slow
def test_many_random_programs_agree() -> None:
    for seed in range(100, 160):
        assert agrees(seed) == FuzzVerdict("same"), seed
