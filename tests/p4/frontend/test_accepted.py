# SPDX-License-Identifier: Apache-2.0
"""Idioms of public programs that p4c accepts though they look like mistakes, in programs of ours.

Each was refused once. That the public programs load is measured outside the repository.
"""

from __future__ import annotations

import pytest

from offramp_p4.frontend import load_text
from offramp_p4.frontend.syntax.preprocess import Preprocessor
from offramp_p4.runtime import p4info
from offramp_p4.source import P4Error
from offramp_p4.switch import Switch
from p4_programs import program
from tna_programs import packet, tna

pytestmark = pytest.mark.p4


def tokens(text: str, **defines: str) -> list[str]:
    return [t.text for t in Preprocessor(defines=defines).run(text, "t.p4", None)[:-1]]


# --- the preprocessor --------------------------------------------------------------------------------------


def test_a_line_that_begins_with_a_hash_is_a_remark() -> None:
    remarks = "#This isn't code\n# \"nor this\n## or this\n#!\n  #warning not words\n#\n"
    assert tokens(f"{remarks}x # y\n/* */ # define A 1\nA") == ["x", "#", "y", "1"]


@pytest.mark.parametrize(
    ("includes", "given", "expected"),
    [
        ("#include <v1model.p4>", {}, ["BMV2"]),
        ('#include "tna.p4"', {}, ["1"]),
        ("#include <t2na.p4>", {}, ["2"]),
        ("#ifdef NEVER\n#include <t2na.p4>\n#else\n#include <tna.p4>\n#endif", {}, ["1"]),
        ("#include <tna.p4>", {"__TARGET_TOFINO__": "2"}, ["2"]),
        ("", {}, []),
    ],
)
def test_the_target_is_known_before_its_architecture_is_included(
    includes: str, given: dict[str, str], expected: list[str]
) -> None:
    ask = "#ifdef __TARGET_TOFINO__\n__TARGET_TOFINO__\n#endif\n#ifdef __TARGET_BMV2__\nBMV2\n#endif\n#if 0\n"
    assert tokens(f"{ask}{includes}\n#endif", **given) == expected
    assert tokens("__STDC__ __ASSEMBLER__") == ["1", "1"]


@pytest.mark.parametrize("include", ["v1model", "psa", "pna", "tna", "t2na"])
@pytest.mark.parametrize("given", [{}, {"__TARGET_TOFINO__": "1"}, {"__TARGET_BMV2__": "1"}])
def test_only_the_back_end_for_tofino_says_its_version(include: str, given: dict[str, str]) -> None:
    """As in IPDK's and DPDK's programs, which declare a variable at top level where ``__p4c__`` is defined."""
    names = ("__p4c__", "__p4c_version__", "__p4c_major__", "__p4c_minor__", "__p4c_patchlevel__")
    ask = "".join(f"#ifdef {name}\n{name}\n#endif\n" for name in names)
    version = tokens(f"{ask}#if 0\n#include <{include}.p4>\n#endif", **given)
    if "__TARGET_TOFINO__" not in given and (given or include not in {"tna", "t2na"}):
        assert version == []
        return
    one, text, *parts = version
    assert (one, text.strip('"'), len(parts)) == ("1", ".".join(parts), 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define J(a, b) a ## b\nJ(x, y) J(, y) J(x, ) J(,)", "xy y x"),
        ("#define F(a, ...) f(a, ## __VA_ARGS__)\nF(1) F(1, 2, 3)", "f ( 1 ) f ( 1 , 2 , 3 )"),
    ],
)
def test_empty_arguments_are_pasted(text: str, expected: str) -> None:
    assert tokens(text) == expected.split()


def test_v1model_names_the_colours_of_meters() -> None:
    colours = "#include <v1model.p4>\nV1MODEL_METER_COLOR_GREEN V1MODEL_METER_COLOR_YELLOW V1MODEL_METER_COLOR_RED"
    assert tokens(colours)[-3:] == ["0", "1", "2"]


# --- types -------------------------------------------------------------------------------------------------


def test_constants_of_new_types() -> None:
    top = """
        type bit<10> vrf_t;
        const vrf_t NONE = 0;
        const vrf_t LAST = (vrf_t) 10w1023;
        struct route_t { vrf_t vrf; }
        control Sub(inout vrf_t v)(vrf_t wanted) { apply { if (v == NONE) { v = wanted; } } }
    """
    body = "route_t r; r.vrf = NONE; sub.apply(r.vrf); meta.w = (bit<32>) (bit<10>) r.vrf + (bit<32>) (bit<10>) LAST;"
    load_text(program(body, top=top, local="const vrf_t HERE = 7; Sub(HERE) sub;"))
    with pytest.raises(P4Error, match="expected vrf_t, found bit<10>; cast it"):
        load_text(program(top="type bit<10> vrf_t; const vrf_t NONE = 10w0;"))


