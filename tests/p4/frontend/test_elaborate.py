# SPDX-License-Identifier: Apache-2.0
"""The IR of a program: names, types, constants, generics, instances."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_p4 import ir
from offramp_p4.frontend import load, load_text
from offramp_p4.frontend.check import fold
from offramp_p4.frontend.syntax.preprocess import Preprocessor, flatten
from offramp_p4.source import Pos
from offramp_p4.types import Bits
from p4_programs import program


def body_of(p: ir.Program) -> list[ir.Stmt]:
    ingress = p.main.args["ig"]
    assert isinstance(ingress, ir.ControlInstance)
    return ingress.body.body


def value_of(expression: str, *, top: str = "") -> ir.Expr:
    """The IR of an expression assigned to ``meta.w`` (32 bits)."""
    (statement,) = body_of(load_text(program(f"meta.w = {expression};", top=top)))
    assert isinstance(statement, ir.Assign)
    return statement.value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-1", 0xFFFFFFFF),
        ("(bit<32>) 8w0xAB", 0xAB),
        ("8w1 ++ 8w2 ++ 16w3", 0x01020003),
        ("(bit<32>) (int<32>) -5 >> 1", 0x7FFFFFFD),
        ("32w0xFFFFFFFF |+| 1", 0xFFFFFFFF),
        ("32w1 |-| 2", 0),
        ("true ? 32w5 : 6", 5),
        ("(bit<32>) 16w0xABCD[11:4]", 0xBC),
        ("N << 4", 0x50),
        ("h_t.minSizeInBytes()", 4),
        ("(bit<32>) (En.b ++ 24w0)", 0x09000000),
        ("1 << 33 >> 32", 2),
        ("7 / 2 + 7 % 4", 6),
        ("~32w0", 0xFFFFFFFF),
        ("32w3 == 3 && !(2 > 3) ? 32w1 : 0", 1),
    ],
)
def test_constants_are_folded(expression: str, value: int) -> None:
    folded = value_of(expression, top="const bit<32> N = 5; enum bit<8> En { a = 3, b = a + 6 }")
    assert isinstance(folded, ir.Const)
    assert (folded.value, folded.type) == (value, Bits(32))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.sampled_from(["+", "-", "*", "&", "|", "^", "|+|", "|-|", "<", "==", "<<", ">>"]),
    st.integers(1, 40),
    st.booleans(),
    st.integers(-(1 << 40), 1 << 40),
    st.integers(-(1 << 40), 1 << 40),
)
def test_folding_stays_in_the_range_of_the_type(op: str, width: int, signed: bool, a: int, b: int) -> None:
    t = Bits(width + 1, signed)
    a, b = t.wrap(a), t.wrap(b)
    if op in ("<<", ">>"):
        b = abs(b) % 64
    value = fold.binary(op, t, a, b, Pos("t", 1, 1))
    assert t.wrap(value) == value
    if op in ("+", "-", "*"):
        exact = {"+": a + b, "-": a - b, "*": a * b}[op]
        assert (value - exact) % (1 << t.width) == 0


def test_control_plane_names() -> None:
    p = load_text(
        program(
            "t.apply(); c.apply(hdr);",
            top="""control C(inout headers hdr) {
                action in_c() { }
                @name("renamed") table u { key = { hdr.h.a : exact; hdr.s[1].b : ternary; } actions = { in_c; } }
                apply { u.apply(); } }""",
            local="""C() c; register<bit<8>>(16) r; @name(".absolute") action a() { }
                table t { key = { hdr.h.isValid() : exact; hdr.h.c[7:0] : lpm; hdr.h.a + 1 : range @name("sum"); }
                          actions = { a; @tableonly NoAction; } }""",
        )
    )
    assert [t.name for t in p.tables] == ["I.c.renamed", "I.t"]
    assert {a.name for a in p.actions} == {"NoAction", "I.c.in_c", "absolute"}
    assert [e.name for e in p.externs] == ["I.r"]
    assert [k.name for k in p.tables[0].keys] == ["hdr.h.a", "hdr.s[1].b"]
    assert [k.name for k in p.tables[1].keys] == ["hdr.h.$valid$", "hdr.h.c[7:0]", "sum"]


def test_each_instance_has_variables_and_tables_of_its_own() -> None:
    p = load_text(
        program(
            "c1.apply(hdr); c2.apply(hdr); C.apply(hdr);",
            top="""control C(inout headers hdr) {
                bit<8> x = 0; table t { actions = { NoAction; } } apply { t.apply(); } }""",
            local="C() c1; C() c2;",
        )
    )
    assert [t.name for t in p.tables] == ["I.c1.t", "I.c2.t", "I.C.t"]
    calls = [s.expr for s in body_of(p) if isinstance(s, ir.Eval)]
    targets = {id(c.target) for c in calls if isinstance(c, ir.ApplyCall)}
    assert len(targets) == 3


def test_generic_functions_are_specialised_once_for_each_type() -> None:
    p = load_text(
        program(
            "meta.m = pick(true, meta.m, 3); meta.w = pick(false, meta.w, 4); meta.m = pick(false, 8w1, 8w2);",
            top="T pick<T>(in bool first, in T a, in T b) { if (first) { return a; } return b; }",
        )
    )
    assert [(f.name, str(f.returns)) for f in p.functions] == [("pick", "bit<8>"), ("pick", "bit<32>")]


def test_constructor_arguments_and_register_types() -> None:
    p = load_text(
        program(
            "c.apply();",
            top="control C()(bit<32> n, bit<8> k) { register<bit<8>>(n * 2) r; apply { r.write(0, k); } }",
            local="C(16, 7) c;",
        )
    )
    (register,) = p.externs
    assert (register.extern, register.type_args, register.name) == ("register", [Bits(8)], "I.c.r")
    size = register.args[0]
    assert isinstance(size, ir.Const)
    assert size.value == 32


def test_select_keys_entries_and_value_sets() -> None:
    p = load_text(
        program(
            plocals="value_set<bit<8>>(4) vs;",
            pbody="""transition select(hdr.h.a, hdr.h.b) {
                (1, 2): accept; (0x10 &&& 0xF0, _): more; (3 .. 9, 4): reject; default: accept; }""",
            states="state more { transition select(hdr.h.a) { vs: accept; En.x: accept; } }",
            top="enum bit<8> En { x = 9 }",
        )
    )
    parser = p.main.args["p"]
    assert isinstance(parser, ir.ParserInstance)
    kinds = [[type(k).__name__ for k in c.keys] for c in parser.states["start"].cases]
    assert kinds == [["KeyValue", "KeyValue"], ["KeyMask", "KeyAny"], ["KeyRange", "KeyValue"], ["KeyAny"]]
    assert isinstance(parser.states["more"].cases[0].keys[0], ir.KeyValueSet)
    assert [v.name for v in p.value_sets] == ["P.vs"]


def test_types_of_every_expression_are_set() -> None:
    (statement,) = body_of(load_text(program("hdr.h.c = hdr.h.a ++ (hdr.s[meta.m].b & 0xF);")))
    assert isinstance(statement, ir.Assign)
    assert isinstance(statement.value, ir.Binary)
    right = statement.value.right
    assert isinstance(right, ir.Binary)
    assert [str(e.type) for e in (statement.value, right, right.left, right.right)] == [
        "bit<16>",
        "bit<8>",
        "bit<8>",
        "bit<8>",
    ]


def test_preprocessor_macros_conditionals_and_defines() -> None:
    text = program(
        "meta.w = VALUE(3);",
        top="""
