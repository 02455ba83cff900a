# SPDX-License-Identifier: Apache-2.0
"""What a packet of v1model finds in its second pass, in the Python engine: counted by hand."""

from __future__ import annotations

import pytest

from offramp_p4 import PlainSwitch, make_switch
from offramp_p4.frontend import load_text
from offramp_p4.state import CloneSession, Replica
from p4_programs import program

pytestmark = pytest.mark.p4


def switch(body: str, egress: str = "", emit: str = "pkt.emit(hdr);") -> PlainSwitch:
    head, mark, rest = program(body).replace("pkt.emit(hdr);", emit).partition("control E(")
    empty, with_body = "apply { }", f"apply {{ {egress} }}"
    return make_switch(load_text(head + mark + rest.replace(empty, with_body, 1), "prog.p4"), "python")


def test_a_resubmitted_packet_comes_as_it_was_from_port_0() -> None:
    body = "if (sm.instance_type == 0) { hdr.h.a = 9; resubmit_preserving_field_list(0); } "
    body += "else { hdr.h.b = (bit<8>)sm.instance_type; hdr.h.c = (bit<16>)sm.ingress_port; sm.egress_spec = 3; }"
    assert switch(body).process_one(5, bytes([1, 2, 3, 4])) == [(3, bytes([1, 6, 0, 0]))]


def test_the_time_of_arrival_has_48_bits() -> None:
    s = switch("sm.egress_spec = 1; hdr.h.c = (bit<16>)sm.ingress_global_timestamp; hdr.h.a = "
               "(bit<8>)(sm.ingress_global_timestamp >> 40);")  # fmt: skip
    s.now_us = (1 << 48) + 0x1234
    assert s.process_one(0, bytes(4)) == [(1, bytes([0, 0, 0x12, 0x34]))]
    s.now_us = 0xAB << 40
    assert s.process_one(0, bytes(4)) == [(1, bytes([0xAB, 0, 0, 0]))]


def test_a_clone_of_egress_is_as_long_as_what_leaves() -> None:
    """Two headers of four bytes have become valid, and the clone is cut to more bytes than the packet had before."""
    egress = "if (sm.instance_type == 0) { hdr.s[0] = { 1, 2, 3 }; hdr.s[1] = { 4, 5, 6 }; "
    egress += "clone(CloneType.E2E, 32w7); } else { truncate(32w10); }"
    s = switch("sm.egress_spec = 1;", egress, "pkt.emit(hdr.h); pkt.emit(hdr.s);")
    s.pre.clones[7] = CloneSession((Replica(4, 0),))
    whole = bytes([7, 8, 0, 0, 1, 2, 0, 3, 4, 5, 0, 6, 99])
    assert sorted(s.process_one(0, bytes([7, 8, 0, 0, 99]))) == [(1, whole), (4, whole[:10])]