@pytest.mark.parametrize(
    "arguments",
    ["bit<32>, _, bit<32>", "bit<32>, bit<8>, _", "_, bit<8>, bit<32>", "_, _, _", "bit<32>, bit<8>, bit<32>"],
)
def test_type_arguments_of_externs_left_open(arguments: str) -> None:
    local = f"""
        Register<bit<32>, bit<8>>(256) reg;
        RegisterAction<{arguments}>(reg) add = {{
            void apply(inout bit<32> value, out bit<32> result) {{ value = value + 3; result = value; }}
        }};
    """
    switch = Switch(load_text(tna("tm.ucast_egress_port = 1; hdr.h.w = add.execute(hdr.h.a);", local=local)))
    assert switch.process_one(0, packet(a=5)) == [(1, packet(a=5, w=3))]
    assert switch.process_one(0, packet(a=5)) == [(1, packet(a=5, w=6))]
    assert switch.process_one(0, packet(a=6)) == [(1, packet(a=6, w=3))]


@pytest.mark.full
def test_an_open_type_argument_takes_a_number_without_a_width() -> None:
    local = """
        Register<bit<32>, bit<8>>(256) reg;
        RegisterAction<bit<32>, _, bit<32>>(reg) add = { void apply(inout bit<32> value) { value = value + 3; } };
    """
    switch = Switch(load_text(tna("tm.ucast_egress_port = 1; add.execute(7);", local=local)))
    switch.process_one(0, packet())
    assert switch.registers["pipe.I.reg"].read(7) == 3


def test_an_override_still_has_the_declared_types() -> None:
    local = """
        Register<bit<32>, bit<8>>(256) reg;
        RegisterAction<bit<32>, _, bit<32>>(reg) add = { void apply(inout bit<16> value) { value = value + 3; } };
    """
    with pytest.raises(P4Error, match="'value' must be 'inout bit<32>'"):
        load_text(tna(local=local))


# --- names -------------------------------------------------------------------------------------------------


def test_actions_of_several_controls_may_share_a_name() -> None:
    top = """
        control A(inout bit<8> x) {
            @name(".nop") action nop() { }
            action set(bit<8> v) { x = v; }
            table t { key = { x: exact; } actions = { nop; set; } default_action = nop(); }
            apply { t.apply(); }
        }
        control B(inout bit<8> x) {
            @name(".nop") action nop() { }
            table t { key = { x: exact; } actions = { nop; } default_action = nop(); }
            apply { t.apply(); }
        }
    """
    loaded = load_text(program("a.apply(hdr.h.a); b.apply(hdr.h.b);", top=top, local="A() a; B() b;"))
    info = p4info.generate(loaded)
    assert [a.preamble.name for a in info.actions].count("nop") == 1
    (nop,) = (a.preamble.id for a in info.actions if a.preamble.name == "nop")
    assert all(nop in {ref.id for ref in t.action_refs} for t in info.tables)
    Switch(loaded)


def test_actions_of_one_name_take_the_same_data() -> None:
    local = '@name(".x") action one(bit<8> v) { } @name(".x") action two(bit<16> v) { }'
    with pytest.raises(P4Error, match="the control plane knows 'x' already"):
        load_text(program(local=local))


def test_a_table_knows_one_action_by_each_name() -> None:
    local = '@name(".x") action one() { } @name(".x") action two() { } table t { actions = { one; two; } }'
    with pytest.raises(P4Error, match="the control plane knows another action of this table as 'x'"):
        load_text(program(local=local))


def test_what_no_packet_reaches_has_no_name() -> None:
    top = """
        control C(inout bit<8> x)(bool wide) {
            @name("route") table narrow_route { key = { x: exact; } actions = { NoAction; } }
            @name("route") table wide_route { key = { x: ternary; } actions = { NoAction; } }
            apply { if (wide) { wide_route.apply(); } else { narrow_route.apply(); } }
        }
        control S(inout bit<8> x) {
            table t { key = { x: exact; } actions = { NoAction; } }
            apply { t.apply(); }
        }
    """
    body = "c.apply(hdr.h.a); if (false) { S.apply(hdr.h.a); } else { S.apply(hdr.h.b); }"
    loaded = load_text(program(body, top=top, local="C(true) c;"))
    kinds = {t.preamble.name: t.match_fields[0].match_type for t in p4info.generate(loaded).tables}
    assert {name: int(kind) for name, kind in kinds.items()} == {"I.c.route": 4, "I.S.t": 2}


