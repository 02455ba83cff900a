# SPDX-License-Identifier: Apache-2.0
"""Forms that p4c and older compilers write and we do not: made out of our documents, as a compiler would have."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from offramp_p4.engines import AnySwitch, make_switch
from offramp_p4.frontend import load_text
from offramp_p4.state import ActionData, TableEntry
from offramp_p4.state.match import Exact
from offramp_p4_tools.bmv2.read import from_json
from offramp_p4_tools.bmv2.write import to_json
from offramp_p4_tools.bmv2.write.code import END, BasicBlock, Jump, _threaded

pytestmark = pytest.mark.p4

_PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<3> a; bit<13> b; }
struct headers { h_t h; h_t second; }
struct metadata { bit<1> flag; }
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t s) {
    value_set<bit<16>>(4) known;
    state start {
        s.egress_spec = 1;
        p.extract(hdr.h);
        transition select(hdr.h.a ++ hdr.h.b) { known: more; 0x2001 &&& 0xe001: good; default: accept; }
    }
    state more {
        p.extract(hdr.second);
        transition select(hdr.second.a ++ hdr.second.b) { known: good; default: accept; }
    }
    state good { s.egress_spec = 2; transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply {} }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t s) {
    apply {}
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


@pytest.fixture
def document() -> dict[str, Any]:
    return json.loads(json.dumps(to_json(load_text(_PROGRAM))))  # type: ignore[no-any-return]


def _switch(document: dict[str, Any], engine: str) -> AnySwitch:
    return make_switch(from_json(json.dumps(document), "x.json"), engine)


def _states(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {state["name"]: state for state in document["parsers"][0]["parse_states"]}


def _good(switch: AnySwitch, packet: str) -> bool:
    ((port, _),) = switch.process_one(0, bytes.fromhex(packet))
    return port == 2


def test_a_value_set_is_compared_with_one_key_and_with_the_same_bits_of_two(document, engine: str) -> None:
    """bmv2 puts the keys of a state beside each other, so a set may serve states whose keys differ."""
    state = next(s for s in _states(document).values() if any(t["type"] == "hexstr" for t in s["transitions"]))
    state["transition_key"] = [{"type": "field", "value": ["h", name]} for name in ("a", "b")]
    value = next(t for t in state["transitions"] if t["type"] == "hexstr")
    value["value"], value["mask"] = "0x010001", "0x070001"  # each key in whole octets
    switch = _switch(document, engine)
    (known,) = switch.value_sets.values()
    known.set([(Exact(0x4005),)])
    assert _good(switch, "00 4005 00 4005")
    assert not _good(switch, "00 4005 00 4006")
    assert _good(switch, "00 3ff1")
    assert not _good(switch, "00 3ff2")
    assert not _good(switch, "00 4006")


@pytest.mark.parametrize("value", [0, 1])
def test_a_parser_sets_whether_a_header_is_valid(document, engine: str, value: int) -> None:
    """As p4c copies headers: a field like any other."""
    states = _states(document)
    start = next(s for s in states.values() if any(op["op"] == "extract" for op in s["parser_ops"]))
    valid = {"type": "field", "value": ["second", "$valid$"]}
    start["parser_ops"].append({"op": "set", "parameters": [valid, {"type": "hexstr", "value": hex(value)}]})
    start["transitions"] = [{"type": "default", "value": None, "mask": None, "next_state": None}]
    ((_, frame),) = _switch(document, engine).process_one(0, bytes.fromhex("00 4005"))
    assert len(frame) == 3 + 3 * value


def test_states_may_have_the_names_that_p4_keeps_for_its_own(document, engine: str) -> None:
    states = list(_states(document).values())
    renamed = dict(zip((state["name"] for state in states), ("start", "accept", "start_", "accept_"), strict=False))
    document["parsers"][0]["init_state"] = renamed[document["parsers"][0]["init_state"]]
    for state in states:
        state["name"] = renamed[state["name"]]
        for transition in state["transitions"]:
            transition["next_state"] = renamed.get(transition["next_state"])
    assert _good(_switch(document, engine), "00 3ff1")


def test_booleans_in_headers_have_0_in_place_of_false(document, engine: str) -> None:
    """As p4c says that they have no sign."""
    types = {kind["name"]: kind for kind in document["header_types"]}
    fields = types[next(h["header_type"] for h in document["headers"] if h["name"] == "h")]["fields"]
    assert [field[2] for field in fields] == [False] * 3
    for field in fields:
        field[2] = 0
    assert not _good(_switch(document, engine), "00 4006")
    assert _good(_switch(document, engine), "00 3ff1")


def test_deep_expressions(document, engine: str) -> None:
    """A sum of a hundred terms is a hundred levels deep, each three of JSON."""
    value: dict[str, Any] = {"type": "field", "value": ["h", "kind"]}
    for _ in range(100):
        one = {"type": "hexstr", "value": "0x01"}
        value = {"type": "expression", "value": {"op": "+", "left": value, "right": one}}
    state = next(s for s in _states(document).values() if any(t["type"] == "hexstr" for t in s["transitions"]))
    place = {"type": "field", "value": ["h", "kind"]}
    state["parser_ops"].append({"op": "set", "parameters": [place, value]})
    ((_, frame),) = _switch(document, engine).process_one(0, bytes.fromhex("07 4006"))
    assert frame == bytes([107, 0x40, 0x06])


def test_metadata_of_variable_length(document, engine: str) -> None:
    """A local variable of type varbit is metadata for p4c: the packet's options go through it to another header."""
    number = len(document["header_types"])
    of_options = {"name": "options_t", "id": number, "fields": [["data", "*"]], "max_length": 8}
    document["header_types"].append(of_options)
    for name, metadata in (("options", False), ("kept", True), ("copied", False)):
        about = {"name": name, "id": len(document["headers"]), "header_type": "options_t", "metadata": metadata}
        document["headers"].append(about)
    state = next(s for s in _states(document).values() if any(t["type"] == "hexstr" for t in s["transitions"]))
    length = {"type": "expression", "value": {"type": "hexstr", "value": "0x10"}}
    header = {"type": "regular", "value": "options"}
    state["parser_ops"].append({"op": "extract_VL", "parameters": [header, length]})
    ways = [("kept", "options"), ("copied", "kept")]
    copies = [
        {"op": "assign_VL", "parameters": [{"type": "field", "value": [name, "data"]} for name in way]} for way in ways
    ]
    valid = {"op": "add_header", "parameters": [{"type": "header", "value": "copied"}]}
    state["parser_ops"] += [{"op": "primitive", "parameters": [call]} for call in (valid, *copies)]
    document["deparsers"][0]["order"] += ["options", "copied"]
    ((_, frame),) = _switch(document, engine).process_one(0, bytes.fromhex("00 4006 abcd 99"))
    assert frame == bytes.fromhex("00 4006 abcd abcd 99")


