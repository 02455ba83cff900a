# SPDX-License-Identifier: Apache-2.0
"""PSA programs written as bmv2's JSON and read again behave as they do directly.

A fault that the writer and the reader share does not show here. What psa_switch asks of a document is compared with
a list of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from offramp_p4 import ir
from offramp_p4.engines import AnySwitch, make_switch
from offramp_p4.frontend import load_text
from offramp_p4.runtime.p4info import generate
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionData, CloneSession, Exact, MeterCell, Replica, TableEntry, Ternary
from offramp_p4_tools.bmv2.read import from_json
from offramp_p4_tools.bmv2.write import to_json
from offramp_p4_tools.fuzz.packets import random_packets
from offramp_p4_tools.fuzz.portable import PsaWriter
from psa_orders import CLONE, DROP, EGRESS_CLONE, EGRESS_DROP, RESUBMIT, order
from psa_shell import psa_program

ALL = Path(__file__).with_name("portable_switch.p4")
WAYS = Path(__file__).parents[1] / "portable" / "psa.p4"
_KEPT = re.compile(r"(clone_i2e_meta|resubmit_meta|clone_e2e_meta|recirculate_meta)\.mark")
"""Metadata of the ways on which psa_switch keeps none."""

pytestmark = pytest.mark.p4


def _through(program: ir.Program) -> ir.Program:
    return from_json(json.dumps(to_json(program)), "p.json")


def _direct_and_through(text: str, engine: str, **options: Any) -> list[AnySwitch]:
    program = load_text(text)
    return [make_switch(p, engine, **options) for p in (program, _through(program))]


# --- the ways of a packet ------------------------------------------------------------------------------------------


def _ways() -> str:
    """``portable/psa.p4`` without the metadata that psa_switch does not keep."""
    text = WAYS.read_text()
    text = re.sub(r"if \(psa_(clone_i2e|resubmit|clone_e2e|recirculate)\([^{]*\{[^}]*\}", "", text)
    return _KEPT.sub("8w0", text)


@pytest.fixture(scope="module")
def ways(engine: str) -> list[AnySwitch]:
    switches = _direct_and_through(_ways(), engine, cpu_port=255, max_passes=20)
    for switch in switches:
        switch.pre.multicast[7] = (Replica(4, 1), Replica(5, 2))
        switch.pre.clones[8] = CloneSession((Replica(6, 3),), class_of_service=2)
    return switches


@pytest.mark.full
@pytest.mark.parametrize(
    ("asked", "leaving"),
    [
        (order(cos=5), [3]),
        (order(group=7, cos=1), [4, 5]),
        (order(DROP), []),
        (order(EGRESS_DROP), []),
        (order(CLONE, session=8), [3, 6]),
        (order(CLONE | DROP, session=8), [6]),
        (order(EGRESS_CLONE, session=8), [3, 6]),
        (order(RESUBMIT), [3]),
        (order(port=0xFFFA), [9]),
        (order(port=0xFFFD), [255]),
        (b"abc", [0]),
    ],
)
def test_every_way_is_the_same(ways: list[AnySwitch], asked: bytes, leaving: list[int]) -> None:
    direct, through = (switch.process_one(1, asked + b"rest") for switch in ways)
    assert through == direct
    assert sorted(port for port, _ in direct) == leaving


def test_packets_that_are_resubmitted_come_again() -> None:
    """Or not at all where they are dropped as well."""
    direct, through = _direct_and_through(_ways(), "python", cpu_port=255, max_passes=20)
    for asked, leaving in ((order(RESUBMIT), [3]), (order(RESUBMIT | DROP), []), (order(), [3])):
        sent = direct.process_one(1, asked + b"rest")
        assert through.process_one(1, asked + b"rest") == sent
        assert [port for port, _ in sent] == leaving
    assert direct.stats.resubmissions == through.stats.resubmissions == 1


def test_metadata_of_the_normal_way_are_kept_and_others_are_not(engine: str) -> None:
    text = psa_program(
        body="m.m = 0x1234; o.clone = true; o.clone_session_id = (CloneSessionId_t)16w1;",
        deparse="if (psa_normal(o)) { n.c = m.m + 1; }",
        egress="h.w.c = m.m;",
    )
    for switch in _direct_and_through(text, engine):
        switch.pre.clones[1] = CloneSession((Replica(2, 0),))
        sent = dict(switch.process_one(0, bytes(8)))
        assert sent == {1: bytes.fromhex("0000123500000000"), 2: bytes(8)}


# --- externs and deparsers -----------------------------------------------------------------------------------------

_COUNT = "Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.BYTES) c;"
_REGISTER = "Register<bit<16>, bit<8>>(4) r;"
_HASH = "Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) q;"
EXTERNS = {
    "hash": (_HASH, "h.w.d = q.get_hash({ h.w.a, 8w7, h.w.c });"),
    "hash of a header": (_HASH, "h.w.d = q.get_hash(h.w);"),
    "hash in a range": (_HASH, "h.w.d = q.get_hash(32w9, { h.w.a, h.w.b }, 32w5);"),
    "hash in no range": (_HASH, "h.w.d = q.get_hash(32w9, { h.w.a }, (bit<32>)h.w.b);"),
    "another hash": ("Hash<bit<16>>(PSA_HashAlgorithm_t.ONES_COMPLEMENT16) q;", "h.w.c = q.get_hash({ h.w.d });"),
    "register": (_REGISTER, "r.write(h.w.a & 3, h.w.c); h.w.c = r.read(h.w.a & 3) + 1;"),
    "register beyond its end": (_REGISTER, "h.w.c = r.read(h.w.a); r.write(h.w.a, 5);"),
    "meter": ("Meter<bit<8>>(4, PSA_MeterType_t.PACKETS) g;",
              "if (g.execute(h.w.b & 3) == PSA_MeterColor_t.GREEN) { h.w.c = 1; }"),
    "meter beyond its end": ("Meter<bit<8>>(4, PSA_MeterType_t.BYTES) g;",
                             "if (g.execute(8w200) == PSA_MeterColor_t.GREEN) { h.w.c = 1; }"),
    "checksum": ("InternetChecksum() q;", "q.add({ h.w.a, h.w.b, h.w.c }); q.subtract(h.w.a); h.w.c = q.get();"),
    "state of a checksum": ("InternetChecksum() q;", "q.set_state(h.w.c); q.add(h.w.d); h.w.c = q.get_state();"),
    "random": ("Random<bit<16>>(7, 7) n;", "h.w.c = n.read();"),
    "ports": ("", "h.w.c = (bit<16>)(PortIdUint_t)i.ingress_port; o.class_of_service = (ClassOfService_t)h.w.a;"),
    "paths": ("", "if (i.packet_path == PSA_PacketPath_t.NORMAL) { h.w.b = 9; }"),
}  # fmt: skip


@pytest.mark.each
@pytest.mark.parametrize("name", EXTERNS)
def test_externs(name: str, engine: str) -> None:
    objects, body = EXTERNS[name]
    direct, through = _direct_and_through(psa_program(objects=objects, body=body), engine)
    for packet in ("01020304050607ff", "ff00ffffffffffff", "0000000000000000"):
        sent = direct.process_one(3, bytes.fromhex(packet))
        assert through.process_one(3, bytes.fromhex(packet)) == sent
        assert len(sent) == 1


DEPARSERS = {
    "a checksum under a condition": "if (h.w.a == 1) { q.clear(); q.add({ h.w.a, h.w.d }); h.w.c = q.get(); }",
    "either of two": "if (h.w.a == 1) { h.w.b = 7; if (h.w.c != 0) { h.w.d = 5; } } else { h.w.b = 8; }",
    "a sum that goes on": "q.add(h.w.d); if (h.w.a == 1) { q.subtract({ h.w.b, h.w.a }); } h.w.c = q.get();",
    "a sum begins at 0 for every packet": "q.add(h.w.d); h.w.c = q.get();",
}


@pytest.mark.each
@pytest.mark.parametrize("name", DEPARSERS)
def test_deparsers(name: str, engine: str) -> None:
    text = psa_program(sums="InternetChecksum() q;", deparse=DEPARSERS[name])
    direct, through = _direct_and_through(text, engine)
    seen = set()
    for packet in ("0102030405060708", "0002030405060708", "0102000005060708", "0000000000000000"):
        sent = direct.process_one(3, bytes.fromhex(packet))
        assert through.process_one(3, bytes.fromhex(packet)) == sent
        seen.add(sent[0][1])
    assert len(seen) > 1


def test_digests(engine: str) -> None:
    declared, sums = "struct told_t { bit<8> a; bit<16> m; }", "Digest<told_t>() told;"
    deparse = "if (h.w.b == 1) { told.pack({ h.w.a, m.m }); }"
    seen: list[list[tuple[str, tuple[Any, ...]]]] = []
    for switch in _direct_and_through(
        psa_program(declared=declared, sums=sums, body="m.m = h.w.c;", deparse=deparse), engine
    ):
        seen.append([])
        switch.on_digest = lambda d: seen[-1].append((d.name, d.values))
        for packet in ("0501000700000000", "0600000700000000"):
            switch.process_one(0, bytes.fromhex(packet))
    assert seen[0] == seen[1] == [("ID.told", (5, 7))]


def test_counters_and_direct_counters(engine: str) -> None:
    objects = f"""{_COUNT} DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) k;
    action hit(bit<8> x) {{ k.count(); h.w.b = x; }}
    table t {{ key = {{ h.w.a : exact; }} actions = {{ hit; NoAction; }} default_action = NoAction;
               psa_direct_counter = k; }}"""
    for switch in _direct_and_through(psa_program(objects=objects, body="c.count(h.w.b); t.apply();"), engine):
        table = switch.tables["I.t"]
        table.insert(TableEntry((Exact(1),), ActionData("I.hit", (9,))))
        for packet in ("0101000000000000", "0103000000000000", "0201000000000000", "01ff000000000000"):
            switch.process_one(0, bytes.fromhex(packet))
        assert list(switch.counters["I.c"].bytes) == [0, 16, 0, 8]
        assert [entry.packets for entry in table.entries] == [3]


def test_direct_meters_measure_at_every_hit(engine: str) -> None:
    objects = """DirectMeter(PSA_MeterType_t.PACKETS) rate;
    action run() { h.w.b = rate.execute() == PSA_MeterColor_t.RED ? 8w9 : 8w1; }
    table t { key = { h.w.a : exact; } actions = { run; } default_action = run; psa_direct_meter = rate; }"""
    for switch in _direct_and_through(psa_program(objects=objects, body="t.apply();"), engine):
        entry = TableEntry((Exact(1),), ActionData("I.run"))
        entry.meter = MeterCell()
        switch.tables["I.t"].insert(entry)
        entry.meter.configure(((1.0, 2), (1.0, 2)))
        sent = [switch.process_one(0, bytes([key]) + bytes(7))[0][1][1] for key in (2, 2, 2, 1, 1, 1)]
        assert sent == [1, 1, 1, 1, 1, 9]


def test_a_program_with_everything(engine: str) -> None:
    direct, through = _direct_and_through(ALL.read_text(), engine)
    for switch in (direct, through):
        switch.tables["I.t"].insert(TableEntry((Exact(9), Ternary(3, 0xFFFFFFFF)), ActionData("I.to", (5,)), 1))
    left = []
    for packet in ("01020304050607ff", "09020304050607ff" * 3, "ff" * 8, "000000000000004d", "0902"):
        left.append(direct.process_one(3, bytes.fromhex(packet)))
        assert through.process_one(3, bytes.fromhex(packet)) == left[-1]
    assert [[port for port, _ in each] for each in left] == [[1], [5], [], [1], [1]]
    assert len(left[1][0][1]) == 24
    assert through.stats.resubmissions == direct.stats.resubmissions == 1


def test_a_document_that_was_read_can_be_written() -> None:
    program = load_text(ALL.read_text())
    switches = [make_switch(p, "python") for p in (program, _through(_through(program)))]
    sent = [switch.process_one(3, bytes.fromhex("09020304050607ff" * 3)) for switch in switches]
    assert sent[0] == sent[1]
    assert len(sent[0]) == 1


def test_a_selector_chooses_the_same_member() -> None:
    objects = """action to(bit<8> x) { h.w.b = x; }
    ActionSelector(PSA_HashAlgorithm_t.CRC32, 32w16, 32w16) s;
    table t { key = { h.w.a : exact; h.w.c : selector; } actions = { to; NoAction; } psa_implementation = s; }"""
    program = load_text(psa_program(objects=objects, body="t.apply();"))
    (table,) = _through(program).tables
    (profile,) = [i for i in _through(program).externs if i.extern == "ActionSelector"]
    assert table.properties["implementation"].name == profile.name == "I.s"
    assert [k.match_kind for k in table.keys] == ["exact", "selector"]
    assert profile.args[0].type.member(profile.args[0].value) == "CRC32"


def test_stacks_are_empty_when_egress_begins(engine: str) -> None:
    """psa_switch leaves the place of ``next`` where ingress had it."""
    text = psa_program(start="p.extract(h.s.next); p.extract(h.s.next); transition accept;")
    text = text.replace("m.m = n.c;", "p.extract(h.s.next); p.extract(h.s.next);")
    assert "pop" in [p["op"] for p in _primitives(to_json(load_text(text)), "parsers")]
    direct, through = (switch.process_one(3, bytes(24)) for switch in _direct_and_through(text, engine))
    assert through == direct
    assert len(direct) == 1


def _reduced(text: str) -> str:
    """A random program without what psa_switch cannot do."""
    for way in ("again", "first", "around", "second"):
        text = re.sub(rf"\b{way}\.(link|rounds)( = [^;]*;)?", lambda m: "" if m[2] else "0", text)
        text = re.sub(rf"\b{way} = \{{[^}}]*\}};", "", text)
    text = re.sub(r"if \(meta.link\[0:0\] == 1\) \{ (told.pack\([^;]*;) \}", r"\1", text)
    return re.sub(r"(Register<[^;]*>\(\d+), [^;]*\) (\w+;)", r"\1) \2", text)


@pytest.mark.parametrize("seed", [3, 60])
def test_a_random_program(seed: int) -> None:
    program = PsaWriter(Random(seed), 8, portable=True).program()
    switches = _direct_and_through(_reduced(program.text), "python", max_passes=8)
    for switch in switches:
        switch.pre.clones[1] = CloneSession((Replica(4, 1), Replica(5, 2)), class_of_service=3)
        switch.pre.multicast[1] = (Replica(1, 1), Replica(2, 2))
    direct, through = switches
    for port, frame in random_packets(Random(seed), 30, program.hints):
        assert through.process_one(port, frame) == direct.process_one(port, frame)


def test_the_control_plane_sees_the_same() -> None:
    objects = f"""{_COUNT} {_REGISTER} Meter<bit<8>>(4, PSA_MeterType_t.BYTES) g;
    DirectMeter(PSA_MeterType_t.PACKETS) f;
    action hit(bit<8> x) {{ h.w.b = x; if (f.execute() == PSA_MeterColor_t.RED) {{ h.w.c = 3; }} }}
    table t {{ key = {{ h.w.a : lpm; i.ingress_port : ternary; }} actions = {{ hit; NoAction; }}
               default_action = hit(4); size = 77; psa_direct_meter = f;
               psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL; }}"""
    declared = "struct told_t { bit<8> a; bit<16> m; }"
    text = psa_program(objects=objects, body="c.count(1); r.write(0, 1); h.w.d[0:0] = 1; t.apply();", declared=declared,
                       sums="Digest<told_t>() told;", deparse="told.pack({ h.w.a, m.m });")  # fmt: skip
    program = load_text(text)
    info, copy = generate(program), generate(_through(program))
    for kind in ("counters", "meters", "direct_meters", "digests"):
        names = [[x.preamble.name for x in getattr(i, kind)] for i in (info, copy)]
        assert names[0] == names[1]
        assert len(names[0]) == 1
    assert copy.counters[0].spec == info.counters[0].spec
    assert copy.direct_meters[0].spec == info.direct_meters[0].spec
    assert copy.tables[0].match_fields == info.tables[0].match_fields
    assert copy.tables[0].match_fields[1].type_name.name == "PortId_t"
    assert copy.tables[0].idle_timeout_behavior == info.tables[0].idle_timeout_behavior == 1
    assert copy.registers[0].type_spec == info.registers[0].type_spec
    given = from_json(json.dumps(to_json(program)), "p.json", info)
    assert generate(given).tables[0].preamble == info.tables[0].preamble


# --- what psa_switch asks of a document ----------------------------------------------------------------------------

_FIELDS = {
    "psa_ingress_parser_input_metadata": {"ingress_port", "packet_path"},
    "psa_ingress_input_metadata": {"ingress_port", "packet_path", "ingress_timestamp", "parser_error"},
    "psa_ingress_output_metadata": {
        "class_of_service", "clone", "clone_session_id", "drop", "resubmit", "multicast_group", "egress_port"
    },
    "psa_egress_parser_input_metadata": {"egress_port", "packet_path"},
    "psa_egress_input_metadata": {
        "class_of_service", "egress_port", "packet_path", "instance", "egress_timestamp", "parser_error"
    },
    "psa_egress_output_metadata": {"clone", "clone_session_id", "drop"},
    "psa_egress_deparser_input_metadata": {"egress_port"},
}  # fmt: skip
_ARITY = {
    "assign": 2, "assign_header": 2, "add_header": 1, "remove_header": 1, "push": 2, "pop": 2, "exit": 0, "_jump": 1,
    "_jump_if_zero": 2, "_Counter_count": 2, "_Meter_execute": 3, "register_read": 3, "register_write": 3,
    "_Hash_get_hash": 3, "_Hash_get_hash_mod": 5, "_InternetChecksum_clear": 1, "_InternetChecksum_add": 2,
    "_InternetChecksum_subtract": 2, "_InternetChecksum_get": 2, "_InternetChecksum_get_state": 2,
    "_InternetChecksum_set_state": 2, "modify_field_rng_uniform": 3, "generate_digest": 2,
}  # fmt: skip
_ATTRIBUTES = {
    "Counter": {"n_counters", "type"},
    "Meter": {"n_meters", "type", "is_direct", "rate_count"},
    "Hash": {"algo"},
    "InternetChecksum": set(),
}


def _primitives(document: dict[str, Any], *lists: str) -> Iterator[dict[str, Any]]:
    if "actions" in lists:
        yield from (p for a in document["actions"] for p in a["primitives"])
    if "deparsers" in lists:
        yield from (p for d in document["deparsers"] for p in d["primitives"])
    if "parsers" in lists:
        ops = (op for p in document["parsers"] for s in p["parse_states"] for op in s["parser_ops"])
        yield from (op["parameters"][0] for op in ops if op["op"] == "primitive")


@pytest.mark.parametrize("name", [*EXTERNS, "everything"])
def test_psa_switch_would_load_the_document(name: str) -> None:
    objects, body = EXTERNS.get(name, ("", ""))
    deparse = DEPARSERS["a checksum under a condition"]
    text = psa_program(objects=objects, body=body, sums="InternetChecksum() q;", deparse=deparse)
    if name == "everything":
        text = ALL.read_text()
    document = to_json(load_text(text))
    types = {t["name"]: {f[0] for f in t["fields"]} for t in document["header_types"]}
    instances = {h["name"]: h for h in document["headers"]}
    for header, fields in _FIELDS.items():
        assert fields <= types[instances[header]["header_type"]]
        assert instances[header]["metadata"]
    if name == "everything":
        assert "lf_field_list" in types[instances["intrinsic_metadata"]["header_type"]]
    for kind, names in (("parsers", "{}_parser"), ("pipelines", "{}"), ("deparsers", "{}_deparser")):
        assert [x["name"] for x in document[kind]] == [names.format(way) for way in ("ingress", "egress")]
        assert [x["id"] for x in document[kind]] == [0, 1]
    declared = {i["name"] for i in document["extern_instances"]} | {r["name"] for r in document["register_arrays"]}
    for primitive in _primitives(document, "actions", "deparsers", "parsers"):
        assert len(primitive["parameters"]) == _ARITY[primitive["op"]]
        for p in primitive["parameters"]:
            if p["type"] in {"extern", "register_array"}:
                assert p["value"] in declared
            if p["type"] == "expression":
                assert "op" in p["value"]["value"], "an expression in an expression, not deeper"
            if p["type"] == "field_list":
                assert {item["type"] for item in p["value"]} == {"field"}
    assert not any(p["op"].startswith("_jump") for p in _primitives(document, "deparsers"))
    for i in document["extern_instances"]:
        assert {a["name"] for a in i["attribute_values"]} == _ATTRIBUTES[i["type"]]


def test_a_resubmitted_packet_finds_no_header_of_the_pass_before() -> None:
    document = to_json(load_text(_ways()))
    removed = [p["parameters"][0]["value"] for p in _primitives(document, "parsers") if p["op"] == "remove_header"]
    assert removed == ["order", "ingress", "egress"]


def test_an_internet_checksum_is_of_whole_words() -> None:
    document = to_json(load_text(psa_program(objects="InternetChecksum() q;", body="q.add(h.w.a); h.w.c = q.get();")))
    (added,) = [p for p in _primitives(document, "actions") if p["op"] == "_InternetChecksum_add"]
    widths = {(h["name"], f[0]): f[1] for h in document["headers"] for t in document["header_types"]
              if t["name"] == h["header_type"] for f in t["fields"]}  # fmt: skip
    assert sum(widths[tuple(f["value"])] for f in added["parameters"][1]["value"]) == 16


def test_the_colours_of_direct_meters_are_bmv2_s() -> None:
    """They are 0, 1 and 2 for green, yellow and red; in P4's enum 0 is red."""
    objects = """DirectMeter(PSA_MeterType_t.PACKETS) rate;
    action run() { if (rate.execute() == PSA_MeterColor_t.RED) { h.w.b = 9; } }
    table t { key = { h.w.a : exact; } actions = { run; } default_action = run; psa_direct_meter = rate; }"""
    document = to_json(load_text(psa_program(objects=objects, body="t.apply();")))
    (measured,) = document["meter_arrays"]
    (action,) = [a for a in document["actions"] if a["name"] == "I.run"]
    green = action["primitives"][0]["parameters"][1]["value"]["value"]
    yellow = green["right"]["value"]
    for part, left, enum in ((green, "0x0", "0x1"), (yellow, "0x1", "0x2")):
        assert part["cond"]["value"] == {
            "op": "==",
            "left": {"type": "field", "value": measured["result_target"]},
            "right": {"type": "hexstr", "value": left},
        }
        assert part["left"]["value"] == enum
    assert yellow["right"]["value"] == "0x0"


