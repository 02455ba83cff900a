# SPDX-License-Identifier: Apache-2.0
"""Corners of the language in which the engines once differed, or one of them failed."""

from __future__ import annotations

import pytest

from offramp_p4.frontend import load_text
from offramp_p4.state import ActionData, Exact, TableEntry
from p4_programs import program
from twins import Twins

pytestmark = pytest.mark.p4

SIGNED_ENUM = program(
    "t.apply(); digest<note_t>(1, { hdr.h.a }); sm.egress_spec = 1;",
    top="struct note_t { level_t a; }",
    local="""
        action set(level_t to) { hdr.h.a = to; }
        table t { key = { hdr.h.a: exact; } actions = { set; NoAction; } default_action = NoAction(); }
    """,
).replace("header h_t { bit<8> a;", "enum int<8> level_t { LOW = -3, HIGH = 5 }\nheader h_t { level_t a;")

BEYOND = program(
    "sm.egress_spec = 1;",
    plocals="bit<8> i = 0;",
    pbody="transition more;",
    states="""
        state more {
            pkt.extract(hdr.s[i]);
            i = i + 1;
            transition select(hdr.s[i - 1].a) { 0 .. 127: more; default: accept; }
        }
    """,
)
"""A parser that extracts to elements behind the end of a stack, and reads them."""


@pytest.mark.parametrize("value", [0x03, 0x80, 0xFD])
def test_enums_of_signed_numbers(value: int) -> None:
    twins = Twins(load_text(SIGNED_ENUM))
    twins.each(lambda s: s.tables["I.t"].insert(TableEntry((Exact(0xFD),), ActionData("I.set", (value,)))))
    sent = twins.send([(0, bytes([key, 2, 3, 4])) for key in (0xFD, 0x03)])
    assert [frame[0] for _, frame in sent] == [value, 0x03]


@pytest.mark.parametrize("more", [0, 10])
@pytest.mark.parametrize("elements", range(1, 8))
def test_elements_behind_the_end_of_a_stack_read_as_zero(elements: int, more: int) -> None:
    """Headers of three fields and ``more``."""
    text = BEYOND.replace("bit<16> c;", "bit<16> c; " + "".join(f"bit<8> d{n}; " for n in range(more)))
    stack = b"".join(bytes([0x80 if n + 1 == elements else 0, n, 0, n, *range(more)]) for n in range(elements))
    rest = b"r" * (4 + more)  # one header more
    ((_, sent),) = Twins(load_text(text)).send([(0, bytes(4 + more) + stack + rest)])
    assert sent.endswith(rest) == (elements <= 3)
