# SPDX-License-Identifier: Apache-2.0
"""Externs that a package outside brings to v1model."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_p4 import externs, make_switch
from offramp_p4.externs import Extern
from offramp_p4.frontend import load_pushed, load_text
from offramp_p4.runtime.p4info import generate
from offramp_p4.switch import Switch

OUTSIDE = Path(__file__).parents[1] / "support/outside"
PROGRAM = """
#include <core.p4>
#include <v1model.p4>
#include <parity.p4>
#include <sequence.p4>
header word_t { bit<32> word; bit<7> rest; bit<1> odd; bit<8> number; }
struct headers_t { word_t w; }
struct meta_t {}
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.w); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply {} }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    sequence(7) numbers;
    apply {
        h.w.odd = parity(h.w.word);
        if (h.w.odd == 1) { h.w.number = numbers.next(); }
        s.egress_spec = 1;
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in headers_t h) { apply { p.emit(h.w); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is installed, and nothing has looked before."""
    monkeypatch.syspath_prepend(str(OUTSIDE))
    monkeypatch.setattr(externs, "EXTERNS", type(externs.EXTERNS)("P4 extern", "offramp.p4_externs"))
    assert externs.EXTERNS.names() == ["parity", "sequence"]


def sent(switch: Switch, word: int) -> bytes:
    ((port, frame),) = switch.process_one(0, word.to_bytes(4, "big") + b"\0\0")
    assert port == 1
    return frame[4:]


def test_a_program_calls_a_function_and_an_object() -> None:
    switch = make_switch(load_text(PROGRAM))
    assert (switch.engine, "extern parity" in switch.engine_reason) == ("python", True)
    assert [sent(switch, word) for word in (0b111, 0b101, 0x8000_0000)] == [b"\1\7", b"\0\0", b"\1\10"]
    switch.reset()
    assert sent(switch, 1) == b"\1\7"


def test_the_native_engine_refuses_in_one_line() -> None:
    with pytest.raises(OfframpError, match=r"^<text>:16:19: error: not supported: extern parity"):
        make_switch(load_text(PROGRAM), "native")


def test_a_trace_and_a_description_for_controllers() -> None:
    traces = []
    switch = make_switch(load_text(PROGRAM), trace=traces.append)
    assert sent(switch, 1) == b"\1\7"
    assert "parity" in str(traces[0])
    assert generate(load_text(PROGRAM)).externs == []


def test_a_pushed_program_may_use_what_is_installed() -> None:
    assert sent(make_switch(load_pushed(PROGRAM, "<pushed>")), 1) == b"\1\7"
    with pytest.raises(OfframpError, match="include refused"):
        load_pushed("#include <majority.p4>", "<pushed>")


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (lambda word: 2, "extern parity: the result 2 is outside 0..1"),
        (lambda word: -1, "extern parity: the result -1 is outside 0..1"),
        (lambda word: None, "extern parity: TypeError: "),
        (lambda word: 1 // 0, "extern parity: ZeroDivisionError: "),
    ],
)
def test_a_failure_drops_the_packet_and_says_why(behaviour, message, caplog) -> None:  # type: ignore[no-untyped-def]
    externs.EXTERNS._things["parity"] = Extern("extern bit<1> parity(in bit<32> word);", behaviour)
    switch = make_switch(load_text(PROGRAM), "python")
    with caplog.at_level(logging.ERROR):
        assert switch.process_one(0, bytes(6)) == []
    assert message in caplog.text
    assert switch.stats.dropped == 1


@pytest.mark.parametrize(
    ("extern", "message"),
    [
        (Extern("extern bit<1> parity(in bit<32> word);", lambda: 0), "takes other arguments"),
        (Extern("extern bit<1> parity(out bit<32> word);", lambda word: 0), "takes other arguments"),
        (Extern("extern bit<1> parity(in bit<32> word)", lambda word: 0), "expected ';' after an extern function"),
        (len, "expected an offramp_p4.externs.Extern"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_program_is_loaded(extern: object, message: str) -> None:
    externs.EXTERNS._things["parity"] = extern  # type: ignore[assignment]
    with pytest.raises(OfframpError, match=message):
        make_switch(load_text(PROGRAM), "python")


RESULTS = """
#include <core.p4>
#include <v1model.p4>
extern void fill(out bit<32> into, bit<32> value);
extern bit<8> halve(inout bit<16> word, in bit<8> by, out bit<7> rest);
header word_t { bit<32> word; bit<16> half; bit<8> result; bit<7> rest; bit<1> odd; }
struct headers_t { word_t[2] w; }
struct meta_t {}
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.w.next); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply {} }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        fill(h.w[0].word, 0xFF);
        h.w[0].result = halve(h.w[0].half, 3, h.w[0].rest);
        s.egress_spec = 1;
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in headers_t h) { apply { p.emit(h.w); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""
FRAME = bytes.fromhex("beefca0e 0009 00 00")


def outside(name: str, behaviour: Callable[..., object]) -> None:
    """Have a package bring an extern that the program declares itself, as bmv2's users link theirs."""
    externs.EXTERNS._things[name] = Extern("", behaviour)


def test_results_come_back_through_out_and_inout_parameters() -> None:
    """A program that declares an extern which only its user's switch has, as p4c's extern-funcs-bmv2 does."""
    outside("fill", lambda value: value)
    outside("halve", lambda word, by: (word & 0xFF, word // by, 5))
    switch = make_switch(load_text(RESULTS))
    assert switch.engine == "python"
    assert switch.process_one(0, FRAME) == [(1, bytes.fromhex("000000ff 0003 09 0a"))]


@pytest.mark.parametrize(
    ("results", "message"),
    [((1, 2), "2 results, not 3"), ((1, 2, 128), "the result 128 is outside 0..127"), (1, "TypeError")],
)
def test_results_that_do_not_fit_drop_the_packet(
    results: object, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    outside("fill", lambda value: value)
    outside("halve", lambda word, by: results)
    with caplog.at_level(logging.ERROR):
        assert make_switch(load_text(RESULTS)).process_one(0, FRAME) == []
    assert message in caplog.text