# --- refusals ------------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "a register under a condition": (
        {"sums": "Register<bit<8>, bit<8>>(4) g;", "deparse": "if (h.w.a == 1) { g.write(0, 1); }"},
        "register_write under a condition",
    ),
    "emit under a condition": ({"deparse": "if (h.w.a == 1) { p.emit(h.x); }"}, "emit under a condition"),
    "a header that comes late": ({"deparse": "h.x.setValid();"}, "add_header of x, which the deparser emits"),
    "a field that comes late": ({"behind": "h.w.b = 3;"}, "a field of w assigned behind its emit"),
    "a loop": ({"deparse": "for (bit<8> i in 8w0 .. 8w3) { h.w.b = i; }"}, "a loop"),
    "a length": ({"objects": _COUNT, "body": "c.count(1, 32w9);"}, "Counter.count with 2 arguments"),
    "a colour": (
        {"objects": "Meter<bit<8>>(4, PSA_MeterType_t.BYTES) g;",
         "body": "if (g.execute(1, PSA_MeterColor_t.RED) == PSA_MeterColor_t.RED) { h.w.b = 1; }"},
        "Meter.execute with 2 arguments",
    ),
    "an initial value": ({"objects": "Register<bit<16>, bit<8>>(4, 3) r;", "body": "h.w.c = r.read(1);"}, "initial"),
    "a checksum by an algorithm": (
        {"objects": "Checksum<bit<16>>(PSA_HashAlgorithm_t.CRC16) k;", "body": "k.update(h.w.a);"}, "extern Checksum"
    ),
    "the length of the packet": ({"start": "h.w.d = p.length(); transition accept;"}, "packet_in.length"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_psa_switch_cannot_do_is_refused_with_its_place(name: str) -> None:
    holes, words = REFUSED[name]
    with pytest.raises(Unsupported, match=words) as refused:
        to_json(load_text(psa_program(**holes)))
    assert refused.value.pos.line > 0


def test_metadata_of_other_ways_are_refused() -> None:
    with pytest.raises(Unsupported, match="'resubmit_meta', metadata of a way on which psa_switch keeps none"):
        to_json(load_text(WAYS.read_text()))
