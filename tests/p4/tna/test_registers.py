# SPDX-License-Identifier: Apache-2.0
"""Registers, register actions and what belongs to them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tna_programs
from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load_text
from offramp_p4.source import P4Error, Unsupported
from offramp_p4.state import ActionData, Exact, TableEntry
from tna_programs import make, packet, tna

pytestmark = pytest.mark.p4

FORWARD = "tm.ucast_egress_port = 1; tm.bypass_egress = 1;"


def switch(body: str, local: str, *, top: str = "") -> PlainSwitch:
    return make(load_text(tna(FORWARD + body, local=local, top=top), "prog.p4"))


def one(s: PlainSwitch, **fields: int) -> bytes:
    ((_, out),) = s.process_one(0, packet(**fields))
    return out


COUNT = """
    Register<bit<32>, bit<8>>(16, 100) reg;
    RegisterAction<bit<32>, bit<8>, bit<32>>(reg) count = {
        void apply(inout bit<32> value, out bit<32> rv) { rv = value; value = value + 1; }
    };
"""


def test_a_register_action_reads_changes_and_returns() -> None:
    s = switch("hdr.h.w = count.execute(hdr.h.a);", COUNT)
    assert [one(s, a=3)[-1], one(s, a=3)[-1], one(s, a=4)[-1]] == [100, 101, 100]
    register = s.registers["pipe.I.reg"]
    assert (register.read(3), register.read(4), register.read(5)) == (102, 101, 100)
    register.write(3, 7)
    assert one(s, a=3) == packet(a=3, w=7)
    s.reset()
    assert register.read(3) == 100


def test_a_struct_of_one_word_is_a_word() -> None:
    local = """
        Register<single_t, bit<8>>(16) reg;
        RegisterAction<single_t, bit<8>, bit<32>>(reg) count = {
            void apply(inout single_t value, out bit<32> rv) { rv = value.n; value.n = value.n + 2; }
        };
    """
    body = "if (hdr.h.b == 0) { hdr.h.w = count.execute(hdr.h.a); } else { hdr.h.w = reg.read(hdr.h.a).n; }"
    s = switch(body, local, top="struct single_t { bit<32> n; }")
    assert [one(s, a=3, b=b)[-1] for b in (0, 0, 1)] == [0, 2, 4]
    s.registers["pipe.I.reg"].write(4, 9)
    assert one(s, a=4)[-1] == 9
    assert one(s, a=99, b=1)[-1] == 0


def test_an_index_out_of_range_is_no_access() -> None:
    s = switch("hdr.h.w = count.execute(hdr.h.a);", COUNT)
    assert one(s, a=16, w=5) == packet(a=16, w=0)
    assert set(s.registers["pipe.I.reg"].values) == {100}


def test_a_register_action_without_result_sees_the_packet() -> None:
    s = switch(
        "add.execute(hdr.h.a);",
        """Register<bit<16>, bit<8>>(8) reg;
        RegisterAction<bit<16>, bit<8>, bit<16>>(reg) add = {
            void apply(inout bit<16> value) { value = value |+| hdr.h.c; }
        };""",
    )
    one(s, a=1, c=0xFFF0)
    one(s, a=1, c=0xFF)
    assert s.registers["pipe.I.reg"].read(1) == 0xFFFF


PAIR = """
    Register<pair_t, bit<8>>(8, {1, 2}) reg;
    RegisterAction<pair_t, bit<8>, bit<32>>(reg) step = {
        void apply(inout pair_t value, out bit<32> rv) {
            if (value.first == hdr.h.w) { value.second = value.second - 1; rv = value.second; }
            else { value.first = hdr.h.w; value.second = (bit<32>) hdr.h.c; rv = 0xFF; }
        }
    };
