# SPDX-License-Identifier: Apache-2.0
"""A PSA program with holes, for tests of single constructs."""

from __future__ import annotations

_SHELL = """
#include <core.p4>
#include <psa.p4>
header word_t { bit<8> a; bit<8> b; bit<16> c; bit<32> d; }
struct headers_t { word_t w; word_t x; word_t[2] s; }
struct none_t { }
struct meta_t { bit<16> m; bool flag; }
struct carried_t { bit<16> c; }
DECLARED
parser IP(packet_in p, out headers_t h, inout meta_t m, in psa_ingress_parser_input_metadata_t i, in none_t r,
          in none_t c) {
    PARSED
    state start { p.extract(h.w); START }
}
control I(inout headers_t h, inout meta_t m, in psa_ingress_input_metadata_t i,
          inout psa_ingress_output_metadata_t o) {
    OBJECTS
    apply { send_to_port(o, (PortId_t)32w1); BODY }
}
control ID(packet_out p, out none_t c, out none_t r, out carried_t n, inout headers_t h, in meta_t m,
           in psa_ingress_output_metadata_t o) {
    SUMS
    apply { DEPARSE p.emit(h); BEHIND }
}
parser EP(packet_in p, out headers_t h, inout meta_t m, in psa_egress_parser_input_metadata_t i, in carried_t n,
          in none_t a, in none_t b) { state start { p.extract(h.w); m.m = n.c; transition accept; } }
control E(inout headers_t h, inout meta_t m, in psa_egress_input_metadata_t i,
          inout psa_egress_output_metadata_t o) { apply { EGRESS } }
control ED(packet_out p, out none_t c, out none_t r, inout headers_t h, in meta_t m,
           in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t i) { apply { p.emit(h); } }
PSA_Switch(IngressPipeline(IP(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
           BufferingQueueingEngine()) main;
"""
_HOLES = ("DECLARED", "PARSED", "OBJECTS", "BODY", "SUMS", "DEPARSE", "BEHIND", "EGRESS")


def psa_program(**holes: str) -> str:
    """The program with text in its holes, which are named in lower case; ``start`` ends the first state."""
    text = _SHELL.replace("START", holes.get("start", "transition accept;"))
    for hole in _HOLES:
        text = text.replace(hole, holes.get(hole.lower(), ""))
    return text
