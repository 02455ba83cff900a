# SPDX-License-Identifier: Apache-2.0
"""P4Info from the IR: ids and aliases of p4c (golden values from p4c's own output), and what is left out."""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import config
from offramp_p4.frontend import load_text
from offramp_p4.runtime.ids import SymbolTable, field_ids, name_hash
from offramp_p4.runtime.p4info import generate
from offramp_p4.types import Annotation

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
type bit<9> port_t;
@p4runtime_translation("example.org/vrf", bit<16>) type bit<10> vrf_t;
enum bit<8> kind_t { A = 1, B = 200 }
header eth_t { bit<48> dst; bit<48> src; bit<16> type; }
@controller_header("packet_in") header in_t { bit<9> port; @id(7) bit<7> pad; }
struct headers_t { in_t cpu; eth_t eth; }
struct meta_t { vrf_t vrf; port_t port; kind_t kind; bit<4> x; }
struct digest_t { bit<48> mac; bool flag; }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    value_set<bit<16>>(4) types;
    state start { p.extract(h.eth); transition select(h.eth.type) { types: accept; default: accept; } }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control C(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    counter(8, CounterType.bytes) c;
    register<vrf_t>(16) r;
    direct_counter(CounterType.packets) dc;
    meter(4, MeterType.packets) mt;
    @brief("goes") action go(port_t port, @id(9) bit<4> x, kind_t kind) { dc.count(); m.x = x; }
    action unused2() { }
    action unused() { }
    action direct(bit<4> v) { m.x = v; }
    action bound(in bit<4> v, bit<8> w) { m.x = v; }
    table t {
        key = { m.vrf : exact @name("vrf"); h.eth.dst : ternary; h.eth.type : range; s.ingress_port : optional; }
        actions = { go; bound(m.x); @defaultonly NoAction; @tableonly unused2; }
        const default_action = NoAction();
        counters = dc;
        size = 77;
    }
    table nobody { actions = { unused; } }
    apply {
        direct(3);
        t.apply();
        digest<digest_t>(1, { h.eth.dst, true });
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.eth); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""


@pytest.fixture(scope="module")
def info():
    return generate(load_text(PROGRAM, "info.p4"))


def names(objects):
    return {o.preamble.name for o in objects}


def test_hash_is_p4cs():
    assert name_hash("NoAction") & 0xFFFFFF == 21257015 & 0xFFFFFF
    table = SymbolTable()
    for kind, name in [("TABLE", "IngressI.indirect"), ("ACTION", "IngressI.drop"), ("ACTION_PROFILE", "ap")]:
        table.add(kind, name, {})
    table.assign()
    assert table.id("TABLE", "IngressI.indirect") == 46872340
    assert table.id("ACTION", "IngressI.drop") == 23455883
    assert table.id("ACTION_PROFILE", "ap") == 294074782


def test_alias_is_the_shortest_unique_suffix():
    table = SymbolTable()
    for name in ("a.b.c", "a.d.c", "x", "y.x"):
        table.add("TABLE", name, {})
    assert [table.alias(n) for n in ("a.b.c", "a.d.c", "x", "y.x")] == ["b.c", "d.c", "x", "y.x"]


def test_collisions_probe_linearly():
    table = SymbolTable()
    taken = 0x02000000 | name_hash("t") & 0xFFFFFF
    table.add("TABLE", "first", {"id": Annotation("id", (taken,))})
    table.add("TABLE", "t", {})
    table.assign()
    assert table.id("TABLE", "t") == taken + 1


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([0x01000005], r"a0: @id\(0x1000005\) has the prefix of another kind of object"),
        ([5, 5], r"a1: @id\(0x2000005\) is used by another object"),
    ],
)
def test_bad_ids(ids, message):
    table = SymbolTable()

    def fill():
        for i, number in enumerate(ids):
            table.add("TABLE", f"a{i}", {"id": Annotation("id", (number,))})
        table.assign()

    with pytest.raises(OfframpError, match=message):
        fill()


def test_field_ids_mix_given_and_counted():
    given = {"id": Annotation("id", (2,))}
    assert field_ids([("a", {}), ("b", given), ("c", {})]) == {"a": 1, "b": 2, "c": 3}
    with pytest.raises(OfframpError, match=r"b: @id\(2\) must be positive and unique"):
        field_ids([("a", given), ("b", given)])


def test_only_what_packets_reach_is_listed(info):
    assert names(info.tables) == {"I.t"}
    assert names(info.actions) == {"NoAction", "I.go", "I.bound", "I.unused2", "I.direct"}


def test_match_fields(info):
    fields = info.tables[0].match_fields
    assert [(f.name, f.bitwidth, f.match_type) for f in fields] == [
        ("vrf", 16, config.MatchField.EXACT),
        ("h.eth.dst", 48, config.MatchField.TERNARY),
        ("h.eth.type", 16, config.MatchField.RANGE),
        ("s.ingress_port", 9, config.MatchField.OPTIONAL),
    ]
    assert fields[0].type_name.name == "vrf_t"
    assert info.type_info.new_types["vrf_t"].translated_type.uri == "example.org/vrf"


