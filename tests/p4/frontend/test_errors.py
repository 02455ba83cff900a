# SPDX-License-Identifier: Apache-2.0
"""Messages for the P4 programmer when something is wrong: golden texts with file, line, column and a caret.

Blind spot: these are our own words; that p4c refuses the same programs is not checked here.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_p4.frontend import load, load_text
from offramp_p4.source import P4Error, Unsupported
from p4_programs import program

# (what is hung into the ingress body, the message without its place)
BODIES = [
    ("hdr.h.x = 1;", "header h_t has no field 'x'"),
    ("hdr.h.a = hdr.h.c;", "expected bit<8>, found bit<16>"),
    ("hdr.h.a = hdr.h.a + hdr.h.c;", "'+' needs operands of one type, not bit<8> and bit<16>"),
    ("if (hdr.h.a) { }", "expected a boolean, found bit<8>"),
    ("hdr.h.a = metta.m;", "'metta' is not declared; did you mean 'meta'?"),
    ("hdr.h.a[8:1] = 0;", "the high end of a slice must be between 0 and 7, not 8"),
    ("hdr.s[3].a = 0;", "index 3 is outside a stack of 3"),
    ("hdr.h.a = (bit<8>) hdr.h;", "header h_t cannot be cast to bit<8>"),
    ("meta = { 1 };", "struct meta_t has 2 fields, 1 values given"),
    ("meta = { m = 1, x = 2 };", "struct meta_t has no field 'x'"),
    ("hdr.h.a = 1 / 0;", "division by zero"),
    ("hdr.h.a = hdr.h.a << -1;", "a shift amount cannot be negative"),
    ("bit<8> v = 0; bit<8> v = 1;", "'v' is declared twice in this scope; first at prog.p4:16:16"),
    ("bit<8> hdr = 0;", "'hdr' shadows the parameter of this name"),
    ("break;", "'break' stands outside of any loop"),
    ("return 3;", "nothing can be returned here"),
    ("5 = hdr.h.a;", "this cannot be written to"),
    ("const bit<8> k = 1; k = 2;", "this cannot be written to"),
    ("hdr.h.frobnicate();", "h_t has no method 'frobnicate'"),
    ("hdr.h.isValid(1);", "'isValid' takes no arguments, 1 given"),
    ("mark_to_drop(sm, 1);", "'mark_to_drop' takes 0 or 1 arguments, 2 given"),
    ("hdr.h.a = hdr.h.a |+| 1 |+| true;", "'|+|' needs operands of one type, not bit<8> and bool"),
    ("switch (hdr.h.a) { 1: { } 1: { } }", "this label stands twice in the switch"),
    ("hdr.h.a = 8w1 ++ 8w2;", "expected bit<8>, found bit<16>"),
    ("hash(meta.w, HashAlgorithm.crc64, 16w0, { hdr.h.a }, 16w10);", "enum 'HashAlgorithm' has no member 'crc64'"),
]


@pytest.mark.parametrize(("body", "message"), BODIES, ids=[m[:40] for _, m in BODIES])
def test_faults_in_a_body_are_named(body: str, message: str) -> None:
    text = program(body)
    with pytest.raises(P4Error) as caught:
        load_text(text, "prog.p4")
    assert caught.value.message == message
    line = text[: text.index(body)].count("\n") + 1
    assert (caught.value.pos.file, caught.value.pos.line) == ("prog.p4", line)


def test_the_whole_message_with_its_caret() -> None:
    with pytest.raises(P4Error) as caught:
        load_text(program("hdr.h.x = 1;"), "prog.p4")
    assert str(caught.value) == (
        "prog.p4:16:15: error: header h_t has no field 'x'\n"
        "            hdr.h.x = 1;\n"
        "                  ^"
    )  # fmt: skip


TEXTS = [
    ("", "1:1", "the program has no 'main' package, so there is nothing to run"),
    ("struct s { bit<8> a }", "1:21", "expected ';' after a field, found '}'"),
    ("header h { bit<8> a; bit<8> a; }", "1:29", "field 'a' is declared twice in 'h'"),
    ("header h { error e; }", "1:18", "a header cannot have a field of type error"),
    (
        "#include <nothing.p4>",
        "1:1",
        "include file 'nothing.p4' not found (looked in no folders and the built-in includes)",
    ),
    ("#if 1\n", "1:1", "this conditional has no #endif"),
    ("#endif\n", "1:1", "#endif without #if"),
    ("#error no\n", "1:1", "#error no"),
    ("#define F(x) x\nconst bit<8> a = F(1, 2);", "2:18", "macro 'F' takes 1 arguments, 2 given"),
    ("/* open", "1:1", "this comment is never closed with '*/'"),
    ("const bit<8> a = $;", "1:18", "expected an expression, found stray character '$'"),
    ("const bit<8> a = 1", "1:19", "expected ';' after a constant, found end of file"),
    ("const bit<8> a = b;", "1:18", "'b' is not declared"),
    ("widget w;", "1:1", "'widget' is neither a declaration keyword nor a type"),
    ("control C() { apply { }", "1:24", "expected '}' after the apply block, found end of file"),
    ("enum bit<2> e { a }", "1:17", "'a' needs a value"),
    ("bit<8> f() { }", "1:8", "function 'f' can end without returning a value"),
    ("parser P() { state s { transition accept; } }", "1:8", "parser 'P' has no state 'start'"),
    ("parser P() { state start { transition nowhere; } }", "1:39", "state 'nowhere' is not declared"),
]


@pytest.mark.parametrize(("text", "place", "message"), TEXTS, ids=[m[:40] for _, _, m in TEXTS])
def test_faults_at_top_level_are_placed(text: str, place: str, message: str) -> None:
    with pytest.raises(P4Error) as caught:
        load_text(text, "t.p4")
    assert (f"{caught.value.pos.line}:{caught.value.pos.column}", caught.value.message) == (place, message)


@pytest.mark.parametrize("arguments", ['"u", bool', '"u", int<32>', '"u", bit<5 + 3>', '"u"', "", "8, bit<8>"])
def test_a_controller_s_type_is_a_string_or_has_a_width(arguments: str) -> None:
    with pytest.raises(P4Error, match="@p4runtime_translation needs"):
        load_text(f"@p4runtime_translation({arguments})\ntype bit<16> port_t;", "t.p4")


LOCALS = [
    ("table t { key = { hdr.h.a : exactly; } actions = { NoAction; } }", "match kind 'exactly' is not declared"),
    ("table t { key = { hdr.h : exact; } actions = { NoAction; } }", "a key cannot be of type h_t"),
    ("table t { actions = { a; } }", "'a' is not declared"),
    ("action a(bit<8> x) { } table t { actions = { a; } default_action = a(); }",
     "action 'a': argument 'x' is missing"),
    ("action a() { } table t { actions = { NoAction; } default_action = a(); }",
     "action 'a' is not in the table's list of actions"),
    ("table t { key = { hdr.h.a : exact; } actions = { NoAction; } const entries = { 1 &&& 2 : NoAction(); } }",
     "a mask cannot match an exact key"),
    ("table t { key = { hdr.h.a : lpm; } actions = { NoAction; } const entries = { 1 &&& 5 : NoAction(); } }",
     "mask 0x5 is not a prefix"),
    ("table t { key = { hdr.h.a + 1 : exact; } actions = { NoAction; } }",
     "this key needs a name: add @name(\"...\") behind its match kind"),
    ("register<bit<8>>(16, 2) r;", "'register' takes 1 arguments, 2 given"),
    ("counter(16, CounterType.bits) c;", "enum 'CounterType' has no member 'bits'"),
    ("action a(bit<8> x, in bit<8> y) { }", "parameters without a direction come last in an action"),
    ("action a(bit<8> x) { bit<8> x = 1; }", "'x' shadows the parameter of this name"),
    ("table meta { actions = { NoAction; } }", "'meta' shadows the parameter of this name"),
    ("action a(@optional bit<8> x) { }", "'x': a parameter of an action or a function cannot be @optional"),
]  # fmt: skip


@pytest.mark.parametrize(("local", "message"), LOCALS, ids=[m[:40] for _, m in LOCALS])
def test_faults_in_tables_actions_and_externs(local: str, message: str) -> None:
    with pytest.raises(P4Error) as caught:
        load_text(program(local=local), "prog.p4")
    assert caught.value.message == message
    assert caught.value.pos.line == 14


def test_a_case_of_a_select_calls_no_function() -> None:
    body = "transition select(hdr.h.a) { f(): accept; default: reject; }"
    with pytest.raises(P4Error, match="a function cannot be called in a case of a select"):
        load_text(program(top="bit<8> f() { return 1; }", pbody=body))


def test_names_of_parameters_may_be_those_of_outer_parameters() -> None:
    load_text(program("a(1);", local="action a(bit<8> hdr) { }"))


def test_a_block_with_the_wrong_parameters_is_refused() -> None:
    text = program().replace(
        "control CC(inout headers hdr, inout meta_t meta)", "control CC(inout headers hdr, in meta_t meta)"
    )
    with pytest.raises(P4Error, match="'meta' must be 'inout', as in ComputeChecksum"):
        load_text(text, "prog.p4")


def test_what_is_valid_but_not_executed_is_refused_when_loaded() -> None:
    with pytest.raises(Unsupported, match="not supported: an array of parsers, controls or packages"):
        load_text(program(top="control Sub() { apply { } }", local="Sub() s[4];"), "prog.p4")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(P4Error, match="cannot read the program: No such file"):
        load(tmp_path / "none.p4")
    (tmp_path / "binary.p4").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(P4Error, match="not a text file"):
        load(tmp_path / "binary.p4")


@pytest.mark.full
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(max_size=80))
def test_random_text_ends_in_a_clean_error(text: str) -> None:
    with pytest.raises(P4Error):
        load_text(text, "random.p4")


WORDS = program("hdr.h.a = (hdr.h.b > 3 ? 8w1 : 2) + meta.m; if (hdr.h.isValid()) { exit; }").split()


@pytest.mark.full
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, len(WORDS) - 1), st.integers(0, len(WORDS) - 1), st.sampled_from(["swap", "drop", "repeat"]))
def test_a_program_with_its_words_mixed_up_loads_or_fails_cleanly(i: int, j: int, how: str) -> None:
    words = list(WORDS)
    if how == "swap":
        words[i], words[j] = words[j], words[i]
    elif how == "drop":
        del words[i]
    else:
        words.insert(j, words[i])
    text = " ".join(words).replace(
        "#include <core.p4> #include <v1model.p4>", "#include <core.p4>\n#include <v1model.p4>\n"
    )
    with contextlib.suppress(P4Error):
        load_text(text, "mixed.p4")


def test_a_token_of_many_lines_is_quoted_by_its_first() -> None:
    with pytest.raises(P4Error) as caught:
        load_text('extern void f(string s\n"one\ntwo\nthree");', "p.p4")
    assert caught.value.message.endswith("found '\"one…'")
    assert len(str(caught.value).splitlines()) <= 3


def test_a_line_marker_with_a_name_of_many_lines_names_no_file() -> None:
    text = program("").replace("control E(", '# 30 "a\nb\n\x1b[2Jc"\nbroken control E(', 1)
    assert "broken" in text
    with pytest.raises(P4Error) as caught:
        load_text(text, "prog.p4")
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("prog.p4:30:")
    assert len(rest) <= 2
