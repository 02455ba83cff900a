# SPDX-License-Identifier: Apache-2.0
"""Statements, calls and places that the STF programs do not reach."""

from __future__ import annotations

import pytest

from both_engines import MakeSwitch
from offramp_p4 import ir
from offramp_p4.source import Pos, Unsupported
from offramp_p4.types import VOID, Header, Stack, Struct, StructField, Tuple
from p4_ir import BIT8, compile_body, const, ref, var
from p4_programs import program

ELEMENT = Header("e_t", fields=[StructField("x", BIT8)])
STACK = Stack(ELEMENT, 3)
FILLED = [0, 1, 10, 1, 11, 1, 12]


def element(stack: ir.Var, index: ir.Expr) -> ir.Expr:
    return ir.Member(ir.Element(ref(stack), index, type=ELEMENT), 0, type=BIT8)


@pytest.mark.parametrize("computed", [True, False])
def test_stack_elements_out_of_range(computed: bool) -> None:
    stack, i, seen = var("s", STACK), var("i", BIT8), var("seen", BIT8)
    for index in (2, 3, 255):
        at = ref(i) if computed else const(index, BIT8)
        body = [ir.Assign(ref(seen), element(stack, at)), ir.Assign(element(stack, at), const(99, BIT8))]
        runnable = compile_body(body, [stack, i, seen])
        m = runnable.run({stack: FILLED, i: index})
        assert runnable.cells(m, seen) == [12 if index == 2 else 0]
        assert runnable.cells(m, stack) == [*FILLED[:-1], 99 if index == 2 else 12]
        assert m[runnable.layout.void :] == runnable.template[runnable.layout.void :]


def test_out_arguments_in_computed_places() -> None:
    """The index is computed before the call, although the call changes the index."""
    stack, i = var("s", STACK), var("i", BIT8)
    x, y = ir.Var("x", BIT8, "inout"), ir.Var("y", BIT8, "out")
    body: list[ir.Stmt] = [
        ir.Assign(ref(x), ir.Binary("+", ref(x), const(1, BIT8), type=BIT8)),
        ir.Assign(ref(y), const(77, BIT8)),
    ]
    function = ir.UserFunction("both", [x, y], VOID, ir.Block(body))
    call = ir.FunctionCall(function, [ir.Arg("inout", ref(i)), ir.Arg("out", element(stack, ref(i)))], type=VOID)
    runnable = compile_body([ir.Eval(call)], [stack, i])
    m = runnable.run({stack: FILLED, i: 1})
    assert runnable.cells(m, i) == [2]
    assert runnable.cells(m, stack) == [0, 1, 10, 1, 77, 1, 12]


def test_for_over_stack_and_tuple() -> None:
    stack, total, pair = var("s", STACK), var("t", BIT8), Tuple((BIT8, BIT8))
    e, v = ir.Var("e", ELEMENT), ir.Var("v", BIT8)

    def add(value: ir.Expr) -> ir.Stmt:
        return ir.Assign(ref(total), ir.Binary("+", ref(total), value, type=BIT8))

    listed = ir.Compose([const(100, BIT8), const(5, BIT8)], type=pair)
    body: list[ir.Stmt] = [
        ir.ForIn(e, ref(stack), None, add(ir.Member(ref(e), 0, type=BIT8))),
        ir.ForIn(v, listed, None, add(ref(v))),
    ]
    runnable = compile_body(body, [stack, total])
    assert runnable.cells(runnable.run({stack: FILLED}), total) == [138]


def test_structs_are_values() -> None:
    pair = Struct("p_t", fields=[StructField("x", BIT8), StructField("y", BIT8)])
    a, b = var("a", pair), var("b", pair)
    swapped = ir.Compose([ir.Member(ref(a), 1, type=BIT8), ir.Member(ref(a), 0, type=BIT8)], type=pair)
    runnable = compile_body([ir.Assign(ref(b), ref(a)), ir.Assign(ref(a), swapped)], [a, b])
    m = runnable.run({a: [1, 2]})
    assert (runnable.cells(m, a), runnable.cells(m, b)) == ([2, 1], [1, 2])


