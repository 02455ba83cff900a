# SPDX-License-Identifier: Apache-2.0
"""Packets that follow a program's parser reach its states, stacks and sub-parsers; chance alone does not."""

from __future__ import annotations

from random import Random

import pytest

from offramp_p4.frontend import load_text
from offramp_p4.switch import Switch
from offramp_p4_tools.fuzz.packets import random_packets
from offramp_p4_tools.fuzz.parsed import parsed_packets

pytestmark = pytest.mark.p4

PROGRAM = """
#include <v1model.p4>
header first_t { bit<4> high; bit<12> low; bit<16> kind; }
header label_t { bit<31> label; bit<1> last; }
header inner_t { bit<32> mark; }
struct headers { first_t first; label_t[3] labels; inner_t inner; }
struct metadata { bit<8> way; }
parser sub(packet_in p, out inner_t inner, inout metadata meta) {
    state start { p.extract(inner);
        transition select(inner.mark[31:16], inner.mark[15:0]) { (0xcafe, 0xbabe): right; default: accept; } }
    state right { meta.way = 2; transition accept; }
}
parser read(packet_in p, out headers h, inout metadata meta, inout standard_metadata_t s) {
    sub() nested;
    state start { p.extract(h.first);
        transition select(h.first.high ++ h.first.low, h.first.kind) {
            (0xabcd, 0x1234): labels; (0xabcd, 0x4000 &&& 0xf000): peek; } }
    state labels { p.extract(h.labels.next);
        transition select(h.labels.last.last) { 0: labels; 1: bottom; } }
    state bottom { meta.way = 1; transition accept; }
    state peek { transition select(p.lookahead<bit<64>>()[31:0]) { 0xfeedf00d: inner; } }
    state inner { meta.way = 3; nested.apply(p, h.inner, meta); transition accept; }
}
control none(inout headers h, inout metadata meta) { apply { } }
control ingress(inout headers h, inout metadata meta, inout standard_metadata_t s) {
    apply { s.egress_spec = (bit<9>) meta.way; } }
control egress(inout headers h, inout metadata meta, inout standard_metadata_t s) { apply { } }
control write(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(read(), none(), ingress(), egress(), none(), write()) main;
"""


def test_every_way_is_taken() -> None:
    program = load_text(PROGRAM)

    def ways(packets: list[tuple[int, bytes]]) -> set[int]:
        switch = Switch(program)
        return {port for arriving, frame in packets for port, _ in switch.process_one(arriving, frame)}

    assert ways(parsed_packets(program, Random(1), 120)) == {0, 1, 2, 3}
    assert ways(random_packets(Random(1), 120)) == {0}


def test_some_packets_are_cut_off() -> None:
    lengths = [len(frame) for _, frame in parsed_packets(load_text(PROGRAM), Random(2), 200)]
    assert min(lengths) < 4 < max(lengths)
