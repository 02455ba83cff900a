# SPDX-License-Identifier: Apache-2.0
"""Headers of changing length in machine code: what is extracted and emitted, and what ends the parser."""

from __future__ import annotations

import pytest

from offramp_p4 import PlainSwitch, make_switch
from offramp_p4.frontend import load_text
from p4_programs import program

pytestmark = pytest.mark.p4
FIELDS = "header v_t { bit<8> n; varbit<32> v; bit<8> after; } struct headers { v_t v;"


def source(take: str) -> str:
    """The first header's byte ``b`` says how many bits the second one's field has; ``c`` leaves as its last byte."""
    text = program("sm.egress_spec = 1; hdr.h.c = hdr.v.isValid() ? (bit<16>)hdr.v.after : 99;", pbody=take)
    return text.replace("struct headers {", FIELDS).replace("pkt.emit(hdr);", "pkt.emit(hdr.h); pkt.emit(hdr.v);")


TAKE = "pkt.extract(hdr.v, (bit<32>)hdr.h.b); transition accept;"


@pytest.fixture(scope="module")
def switch() -> PlainSwitch:
    return make_switch(load_text(source(TAKE), "prog.p4"), "native")


def left(s: PlainSwitch, bits: int, rest: bytes) -> bytes:
    ((_, out),) = s.process_one(0, bytes([7, bits, 0, 0]) + rest)
    return out


@pytest.mark.each
@pytest.mark.parametrize("size", [0, 1, 3, 4])
def test_what_is_extracted_leaves_again(switch: PlainSwitch, size: int) -> None:
    rest = bytes([0xA0, *range(1, size + 1), 0xB0]) + b"payload"
    assert left(switch, 8 * size, rest) == bytes([7, 8 * size, 0, 0xB0]) + rest


@pytest.mark.each
@pytest.mark.parametrize(
    ("bits", "rest"),
    [(12, bytes(20)), (40, bytes(20)), (32, bytes(5)), (0, bytes(1))],
    ids=["no whole bytes", "too long", "the frame is too short", "nothing is left"],
)
def test_what_cannot_be_extracted_is_not_valid(switch: PlainSwitch, bits: int, rest: bytes) -> None:
    assert left(switch, bits, rest) == bytes([7, bits, 0, 99]) + rest
