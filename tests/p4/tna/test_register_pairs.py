# SPDX-License-Identifier: Apache-2.0
"""Registers of pairs: reading one leaves what lies behind it in a packet's memory alone."""

from __future__ import annotations

import pytest

from offramp_p4 import make_switch
from offramp_p4.frontend import load_text
from tna_programs import packet, tna

pytestmark = pytest.mark.p4

TOP = "struct pair_t { bit<16> high; bit<16> low; }"
LOCAL = """
    Register<pair_t, bit<8>>(4) pairs; Register<bit<8>, bit<8>>(4) singles;
    bit<16> before = 0x1234; bit<16> one = 0;
    RegisterAction<pair_t, bit<8>, bit<16>>(pairs) first = {
        void apply(inout pair_t value, out bit<16> out_value) { out_value = value.low; value.high = value.high + 1; }
    };
    RegisterAction<bit<8>, bit<8>, bit<8>>(singles) single = {
        void apply(inout bit<8> value, out bit<8> out_value) { value = value + 1; out_value = value; }
    };
    bit<16> after = 0x4321;
    action set(bit<16> x) { one = first.execute(hdr.h.a); hdr.h.c = x; }
"""
BODY = "bit<16> own = hdr.h.c; hdr.h.b = single.execute(0); set(own + 1); hdr.h.w = (before + after + own) ++ one;"


def test_a_pair_in_the_middle_of_others() -> None:
    text = tna(f"tm.ucast_egress_port = 1; tm.bypass_egress = 1; {BODY}", top=TOP, local=LOCAL)
    s = make_switch(load_text(text, "prog.p4"), "python")
    s.registers["pipe.I.pairs"].write(1, 9 << 16 | 5)
    for number in (1, 2):
        ((_, out),) = s.process_one(0, packet(a=1, c=3, rest=b"rest"))
        assert out == packet(a=1, b=number, c=4, w=(0x1234 + 0x4321 + 3) << 16 | 5, rest=b"rest")
    assert s.registers["pipe.I.pairs"].read(1) == 11 << 16 | 5