def test_action_parameters(info):
    actions = {a.preamble.name: a for a in info.actions}
    go = actions["I.go"]
    assert [(p.id, p.name, p.bitwidth) for p in go.params] == [(1, "port", 9), (9, "x", 4), (2, "kind", 8)]
    assert go.preamble.doc.brief == "goes"
    assert go.params[0].type_name.name == "port_t"
    assert [p.name for p in actions["I.bound"].params] == ["w"]
    assert [p.name for p in actions["I.direct"].params] == []
    members = info.type_info.serializable_enums["kind_t"].members
    assert [(m.name, m.value) for m in members] == [("A", b"\x01"), ("B", b"\xc8")]


def test_table_properties(info):
    (table,) = info.tables
    scopes = {ref.scope for ref in table.action_refs}
    assert scopes == {0, config.ActionRef.TABLE_ONLY, config.ActionRef.DEFAULT_ONLY}
    assert table.size == 77
    assert table.const_default_action_id == table.initial_default_action.action_id == 21257015
    assert table.direct_resource_ids == [info.direct_counters[0].preamble.id]
    assert info.direct_counters[0].direct_table_id == table.preamble.id


def test_externs(info):
    assert (info.counters[0].size, info.counters[0].spec.unit) == (8, config.CounterSpec.BYTES)
    assert (info.meters[0].size, info.meters[0].spec.unit) == (4, config.MeterSpec.PACKETS)
    assert info.registers[0].type_spec.new_type.name == "vrf_t"
    assert info.value_sets[0].match[0].bitwidth == 16
    assert [d.preamble.name for d in info.digests] == ["digest_t"]
    assert [m.name for m in info.type_info.structs["digest_t"].members] == ["mac", "flag"]
    (header,) = info.controller_packet_metadata
    assert [(m.id, m.name, m.bitwidth) for m in header.metadata] == [(1, "port", 9), (7, "pad", 7)]


def test_ids_carry_the_kind_in_their_first_byte(info):
    for field, prefix in [("tables", 2), ("actions", 1), ("counters", 0x12), ("registers", 0x16), ("digests", 0x17)]:
        assert {o.preamble.id >> 24 for o in getattr(info, field)} == {prefix}


def test_a_key_that_is_a_cast_has_the_type_it_is_cast_to():
    cast = PROGRAM.replace("m.vrf : exact @name", "(vrf_t)(m.x ++ 6w0) : exact @name")
    field = next(t for t in generate(load_text(cast, "cast.p4")).tables if t.preamble.name == "I.t").match_fields[0]
    assert (field.name, field.bitwidth, field.type_name.name) == ("vrf", 16, "vrf_t")


ANNOTATED = """
#include <core.p4>
#include <v1model.p4>
@name("outer") struct inner_t<T> { @name("number") T f; }
struct pair_t<T> { bit<16> a; T b; }
struct digest_t { inner_t<bit<64>> x; pair_t<bit<32>> y; }
@controller_header("packet_in") header in_t { @name("port") bit<9> p; bit<7> pad; }
header h_t { bit<8> a; bit<64> x; bit<32> y; }
struct headers { in_t cpu; h_t h; }
struct meta { }
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    table t {
        key = { h.h.a : selector; }
        actions = { NoAction; }
        @name("ways") @max_group_size(200) @name("others") @max_group_size(7)
        @selector_size_semantics("sum_of_weights") @max_member_weight(4000) @weights_disallowed
        implementation = action_selector(HashAlgorithm.identity, 32w1024, 32w10);
    }
    apply { t.apply(); digest<digest_t>(1, { { h.h.x }, { 16w1, h.h.y } }); }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


def test_annotations_of_an_implementation_are_those_of_its_profile():
    (profile,) = generate(load_text(ANNOTATED)).action_profiles
    assert (profile.preamble.name, profile.max_group_size) == ("ways", 200)
    assert (profile.WhichOneof("selector_size_semantics"), profile.weights_disallowed) == ("sum_of_weights", True)
    assert not profile.preamble.annotations


def test_types_and_fields_have_the_names_that_the_controller_is_given():
    info = generate(load_text(ANNOTATED))
    assert set(info.type_info.structs) == {"digest_t", "outer", "pair_t_bit32"}
    assert [m.name for m in info.type_info.structs["outer"].members] == ["number"]
    assert [m.type_spec.struct.name for m in info.type_info.structs["digest_t"].members] == ["outer", "pair_t_bit32"]
    (header,) = info.controller_packet_metadata
    assert [field.name for field in header.metadata] == ["port", "pad"]


@pytest.mark.parametrize(("body", "there"), [("mark_to_drop(s);", True), ("s.egress_spec = 1;", False)])
def test_p4c_leaves_an_empty_list_of_types_where_it_has_looked_for_some(body, there):
    text = (
        ANNOTATED[: ANNOTATED.index("    table t")]
        + f"    apply {{ {body} }}\n}}\ncontrol E"
        + ANNOTATED.split("control E")[1]
    )
    text = text.replace('@controller_header("packet_in") ', "")
    assert generate(load_text(text)).HasField("type_info") == there