"""
PAIR_T = "struct pair_t { bit<32> first; bit<32> second; }"


def test_a_pair_of_words_is_one_access() -> None:
    s = switch("hdr.h.w = step.execute(hdr.h.a);", PAIR, top=PAIR_T)
    register = s.registers["pipe.I.reg"]
    assert register.read(2) == 1 << 32 | 2
    assert one(s, a=2, w=9, c=5) == packet(a=2, w=0xFF, c=5)
    assert register.read(2) == 9 << 32 | 5
    assert one(s, a=2, w=9, c=5) == packet(a=2, w=4, c=5)
    register.write(2, 8 << 32)
    assert one(s, a=2, w=8) == packet(a=2, w=0xFFFFFFFF)


def test_signed_words() -> None:
    s = switch(
        "hdr.h.w = (bit<32>) low.execute(0);",
        """Register<int<32>, bit<1>>(1) reg;
        RegisterAction<int<32>, bit<1>, int<32>>(reg) low = {
            void apply(inout int<32> value, out int<32> rv) { value = min(value, (int<32>) hdr.h.w); rv = value; }
        };""",
    )
    assert one(s, w=5)[-1] == 0
    assert one(s, w=0xFFFFFFFE) == packet(w=0xFFFFFFFE)
    assert s.registers["pipe.I.reg"].read(0) == 0xFFFFFFFE
    assert one(s, w=0xFFFFFFFF) == packet(w=0xFFFFFFFE)


def test_the_predicate_is_a_one_hot_code_of_two_conditions() -> None:
    s = switch(
        "hdr.h.b = code.execute(0);",
        """Register<bit<8>, bit<1>>(1, 5) reg;
        RegisterAction<bit<8>, bit<1>, bit<8>>(reg) code = {
            void apply(inout bit<8> value, out bit<8> rv) { rv = this.predicate(value == hdr.h.a, hdr.h.c == 1); }
        };""",
    )
    assert [one(s, a=a, c=c)[1] for a, c in ((0, 0), (5, 0), (0, 1), (5, 1))] == [1, 2, 4, 8]


def test_execute_log_goes_round() -> None:
    s = switch(
        "log.execute_log();",
        """Register<bit<8>, bit<8>>(3) reg;
        RegisterAction<bit<8>, bit<8>, bit<8>>(reg) log = { void apply(inout bit<8> value) { value = hdr.h.a; } };""",
    )
    for a in (1, 2, 3, 4):
        one(s, a=a)
    assert s.registers["pipe.I.reg"].values == [4, 2, 3]


def test_parameters_of_the_control_plane() -> None:
    s = switch(
        "hdr.h.b = least.execute(0);",
        """Register<bit<8>, bit<1>>(1) reg; RegisterParam<bit<8>>(6) floor;
        RegisterAction<bit<8>, bit<1>, bit<8>>(reg) least = {
            void apply(inout bit<8> value, out bit<8> rv) { rv = max(hdr.h.a, floor.read()); }
        };""",
    )
    assert one(s, a=3)[1] == 6
    s.registers["pipe.I.floor"].write(0, 2)
    assert one(s, a=3)[1] == 3


def test_plain_reads_and_writes() -> None:
    s = switch(
        "if (hdr.h.b == 0) { hdr.h.w = reg.read(hdr.h.a); } else { reg.write(hdr.h.a, hdr.h.w); }",
        "Register<bit<32>, bit<8>>(4) reg;",
    )
    one(s, a=2, b=1, w=77)
    assert one(s, a=2) == packet(a=2, w=77)


DIRECT = """
    DirectRegister<bit<32>>(10) reg;
    DirectRegisterAction<bit<32>, bit<32>>(reg) count = {
        void apply(inout bit<32> value, out bit<32> rv) { value = value + 1; rv = value; }
    };
    action hit() { hdr.h.w = count.execute(); }
    action miss() { hdr.h.w = count.execute(); }
    table t { key = { hdr.h.a: exact; } actions = { hit; miss; } registers = reg; default_action = miss; }