#define ADD(a, b) ((a) + (b))
#define VALUE(x) \\
    ADD(x, BASE)
#if defined(BASE) && BASE > 5 || 0
#else
#error BASE must be set
#endif
""",
    )
    (statement,) = body_of(load_text(text, defines={"BASE": "39"}))
    assert isinstance(statement, ir.Assign)
    assert isinstance(statement.value, ir.Const)
    assert statement.value.value == 42


def test_the_flattened_source_is_the_same_program(tmp_path: Path) -> None:
    (tmp_path / "inc.p4").write_text("const bit<32> K = 0x10 >> 2;\n")
    file = tmp_path / "prog.p4"
    file.write_text(program("meta.w = K;\n\n\n  meta.m = hdr.h.a >> 3;", top='#include "inc.p4"'))
    first = load(file)
    again = load_text(first.source, "flat.p4")
    positions = [[s.pos for s in body_of(p)] for p in (first, again)]
    assert positions[0] == positions[1]
    tokens = [
        [(t.kind, t.text, t.pos.file, t.pos.line) for t in Preprocessor().run(text, str(file), tmp_path)]
        for text in (file.read_text(), first.source)
    ]
    assert tokens[0] == tokens[1]
    assert flatten(Preprocessor().run(first.source, str(file), None)) == first.source


@pytest.mark.parametrize("method", ["Box same();", "bit<8> get();", "Box(bit<8> first);", "void put(in bit<8> x);"])
def test_a_method_may_return_its_extern_s_own_type(method: str) -> None:
    """A constructor has the extern's name and then a bracket; the name alone is a type."""
    load_text(program("sm.egress_spec = 1;", top=f"extern Box {{ Box(); {method} }}"))