def test_a_control_applied_by_its_name_twice_makes_two_tables() -> None:
    top = "control S(inout bit<8> x) { table t { key = { x: exact; } actions = { NoAction; } } apply { t.apply(); } }"
    loaded = load_text(program("S.apply(hdr.h.a); S.apply(hdr.h.b);", top=top))
    assert [t.name for t in loaded.tables] == ["I.S.t", "I.S.t_0"]
    Switch(loaded)


def test_two_tables_are_not_named_alike() -> None:
    local = '@name("x") table t { actions = { NoAction; } } @name("x") table u { actions = { NoAction; } }'
    with pytest.raises(P4Error, match=r"the control plane knows 'I\.x' already"):
        load_text(program("t.apply(); u.apply();", local=local))


def test_an_absolute_name_is_given_once() -> None:
    top = 'control S() { @name(".t") table t { actions = { NoAction; } } apply { t.apply(); } }'
    with pytest.raises(P4Error, match="the control plane knows 't' already"):
        load_text(program("one.apply(); two.apply();", top=top, local="S() one; S() two;"))


def test_objects_made_where_they_are_used_need_no_names() -> None:
    local = """
        Hash<bit<32>>(HashAlgorithm_t.CUSTOM, CRCPolynomial<bit<32>>(0x04C11DB7, true, false, false, 0, 0)) one;
        Hash<bit<32>>(HashAlgorithm_t.CUSTOM, CRCPolynomial<bit<32>>(0x1EDC6F41, true, false, false, 0, 0)) two;
    """
    body = "tm.ucast_egress_port = 1; hdr.h.w = one.get({ hdr.h.a }) ^ two.get({ hdr.h.a });"
    ((_, frame),) = Switch(load_text(tna(body, local=local))).process_one(0, packet(a=1))
    assert frame[4:8] != bytes(4)


# --- headers -----------------------------------------------------------------------------------------------

BRIDGED = """
    @flexible struct extra_t { bit<9> port; bool flag; }
    header bridged_h { bit<8> kind; @flexible bit<3> bits; extra_t extra; }
"""


def test_flexible_headers_take_whole_bytes() -> None:
    fill = "b.setValid(); b.kind = 1; b.bits = 5; b.extra.port = 0x155; b.extra.flag = true;"
    text = tna(
        "tm.ucast_egress_port = 1;",
        top=BRIDGED,
        idlocal="bridged_h b;",
        idbody=f"{fill} pkt.emit(b);",
        epbody="bridged_h b; pkt.extract(b); md.x = (bit<16>) (b.bits ++ b.extra.port); transition rest;",
        epstates="state rest { pkt.extract(hdr.h); transition accept; }",
        ebody="hdr.h.c = md.x;",
    )
    assert Switch(load_text(text)).process_one(0, packet(a=1)) == [(1, packet(a=1, c=5 << 9 | 0x155))]


# --- blocks and packages -----------------------------------------------------------------------------------

OWN = """
    struct E {{ bit<8> x; }}
    control C<H>(inout H hdr);
    control Some(inout E e) {{ apply {{ e.x = 1; }} }}
    control Empty<H>(inout H hdr) {{ apply {{ }} }}
    {}
"""


@pytest.mark.parametrize(
    "text",
    [
        "package S<H>(C<H> s, C<H> t = Empty<H>()); S<E>(Some()) main;",
        "package S<H>(C<H> s, C<H> t = Empty<H>()); S(Some()) main;",
        "package S<H>(C<H> t = Empty<H>(), C<H> s); S(s = Some()) main;",
        "package S<H>(C<H> s, C<H> t); S(Some(), Empty()) main;",
        "package S<H>(C<H> s); package S<H>(C<H> s, C<H> t); S(s = Some(), t = Empty()) main;",
        "package S<H>(C<H> s, @optional C<H> t); S<_>(Some()) main;",
    ],
)
def test_packages_say_the_types_of_generic_blocks(text: str) -> None:
    package = load_text(OWN.format(text)).main
    assert [str(t) for t in package.type_args] == ["E"]
    assert [getattr(b, "type_name", None) for b in package.args.values()] in (
        ["Some", "Empty"], ["Empty", "Some"], ["Some", None],
    )  # fmt: skip


