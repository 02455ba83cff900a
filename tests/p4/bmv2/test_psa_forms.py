# SPDX-License-Identifier: Apache-2.0
"""Forms of PSA documents that p4c writes and we do not: made out of our documents, as p4c would have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.engines import AnySwitch, make_switch
from offramp_p4.frontend import load_text
from offramp_p4.runtime.p4info import generate
from offramp_p4_tools.bmv2.read import from_json
from offramp_p4_tools.bmv2.write import to_json
from psa_shell import psa_program

pytestmark = pytest.mark.p4

Json = dict[str, Any]
_OBJECTS = """Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.PACKETS) c; Register<bit<16>, bit<8>>(4) r;
InternetChecksum() q; Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) u;"""
_BODY = "c.count(h.w.a); r.write(0, h.w.c); q.add(h.w.c); h.w.c = q.get() ^ u.get_hash({ h.w.a }); m.m = r.read(h.w.b);"


@pytest.fixture
def document() -> Json:
    loaded: Json = json.loads(json.dumps(to_json(load_text(psa_program(objects=_OBJECTS, body=_BODY)))))
    return loaded


def field(*names: str) -> Json:
    return {"type": "field", "value": list(names)}


def number(value: int) -> Json:
    return {"type": "hexstr", "value": hex(value)}


def _switch(document: Json, engine: str) -> AnySwitch:
    return make_switch(from_json(json.dumps(document), "x.json"), engine)


def _body(document: Json) -> list[Json]:
    """The primitives of the action that our compiler has made of ingress."""
    action = next(a for a in document["actions"] if any(p["op"] == "_Counter_count" for p in a["primitives"]))
    body: list[Json] = action["primitives"]
    return body


def _sent(document: Json, engine: str, packet: str) -> str:
    ((_, frame),) = _switch(document, engine).process_one(0, bytes.fromhex(packet))
    return frame.hex()


@pytest.mark.parametrize("whole", [False, True])
def test_metadata_that_egress_reads_are_those_of_ingress(document: Json, engine: str, whole: bool) -> None:
    """p4c has one place for metadata of one type, and psa_switch keeps what is there for all but clones."""
    document["header_types"].append({"name": "kept_t", "id": 50, "fields": [["kept", 8, False]]})
    for number_, name in enumerate(("first", "second"), 50):
        document["headers"].append({"name": name, "id": number_, "header_type": "kept_t", "metadata": True})
    _body(document).append({"op": "assign", "parameters": [field("first", "kept"), number(0x5A)]})
    primitives = [{"op": "assign", "parameters": [field("w", "b"), field("first", "kept")]}]
    if whole:
        parts = [{"type": "header", "value": name} for name in ("second", "first")]
        primitives = [{"op": "assign_header", "parameters": parts},
                      {"op": "assign", "parameters": [field("w", "b"), field("second", "kept")]}]  # fmt: skip
    document["actions"].append({"name": "act", "id": 777, "runtime_data": [], "primitives": primitives})
    (egress,) = (p for p in document["pipelines"] if p["name"] == "egress")
    egress["action_calls"] = [{"name": "call", "id": 0, "action_id": 777, "next_node": egress["init_table"]}]
    egress["init_table"] = "call"
    assert _sent(document, engine, "0900000000000000")[2:4] == "5a"


def test_data_of_one_field_is_no_list(document: Json, engine: str) -> None:
    expected = _sent(document, engine, "0102030405060708")
    (call,) = [p for p in _body(document) if p["op"] == "_Hash_get_hash"]
    (only,) = call["parameters"][2]["value"]
    call["parameters"][2]["value"] = only
    assert _sent(document, engine, "0102030405060708") == expected


def test_primitives_of_a_deparser_set_constants(document: Json, engine: str) -> None:
    document["deparsers"][0]["primitives"] = [{"op": "set", "parameters": [field("w", "d"), number(7)]}]
    assert _sent(document, engine, "0900000000000000").endswith("00000007")


def test_an_index_beyond_a_register_leaves_the_field(document: Json, engine: str) -> None:
    body = _body(document)
    name = next(p for p in body if p["op"] == "register_read")["parameters"][1]
    body += [
        {"op": "assign", "parameters": [field("w", "d"), number(0x11)]},
        {"op": "register_read", "parameters": [field("w", "d"), name, number(9)]},
    ]
    assert _sent(document, engine, "0900000000000000").endswith("00000011")


@pytest.mark.parametrize(("wanted", "result"), [(0xFFFF - 0x1234, 1), (0x1234, 0)])
def test_a_parser_verifies_a_checksum(document: Json, engine: str, wanted: int, result: int) -> None:
    name = {"type": "extern", "value": "I.q"}
    state = next(s for s in document["parsers"][0]["parse_states"] if s["parser_ops"])
    operations = [
        ("_InternetChecksum_set_state", name, number(0x1234)),
        ("assign", field("w", "c"), number(wanted)),
        ("_InternetChecksum_get_verify", name, field("w", "b"), field("w", "c")),
    ]
    state["parser_ops"] += [
        {"op": "primitive", "parameters": [{"op": op, "parameters": list(p)}]} for op, *p in operations
    ]
    assert _sent(document, engine, "0900000000000000")[2:4] == f"{result:02x}"


def test_a_digest_is_its_learn_list(document: Json) -> None:
    document["learn_lists"] = [{"id": 1, "name": "told_t", "elements": [field("w", "a"), field("w", "c")]}]
    _body(document).append({"op": "generate_digest", "parameters": [number(1)]})
    (digest,) = generate(from_json(json.dumps(document), "x.json")).digests
    assert digest.preamble.name == "told_t"
    source = psa_program(declared="struct told_t { bit<8> a; bit<16> c; }", sums="Digest<told_t>() told;",
                         deparse="told.pack({ h.w.a, h.w.c });")  # fmt: skip
    info = generate(load_text(source))
    assert info.digests[0].type_spec.struct.name == "told_t"
    program = from_json(json.dumps(document), "x.json", info)
    assert [i.name for i in program.externs if i.extern == "Digest"] == ["ID.told"]


def test_a_counter_without_its_object(document: Json, engine: str) -> None:
    document["extern_instances"] = [i for i in document["extern_instances"] if i["type"] != "Counter"]
    count = next(p for p in _body(document) if p["op"] == "_Counter_count")
    count["op"], count["parameters"][0]["type"] = "count", "counter_array"
    switch = _switch(document, engine)
    switch.process_one(0, bytes.fromhex("0100000000000000"))
    assert list(switch.counters["I.c"].packets) == [0, 1, 0, 0]


def test_colours_are_p4s(document: Json, engine: str) -> None:
    attributes = [("n_meters", "hexstr", "0x04"), ("type", "string", "packets"), ("is_direct", "hexstr", 0),
                  ("rate_count", "hexstr", 2)]  # fmt: skip
    document["extern_instances"].append(
        {"name": "g", "id": 9, "type": "Meter",
         "attribute_values": [dict(zip(("name", "type", "value"), a, strict=True)) for a in attributes]}
    )  # fmt: skip
    name = {"type": "extern", "value": "g"}
    _body(document).append({"op": "_Meter_execute", "parameters": [name, number(1), field("w", "b")]})
    assert _sent(document, engine, "0900000000000000")[2:4] == "01"  # green; red is 0


def test_a_document_of_before_there_were_metadata(engine: str) -> None:
    """p4c of 2018 had none of psa_switch's metadata: such a program drops everything, as ingress does by default."""
    document = to_json(load_text(psa_program(deparse="h.w.b = 1;").replace("send_to_port(o, (PortId_t)32w1);", "")))
    names = {h["name"] for h in document["headers"] if h["name"].startswith("psa_")}
    document["headers"] = [h for h in document["headers"] if h["name"] not in names]
    assert _switch(json.loads(json.dumps(document)), engine).process_one(0, bytes(8)) == []