"""


def test_a_direct_register_is_its_entry_s() -> None:
    s = switch("t.apply();", DIRECT)
    for a in (1, 2):
        s.tables["pipe.I.t"].insert(TableEntry((Exact(a),), ActionData("I.hit")))
    assert [one(s, a=a)[-1] for a in (1, 1, 2, 1)] == [11, 12, 11, 13]
    assert one(s, a=9, w=5)[-1] == 0  # no entry, no register


UNITS = list(product(["MUL", "SQR", "SQRT", "DIV"], [1, 7, 1000]))
MATH: dict[str, PlainSwitch] = {}


def math_switch() -> PlainSwitch:
    """All of these units in one program; the packet says which."""
    cases = " else ".join(f"if (hdr.h.a == {i}) {{ hdr.h.w = f{i}.execute(0); }}" for i in range(len(UNITS)))
    declared = "".join(
        f"""Register<bit<32>, bit<1>>(1) reg{i}; MathUnit<bit<32>>(MathOp_t.{op}, {factor}) unit{i};
        RegisterAction<bit<32>, bit<1>, bit<32>>(reg{i}) f{i} = {{
            void apply(inout bit<32> value, out bit<32> rv) {{ value = unit{i}.execute(hdr.h.w); rv = value; }}
        }};"""
        for i, (op, factor) in enumerate(UNITS)
    )
    return switch(cases, declared)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(unit=st.sampled_from(UNITS), x=st.integers(1, 1 << 16))
def test_math_units_are_right_to_an_eighth(unit: tuple[str, int], x: int) -> None:
    if tna_programs.engine not in MATH:
        MATH[tna_programs.engine] = math_switch()
    op, factor = unit
    exact = {"MUL": x, "SQR": x * x, "SQRT": x**0.5, "DIV": 1 / x}[op] * factor
    got = int.from_bytes(one(MATH[tna_programs.engine], a=UNITS.index(unit), w=x)[-4:], "big")
    if exact < 1 << 32:
        assert abs(got - exact) <= max(1.0, exact / 4 if op == "SQR" else exact / 7)


def test_a_table_of_the_math_unit_counts_down_from_15() -> None:
    s = switch(
        "hdr.h.w = f.execute(0);",
        """Register<bit<32>, bit<1>>(1) reg;
        MathUnit<bit<32>>(false, 0, 0, {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}) unit;
        RegisterAction<bit<32>, bit<1>, bit<32>>(reg) f = {
            void apply(inout bit<32> value, out bit<32> rv) { rv = unit.execute(hdr.h.w); }
        };""",
    )
    assert one(s, w=12)[-4:] == (12 << 3).to_bytes(4, "big")


TWICE = """
    Register<bit<8>, bit<8>>(4) reg;
    RegisterAction<bit<8>, bit<8>, bit<8>>(reg) x = { void apply(inout bit<8> value) { value = 1; } };
    RegisterAction<bit<8>, bit<8>, bit<8>>(reg) y = { void apply(inout bit<8> value) { value = 2; } };
    action ax() { x.execute(0); }
    action ay() { y.execute(0); }
    table t { key = { hdr.h.a: exact; } actions = { ax; ay; NoAction; } default_action = NoAction; }
