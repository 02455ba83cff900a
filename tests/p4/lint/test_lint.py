"""One small program for each warning, and programs without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp.p4src import p4_root
from offramp_p4.frontend import load, load_text
from offramp_p4.lint import lint
from p4_programs import program

pytestmark = pytest.mark.p4
USE = "hdr.h.a = hdr.s[0].a;"  # so that no header is unused


def warned(*args: str, **parts: str) -> list[tuple[str, str]]:
    """(rule, the text at the warning's place) of each warning."""
    source = program(*args, **parts)
    lines = source.splitlines()
    return [(w.rule, lines[w.pos.line - 1][w.pos.column - 1 :]) for w in lint(load_text(source, "test.p4"))]


def rules(*args: str, **parts: str) -> list[str]:
    return [rule for rule, _ in warned(*args, **parts)]


TABLE = "table t {{ key = {{ hdr.h.a: {kind}; }} actions = {{ NoAction; }} {rest} }}"


@pytest.mark.each
@pytest.mark.parametrize(
    ("body", "local", "expected"),
    [
        (USE, "", []),
        ("", "", ["unused-header"]),
        (USE, TABLE.format(kind="exact", rest="size = 4;"), ["unused-table"]),
        (USE + "t.apply();", TABLE.format(kind="exact", rest=""), ["table-size"]),
        (USE + "t.apply();", TABLE.format(kind="exact", rest="size = 4;"), []),
        (USE, "action a() { meta.m = 1; }", ["unused-action"]),
        (USE + "a();", "action a() { meta.m = 1; }", []),
        (USE + "bit<8> x;", "", ["unused-variable"]),
        (USE + "bit<8> x; x = 1;", "", ["unused-variable"]),
        (USE + "bit<8> x = hdr.h.b; meta.m = x;", "", []),
        (USE + "a(meta.m);", "action a(out bit<8> x) { if (meta.w == 0) { x = 1; } }", ["uninitialised-out"]),
        (USE + "a(meta.m);", "action a(out bit<8> x) { if (meta.w == 0) { x = 1; } else { x = 2; } }", []),
        (USE + "a(meta.m);", "action a(out bit<8> x) { if (meta.w == 0) { return; } x = 1; }", ["uninitialised-out"]),
        (USE + "hdr.h.setInvalid(); meta.m = hdr.h.b;", "", ["invalid-read"]),
        (USE + "hdr.h.setInvalid(); hdr.h.b = 1;", "", ["invalid-write"]),
        (USE + "hdr.h.setInvalid(); hdr.h.setValid(); hdr.h.b = 1;", "", []),
        (USE + "hdr.h.setInvalid(); hdr.h = { 1, 2, 3 }; meta.m = hdr.h.a;", "", []),
        (USE + "hdr.h = (h_t){#}; meta.m = hdr.h.a;", "", ["invalid-read"]),
        (USE + "h_t x = { 1, 2, 3 }; hdr.h = x; meta.m = hdr.h.a;", "", []),
        (USE + "if (!hdr.h.isValid()) { meta.m = hdr.h.a; }", "", ["invalid-read"]),
        (USE + "if (hdr.h.isValid()) { meta.m = hdr.h.a; }", "", []),
        (USE + "if (meta.m == 0) { hdr.h.setInvalid(); } meta.m = hdr.h.a;", "", []),
        (USE + "r.read(meta.m, 0); r.read(meta.m, 1);", "register<bit<8>>(4) r;", ["register-access"]),
        (USE + "r.read(meta.m, 0); r.write(0, meta.m + 1);", "register<bit<8>>(4) r;", []),
    ],
)
def test_rules(body: str, local: str, expected: list[str]) -> None:
    assert rules(body, local=local) == expected


def test_overlapping_entries() -> None:
    entries = "size = 4; entries = {{ 1 &&& 3: NoAction(); {second} }}"
    clash = TABLE.format(kind="ternary", rest=entries.format(second="5 &&& 7: NoAction();"))
    apart = TABLE.format(kind="ternary", rest=entries.format(second="2 &&& 3: NoAction();"))
    assert warned(USE + "t.apply();", local=clash)[0][0] == "entry-priority"
    assert rules(USE + "t.apply();", local=apart) == []


def test_parser_states() -> None:
    lost = "state lost { transition accept; }"
    assert warned(USE, states=lost) == [("unreachable-state", lost[6:])]
    select = "transition select(hdr.h.a) { default: accept; 8w1: reject; }"
    assert rules(USE, pbody=select) == ["unreachable-case"]


def test_reads_after_extraction_in_the_parser() -> None:
    """The size of a header is an argument too."""
    body = "pkt.extract(hdr.v, 32w8); meta.m = hdr.v.n; transition accept;"
    fields = "header v_t { bit<8> n; varbit<32> v; } struct headers { v_t v;"
    source = program(USE + "meta.m = hdr.v.n;", pbody=body).replace("struct headers {", fields)
    assert lint(load_text(source, "test.p4")) == []


def test_reads_before_extraction_in_the_parser() -> None:
    source = program(USE).replace("{ pkt.extract(hdr.h);", "{ meta.m = hdr.h.a; pkt.extract(hdr.h);")
    (warning,) = lint(load_text(source, "test.p4"))
    assert warning.rule == "invalid-read"
    warning_text = "warning: hdr.h is not valid here, whatever the packet: reading it gives no known value (hdr.h.a)"
    assert warning_text in str(warning).splitlines()[0]
    assert str(warning).splitlines()[2].strip() == "^"


@pytest.mark.parametrize("name", ["switchgnn/v1model.p4", "examples/reflector.p4"])
def test_our_own_programs_have_none(name: str) -> None:
    assert lint(load(Path(p4_root()) / name)) == []


def test_the_first_case_that_nothing_reaches_is_named() -> None:
    select = "transition select(hdr.h.a) { 8w3: accept; default: accept; 8w1: reject; 8w2: reject; }"
    assert [(rule, text.partition(";")[0]) for rule, text in warned(USE, pbody=select)] == [
        ("unreachable-case", "8w1: reject")
    ]