# --- wrong documents -----------------------------------------------------------------------------------------------


def _instance(document: Json, kind: str) -> Json:
    instance: Json = next(i for i in document["extern_instances"] if i["type"] == kind)
    return instance


def _value(document: Json, kind: str, name: str, value: object) -> None:
    next(a for a in _instance(document, kind)["attribute_values"] if a["name"] == name)["value"] = value


def _append(document: Json, op: str, *parameters: Json) -> None:
    _body(document).append({"op": op, "parameters": list(parameters)})


WRONG: dict[str, tuple[Callable[[Json], object], str]] = {
    "an unknown extern": (lambda d: _instance(d, "Hash").update(type="Fly"), "'Fly': expected one of"),
    "no attribute": (lambda d: _instance(d, "Counter").update(attribute_values=[]), "'n_counters' is missing"),
    "a type of counter": (lambda d: _value(d, "Counter", "type", "0x9"), "9 is not a type of counter"),
    "an algorithm": (lambda d: _value(d, "Hash", "algo", "md5"), "'md5': expected one of identity"),
    "a size": (lambda d: _value(d, "Counter", "n_counters", "-0x1"), "-1 is not in 0.."),
    "twice": (lambda d: d["extern_instances"].append(_instance(d, "Hash")), "'I.u' is there twice"),
    "no such object": (lambda d: _append(d, "_Counter_count", {"type": "extern", "value": "x"}, number(0)),
                       "there is no Counter 'x'"),
    "no such register": (lambda d: _append(d, "register_write", {"type": "register_array", "value": "x"}, number(0),
                                           number(0)), "there is no register 'x'"),
    "a primitive of simple_switch": (lambda d: _append(d, "mark_to_drop"), "'mark_to_drop' is not supported"),
    "no parameters": (lambda d: _append(d, "_Hash_get_hash"), "expected a list with more than 0 elements"),
    "data of a hash": (lambda d: _append(d, "_Hash_get_hash", {"type": "extern", "value": "I.u"}, field("w", "a"),
                                         number(1)), "'hexstr': expected one of field_list"),
    "a number in the data of a hash": (
        lambda d: _append(
            d,
            "_Hash_get_hash",
            {"type": "extern", "value": "I.u"},
            field("w", "a"),
            {"type": "field_list", "value": [number(1)]},
        ),
        "'hexstr': expected one of field",
    ),
    "computed bounds": (lambda d: _append(d, "modify_field_rng_uniform", field("w", "a"), number(0), field("w", "b")),
                        "computed bounds"),
    "bounds": (lambda d: _append(d, "modify_field_rng_uniform", field("w", "a"), number(3), number(2)), "of 3 to 2"),
    "a learn list": (lambda d: _append(d, "generate_digest", number(4)), "there is no learn list 4"),
    "no egress parser": (lambda d: d["parsers"].pop(), "there is no parser 'egress_parser'"),
    "no egress deparser": (lambda d: d["deparsers"].pop(), "there is no deparser 'egress_deparser'"),
    "no egress": (lambda d: d["pipelines"].pop(), "there is no pipeline 'egress'"),
    "a checksum of simple_switch": (lambda d: d["checksums"].append({"name": "x"}), "checksums[0]: not supported"),
    "errors": (lambda d: d["errors"][0].__setitem__(1, 77), "NoError is 77"),
    "meters of no table": (lambda d: d["meter_arrays"].append({"name": "m", "id": 0, "is_direct": False}),
                           "belong to no table"),
    "metadata of egress in ingress": (
        lambda d: _append(d, "assign", field("w", "b"), field("psa_egress_input_metadata", "instance")),
        "psa_egress_input_metadata in ingress, which does not have it",
    ),
    "a field that no metadata have": (
        lambda d: _append(d, "assign", field("w", "b"), field("psa_ingress_input_metadata", "colour")),
        "has no field 'colour'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_document_is_refused_in_one_line(case: str, document: Json) -> None:
    change, words = WRONG[case]
    change(document)
    with pytest.raises(OfframpError) as refused:
        from_json(json.dumps(document), "p.json")
    message = str(refused.value)
    assert message.startswith("p.json: ")
    assert "\n" not in message
    assert words in message