"""
# (the apply block, whether Tofino can do it)
ACCESSES = [
    ("x.execute(0); y.execute(0);", False),
    ("if (hdr.h.a == 1) { x.execute(0); } else { y.execute(1); }", True),
    ("if (hdr.h.a == 1) { x.execute(0); } y.execute(1);", False),
    ("if (hdr.h.a == 1) { x.execute(0); exit; } y.execute(1);", True),
    ("if (hdr.h.a == 1) { x.execute(0); return; } y.execute(1);", True),
    ("t.apply();", True),
    ("t.apply(); x.execute(0);", False),
    ("if (t.apply().miss) { x.execute(0); }", False),
    ("switch (t.apply().action_run) { NoAction: { x.execute(0); } }", False),
    ("ax(); if (hdr.h.b == 0) { ay(); }", False),
    ("switch (hdr.h.b) { 1: { x.execute(0); } 2: { y.execute(0); } }", True),
    ("t.apply(); hdr.h.b = 1; t.apply();", False),
    ("reg.write(0, 1); x.execute(0);", False),
]


@pytest.mark.parametrize(("body", "possible"), ACCESSES)
def test_a_pass_has_one_access(body: str, possible: bool) -> None:
    if possible:
        one(switch(body, TWICE))
        return
    with pytest.raises(
        P4Error, match=r"a pass may (access register pipe.I.reg|apply table pipe.I.t) twice \(first at "
    ):
        switch(body, TWICE)


def test_the_refusal_names_both_places() -> None:
    text = tna("x.execute(0);\n        y.execute(1);", local=TWICE)
    line = text[: text.index("y.execute(1)")].count("\n") + 1
    with pytest.raises(P4Error) as caught:
        make(load_text(text, "prog.p4"))
    assert str(caught.value) == (
        f"prog.p4:{line}:11: error: a pass may access register pipe.I.reg twice (first at prog.p4:{line - 1}:11); "
        "Tofino can do it only once\n"
        "            y.execute(1);\n"
        "              ^"
    )


@pytest.mark.full
def test_ingress_and_egress_share_the_stages() -> None:
    shared = """Register<bit<8>, bit<8>>(4) reg;"""
    action = "RegisterAction<bit<8>, bit<8>, bit<8>>(reg) {} = {{ void apply(inout bit<8> value) {{ value = 1; }} }};"
    text = tna("x.execute(0);", top=shared, local=action.format("x"), elocal=action.format("y"), ebody="y.execute(0);")
    with pytest.raises(P4Error, match=r"access register reg twice"):
        make(load_text(text))


REFUSED = [
    ("Register<bit<12>, bit<8>>(4) reg;", "a register of bit<12>: one word of 1, 8, 16, 32 or 64 bits, or two equal"),
]


@pytest.mark.parametrize(("local", "message"), REFUSED)
def test_what_is_not_executed_is_named(local: str, message: str) -> None:
    with pytest.raises(Unsupported) as caught:
        switch("", local)
    assert caught.value.construct.startswith(message)


RESULTS = """
    Register<pair_t, bit<8>>(8, {{5, 6}}) reg;
    RegisterAction{count}<pair_t, bit<8>, bit<32>, bit<16>{more}>(reg) x = {{
        void apply(inout pair_t value, out bit<32> one, out bit<16> two{outs}) {{
            one = value.first; two = (bit<16>)value.second; value.first = value.first + 1;{sets}
        }}
    }};
"""


@pytest.mark.parametrize("count", [2, 3, 4])
def test_results_of_several_types(count: int) -> None:
    more = [(("bit<8>", "md.m"), ("bit<8>", "hdr.h.b"))[i] for i in range(count - 2)]
    local = RESULTS.format(
        count=count,
        more="".join(f", {t}" for t, _ in more),
        outs="".join(f", out {t} r{i}" for i, (t, _) in enumerate(more)),
        sets="".join(f" r{i} = {40 + i};" for i in range(len(more))),
    )
    places = "".join(f", {place}" for _, place in more)
    body = f"hdr.h.w = x.execute(hdr.h.a, hdr.h.c{places}); hdr.h.b = hdr.h.b + md.m;"
    text = tna(FORWARD + body, local=local, top=PAIR_T, arch="#include <t2na.p4>")
    s = make(load_text(text, "prog.p4"))
    b = {2: 0, 3: 40, 4: 81}[count]
    assert one(s, a=3) == packet(a=3, b=b, c=6, w=5)
    assert one(s, a=3) == packet(a=3, b=b, c=6, w=6)
    assert one(s, a=8, w=9)[-4:] == bytes(4)  # there are eight