def test_an_exit_within_an_expression_copies_out_and_ends_ingress(make_switch: MakeSwitch) -> None:
    text = program(
        "sm.egress_spec = 1; c.apply(hdr.h.a); hdr.h.b = 9;",
        top="""
        control C(inout bit<8> x) {
            action leave() { x = 0x44; exit; }
            table t { actions = { leave; } default_action = leave(); }
            apply { x = 1; if (!t.apply().hit && x == 0) { x = 2; } x = 3; }
        }""",
        local="C() c;",
    )
    assert make_switch(text).process_one(0, bytes(4)) == [(1, bytes([0x44, 0, 0, 0]))]


def test_an_action_bound_to_a_place_may_exit(make_switch: MakeSwitch) -> None:
    text = program(
        "sm.egress_spec = 1; t.apply(); hdr.h.b = 9;",
        local="""
        action put(inout bit<8> x, bit<8> v) { x = v; if (v == 5) { exit; } }
        table t {
            key = { hdr.h.c : exact; }
            actions = { put(hdr.h.a); }
            const entries = { 1 : put(hdr.h.a, 5); }
            default_action = put(hdr.h.a, 6);
        }""",
    )
    switch = make_switch(text)
    assert switch.process_one(0, b"\0\0\0\1") == [(1, bytes([5, 0, 0, 1]))]
    assert switch.process_one(0, b"\0\0\0\2") == [(1, bytes([6, 9, 0, 2]))]


def test_compound_assignment_computes_its_place_once(make_switch: MakeSwitch) -> None:
    text = program(
        "sm.egress_spec = 1; hdr.s[0].setValid(); hdr.s[1].setValid(); hdr.s[next(hdr.h.a)].b += 7;",
        top="bit<8> next(inout bit<8> x) { x = x + 1; return x; }",
    )
    ((_, frame),) = make_switch(text).process_one(0, bytes(4))
    assert frame == bytes([1, 0, 0, 0]) + bytes(4) + bytes([0, 7, 0, 0])


def refused(body: list[ir.Stmt], params: list[ir.Var]) -> str:
    with pytest.raises(Unsupported) as error:
        compile_body(body, params)
    return str(error.value)


def test_what_cannot_run_is_refused_with_its_place() -> None:
    at = Pos("nowhere.p4", 3, 5)
    call = ir.ExternCall("", "mystery", None, [], [], type=VOID, pos=at)
    assert refused([ir.Eval(call, pos=at)], []) == "nowhere.p4:3:5: error: not supported: extern mystery"
    method = ir.ExternCall("box", "open", None, [], [], type=VOID, pos=at)
    assert refused([ir.Eval(method, pos=at)], []) == "nowhere.p4:3:5: error: not supported: extern box.open"
    leaves = ir.UserFunction("f", [], VOID, ir.Block([ir.Exit(pos=at)]))
    call_it = ir.Eval(ir.FunctionCall(leaves, [], type=VOID))
    assert refused([call_it], []) == "nowhere.p4:3:5: error: not supported: exit in a function or parser"


def test_a_control_applied_twice_keeps_its_callers_apart(make_switch: MakeSwitch) -> None:
    text = program(
        "sm.egress_spec = 1; c.apply(hdr.h.a, hdr.h.b); c.apply(hdr.h.b, hdr.h.a);",
        top="control C(inout bit<8> x, out bit<8> y) { apply { x = x + 1; if (x > 100) { y = x; } } }",
        local="C() c;",
    )
    switch = make_switch(text)
    assert switch.process_one(0, bytes([200, 5, 0, 0])) == [(1, bytes([202, 202, 0, 0]))]
    assert switch.process_one(0, bytes([5, 9, 0, 0])) == [(1, bytes([0, 1, 0, 0]))]
