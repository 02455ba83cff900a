# SPDX-License-Identifier: Apache-2.0
"""Programs written as bmv2's JSON and read again behave as they do directly.

A fault that the writer and the reader share does not show here; ``test_real_bmv2.py`` shows it where bmv2 is at hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from bmv2_refusals import REFUSED
from offramp_p4.frontend import load, load_text
from offramp_p4.source import Unsupported
from offramp_p4.stf import run_stf
from offramp_p4.switch import Switch
from offramp_p4_tools.bmv2.read import from_json
from offramp_p4_tools.bmv2.write import to_json
from offramp_p4_tools.fuzz.packets import random_packets
from offramp_p4_tools.fuzz.programs import random_program

FOLDER = Path(__file__).parents[1] / "stf"
IMMUTABLE = {"action_data"}  # its test adds to a table that has entries, which bmv2's JSON says are all there is
TESTS = sorted({path.stem for path in FOLDER.glob("*.stf")} - REFUSED.keys() - IMMUTABLE)

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("name", TESTS)
def test_stf(name: str, engine: str) -> None:
    text = (FOLDER / f"{name}.stf").read_text()
    document = json.dumps(to_json(load(FOLDER / f"{name}.p4")))
    result = run_stf(from_json(document, f"{name}.json"), text, f"{name}.stf", engine=engine)
    assert result.mismatches == []
    assert result.expectations > 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_format_cannot_express_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(Unsupported, match=REFUSED[name]) as refused:
        to_json(load(FOLDER / f"{name}.p4"))
    assert refused.value.pos.line > 0


_SHELL = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
struct headers { h_t h; }
struct metadata { bit<8> m; }
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t s) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply {} }
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
FUNCTIONS
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t s) {
    DECLARATIONS
    apply { s.egress_spec = 1; BODY }
}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


def _run(body: str, packet: str, engine: str, *, functions: str = "", declarations: str = "") -> str:
    text = _SHELL.replace("FUNCTIONS", functions).replace("DECLARATIONS", declarations).replace("BODY", body)
    program = from_json(json.dumps(to_json(load_text(text))), "x.json")
    from offramp_p4.engines import make_switch

    ((_, frame),) = make_switch(program, engine).process_one(0, bytes.fromhex(packet))
    return frame.hex()


def test_a_compound_assignment_evaluates_its_place_once(engine: str) -> None:
    functions = "bit<32> next(inout bit<8> x) { bit<8> old = x; x = x + 1; return (bit<32>) old; }"
    declarations = "register<bit<8>>(4) r;"
    body = "bit<8> v; v = hdr.h.a; v |= (bit<8>) next(hdr.h.b); hdr.h.c = v;"
    assert _run(body, "01020000", engine, functions=functions, declarations=declarations) == "01030300"


def test_a_loop_that_returns_from_its_control(engine: str) -> None:
    body = "for (bit<8> i in 8w0 .. 8w9) { hdr.h.b = i; if (i == hdr.h.a) { return; } } hdr.h.c = 0xff;"
    assert _run(body, "03000000", engine) == "03030000"
    assert _run(body, "20000000", engine) == "2009ff00"


def test_a_table_applied_in_both_branches(engine: str) -> None:
    declarations = """
    action set(bit<8> x) { hdr.h.c = x; }
    table t { key = { hdr.h.b : exact; } actions = { set; NoAction; } default_action = NoAction;
              const entries = { 2 : set(7); } }
    """
    body = "if (hdr.h.a == 1) { t.apply(); hdr.h.d = 1; } else { t.apply(); hdr.h.d = 2; }"
    assert _run(body, "01020000", engine, declarations=declarations) == "01020701"
    assert _run(body, "02020000", engine, declarations=declarations) == "02020702"
    assert _run(body, "02030000", engine, declarations=declarations) == "02030002"


@pytest.mark.parametrize(
    ("declarations", "body", "words"),
    [
        ("table t { key = { hdr.h.b : exact; } actions = { NoAction; } }", "t.apply(); t.apply();", "more than once"),
        ("register<metadata>(2) r;", "r.write(0, meta);", "a register of metadata"),
        ("register<metadata>(2) r;", "r.read(meta, 0);", "a register of metadata"),
    ],
)
def test_what_bmv2_cannot_do_is_refused(declarations: str, body: str, words: str) -> None:
    text = _SHELL.replace("FUNCTIONS", "").replace("DECLARATIONS", declarations).replace("BODY", body)
    with pytest.raises(Unsupported, match=words):
        to_json(load_text(text))


def test_wide_arithmetic_wraps_as_its_types_do(engine: str) -> None:
    body = """
    hdr.h.b = hdr.h.a + 200; hdr.h.c = (bit<8>) (bit<1>) (hdr.h.a - 2 > hdr.h.a);
    hdr.h.d = (bit<8>) (int<8>) ((int<8>) hdr.h.a >> 1) |+| 8w250;
    """
    assert _run(body, "01000000", engine) == "01c901fa"
    assert _run(body, "f0000000", engine) == "f0b800ff"


def test_the_default_action_of_a_table_with_a_profile(engine: str) -> None:
    declarations = """
    action set() { hdr.h.c = 9; }
    table t { key = { hdr.h.b : exact; } actions = { set; NoAction; } default_action = set();
              implementation = action_profile(4); }
    """
    assert _run("t.apply();", "01020000", engine, declarations=declarations) == "01020900"


@pytest.mark.parametrize("portable", [False, True])
def test_a_random_program(portable: bool) -> None:
    """Without a control plane: tables that are never applied are not in the JSON, so it would change others."""
    sample = random_program(100084, portable=portable)
    program = load_text(sample.text)
    direct, through = (Switch(p) for p in (program, from_json(json.dumps(to_json(program)), "x.json")))
    for port, frame in random_packets(Random(1), 60, sample.hints):
        assert through.process_one(port, frame) == direct.process_one(port, frame)
    for name, register in direct.registers.items():
        assert list(through.registers[name].values) == list(register.values)