def test_a_default_value_needs_a_known_type() -> None:
    with pytest.raises(P4Error, match="type argument 'H' cannot be inferred; write it"):
        load_text(OWN.format("package S<H>(C<H> s = Empty<H>()); S() main;"))


def test_what_differs_in_nothing_is_declared_twice() -> None:
    with pytest.raises(P4Error, match="'Some' is declared twice in this scope"):
        load_text(OWN.format("control Some(inout E e) { apply { } } package S(C<E> s); S(Some()) main;"))


def test_an_optional_argument_of_a_constructor_is_left_out() -> None:
    top = "control Sub(inout bit<8> x)(bit<8> by, @optional bit<8> unused) { apply { x = x + by; } }"
    load_text(program("sub.apply(hdr.h.a);", top=top, local="Sub(3) sub;"))


def test_a_block_with_tables_has_one_number() -> None:
    top = """
        control Sub(int n, inout bit<8> x) {
            table t { key = { x: exact; } actions = { NoAction; } }
            apply { if (x == n) { t.apply(); } }
        }
    """
    load_text(program("sub.apply(3, hdr.h.a); sub.apply(3, hdr.h.b);", top=top, local="Sub() sub;"))
    with pytest.raises(P4Error, match="'Sub', which has tables or objects, applied with other numbers"):
        load_text(program("sub.apply(3, hdr.h.a); sub.apply(4, hdr.h.b);", top=top, local="Sub() sub;"))


def test_an_object_is_made_where_it_is_called() -> None:
    load_text(program("hdr.h.c = Checksum16().get({ hdr.h.a, hdr.h.b });"))


def test_an_overload_is_the_one_whose_names_are_given() -> None:
    local = "DirectMeter(MeterType_t.BYTES) m; action go() { hdr.h.b = m.execute(adjust_byte_count = 4); }"
    table = "table t { key = { hdr.h.a: exact; } actions = { go; } meters = m; default_action = go(); }"
    load_text(tna("t.apply();", local=local + table))


def test_objects_in_an_array_have_names_of_their_own() -> None:
    loaded = load_text(program("r[1].write(0, 1);", local='@name("regs") register<bit<8>>(4) r[2];'))
    assert [r.preamble.name for r in p4info.generate(loaded).registers] == ["I.regs[0]", "I.regs[1]"]
    with pytest.raises(P4Error, match="the index of an array of objects must be between 0 and 1"):
        load_text(program("r[2].write(0, 1);", local="register<bit<8>>(4) r[2];"))


def test_data_of_composite_types_is_spread_for_the_control_plane() -> None:
    top = "struct pair_t { bit<8> x; bit<8> y; }"
    local = "action set(pair_t p, h_t extra) { hdr.h.a = p.x; } table t { actions = { set; NoAction; } }"
    (action,) = (a for a in p4info.generate(load_text(program("t.apply();", top=top, local=local))).actions if a.params)
    names = ["p.x", "p.y", "extra.$valid$", "extra.a", "extra.b", "extra.c"]
    assert [p.name for p in action.params] == names
    local = "action set(u_t u) { } table t { actions = { set; } }"
    with pytest.raises(P4Error, match="the control plane cannot supply 'u' of type u_t"):
        load_text(program("t.apply();", top="header_union u_t { h_t a; }", local=local))


def test_an_extern_function_makes_an_object() -> None:
    top = """
        extern hasher<O> { O of<T>(in T data); }
        extern hasher<O> polynomial<O>(O value);
        control Sub(inout bit<16> x)(hasher<bit<16>> h) { apply { x = h.of({ x }); } }
    """
    loaded = load_text(program("hdr.h.c = polynomial(16w7).of(hdr.h.a);", top=top, local="Sub(polynomial(16w5)) sub;"))
    assert [(e.extern, [str(t) for t in e.type_args]) for e in loaded.externs] == [("hasher", ["bit<16>"])] * 2
    with pytest.raises(P4Error, match=r"not supported: extern hasher\.of"):
        Switch(loaded)
    with pytest.raises(P4Error, match="an object of type Checksum16 that is not made by its constructor"):
        load_text(program("hdr.h.c = mine().get({ hdr.h.a });", top="extern Checksum16 mine();"))


@pytest.mark.parametrize("arguments", ["1, hdr.h.a", "hdr.h.a, 1", "1, (bit<8>) 2"])
def test_a_number_without_width_takes_that_of_another_argument(arguments: str) -> None:
    """As in calls of PSA's ``get_hash(0, data, (bit<32>) 16)``."""
    load_text(program(f"hdr.h.a = sum_of({arguments});", top="T sum_of<T>(in T a, in T b) { return a + b; }"))