def test_an_error_that_the_document_does_not_list(document, engine: str) -> None:
    """p4c lists none for PSA, whose parsers verify all the same."""
    document["errors"] = []
    state = next(s for s in _states(document).values() if any(t["type"] == "hexstr" for t in s["transitions"]))
    no = {"type": "expression", "value": {"op": "not", "left": None, "right": {"type": "bool", "value": True}}}
    state["parser_ops"].append({"op": "verify", "parameters": [no, {"type": "hexstr", "value": "0x9"}]})
    switch = _switch(document, engine)
    assert not _good(switch, "00 3ff1")  # the parser ends before it can choose
    assert switch.stats.parse_errors == 1


def test_fields_of_no_bits(engine: str) -> None:
    """As p4c writes them: ``bit<0>`` in a header, as a key and as an action's parameter."""
    text = _PROGRAM.replace("bit<8> kind;", "bit<0> nothing; bit<8> kind;").replace(
        "    apply {}\n",
        """
    action mark(bit<0> x, bit<9> port) { hdr.h.nothing = x; s.egress_spec = port; }
    table t { key = { hdr.h.nothing: exact; hdr.h.kind: exact; } actions = { mark; NoAction; } }
    apply { t.apply(); }
""",
        1,
    )
    switch = _switch(to_json(load_text(text)), engine)
    switch.tables["I.t"].insert(TableEntry((Exact(0), Exact(7)), ActionData("I.mark", (0, 5))))
    assert switch.process_one(0, bytes.fromhex("07 4006 99")) == [(5, bytes.fromhex("07 4006 99"))]


def test_a_message_without_values(engine: str) -> None:
    """p4c writes an object in place of the list of values where a message has none."""
    text = _PROGRAM.replace("    apply {}\n", '    apply { log_msg("here"); }\n', 1)
    document = json.loads(json.dumps(to_json(load_text(text))))
    (call,) = (
        primitive
        for action in document["actions"]
        for primitive in action["primitives"]
        if primitive["op"] == "log_msg"
    )
    call["parameters"][1:] = [{"type": "parameters_vector", "value": {}}]
    assert _switch(document, engine).process_one(0, bytes.fromhex("07 4006"))


@pytest.mark.parametrize("whole", ["h", "standard_metadata"])
def test_a_message_with_a_header(engine: str, whole: str, caplog: pytest.LogCaptureFixture) -> None:
    """p4c passes the header, and bmv2 prints its fields; we write them into the text."""
    data = "hdr.h" if whole == "h" else "s"
    call = f'    apply {{ log_msg("{{}} {{}}", {{ {data}, s.ingress_port }}); }}\n'
    document = json.loads(json.dumps(to_json(load_text(_PROGRAM.replace("    apply {}\n", call, 1)))))
    (parameters,) = (
        primitive["parameters"]
        for action in document["actions"]
        for primitive in action["primitives"]
        if primitive["op"] == "log_msg"
    )
    texts = []
    for text in (parameters[0]["value"], "{} {}"):
        if text == "{} {}":
            parameters[0]["value"] = text
            parameters[1]["value"][:-1] = [{"type": "header", "value": whole}]
        caplog.clear()
        with caplog.at_level(logging.INFO, "offramp_p4"):
            _switch(document, engine).process_one(3, bytes.fromhex("07 4006"))
        texts.append(caplog.messages)
    assert texts[0] == texts[1]
    assert texts[0][0].startswith("(kind:7,a:2,b:6)" if whole == "h" else "(ingress_port:3,egress_spec:1,")
    assert texts[0][0].endswith(") 3")


def test_blocks_that_only_jump_to_each_other_end() -> None:
    out = {1: BasicBlock(1, end=Jump(2)), 2: BasicBlock(2, end=Jump(3)), 3: BasicBlock(3, end=Jump(2))}
    assert list(_threaded(out, 1)) == [2, 3]
    straight = {1: BasicBlock(1, end=Jump(2)), 2: BasicBlock(2, end=Jump(END))}
    assert _threaded(straight, 1) == {}
