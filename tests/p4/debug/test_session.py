# SPDX-License-Identifier: Apache-2.0
"""Conversations with the debugger as an editor has them, over the standard streams and over a socket."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dap_client import DapClient, Refused, over_socket, over_stdio
from debugged import PROGRAM, STF, line
from offramp_base.wire import pcap
from offramp_p4_tools.debug.debugger import Debugger
from offramp_p4_tools.debug.launch import Launch, ProgramLauncher
from offramp_p4_tools.debug.server import DebugServer

pytestmark = pytest.mark.p4
LAUNCH = {"program": str(PROGRAM), "stf": str(STF)}


@contextlib.contextmanager
def listening() -> Iterator[DapClient]:
    server = DebugServer("127.0.0.1:0", lambda: ProgramLauncher(Debugger(), Launch()))
    try:
        with over_socket(str(server.address)) as client:
            yield client
    finally:
        server.close()


@pytest.fixture(params=[over_stdio, listening], ids=["stdio", "socket"])
def anywhere(request: pytest.FixtureRequest) -> Iterator[DapClient]:
    with request.param() as client:
        yield client


@pytest.fixture
def client() -> Iterator[DapClient]:
    with listening() as client:
        yield client


@pytest.mark.full
def test_a_session(anywhere: DapClient) -> None:
    """State, table and action hold; headers, metadata and a register are looked at and changed; it goes on."""
    client = anywhere
    client.start(
        "launch",
        **LAUNCH,
        lines={PROGRAM: [{"line": line("state tag")}, {"line": line("table hosts")}, {"line": line("egress_spec =")}]},
    )
    assert client.stop() == ("breakpoint", "table I.hosts", line("table hosts"))
    assert [f["name"] for f in client.stack()] == ["table I.hosts", "control I"]
    assert client.go() == ("breakpoint", "action I.forward", line("egress_spec ="))
    frames = client.stack()
    assert [(f["name"], f["line"]) for f in frames] == [
        ("action I.forward", line("egress_spec =")),
        ("table I.hosts", line("table hosts")),
        ("control I", line("hosts.apply")),
    ]
    assert frames[0]["source"]["path"] == str(PROGRAM)
    variables = client.scope("Variables")
    assert variables["port"]["value"] == "3"
    headers = client.variables(variables["hdr"]["variablesReference"])
    ethernet = client.variables(headers["ethernet"]["variablesReference"])
    assert [(n, v["value"]) for n, v in ethernet.items()] == [
        ("isValid()", "true"),
        ("dst", "0x112233445566"),
        ("src", "0xaabbccddeeff"),
        ("type", "0x800"),
    ]
    metadata = client.variables(variables["meta"]["variablesReference"])
    assert (metadata["seen"]["value"], metadata["level"]["value"], metadata["known"]["value"]) == ("1", "-2", "false")
    registers = client.scope("Registers")["I.counts"]
    assert registers["indexedVariables"] == 5000
    page = client.variables(registers["variablesReference"], start=6, count=3)
    assert {name: each["value"] for name, each in page.items()} == {"[6]": "0", "[7]": "1", "[8]": "0"}
    reference = registers["variablesReference"]
    assert client.request("setVariable", variablesReference=reference, name="[7]", value="40 + 1")["value"] == "0x29"
    reference = headers["ethernet"]["variablesReference"]
    assert client.request("setVariable", variablesReference=reference, name="src", value="5")["value"] == "5"
    assert client.go("next") == ("step", "action I.forward", line("meta.known = true"))
    assert client.go("stepOut")[1] == "control E"
    assert client.go() == ("breakpoint", "state P.tag", line("state tag"))
    assert client.go() == ("breakpoint", "table I.hosts", line("table hosts"))
    assert client.evaluate("meta.seen") == "0x2a"
    client.request("setBreakpoints", source={"path": str(PROGRAM)}, breakpoints=[])
    client.request("continue", threadId=1)
    client.event("terminated")
    output = [e["body"]["output"] for e in client.seen if e["event"] == "output"]
    assert output == [
        "port 3: 112233445566000000000005080001cafe\n",
        "port 3: 112233445566aabbccddeeff8100000508002abeef\n",
    ]
    client.request("disconnect")


def test_steps_go_in_over_and_out_of_what_is_called(client: DapClient) -> None:
    client.start("launch", **LAUNCH, stopOnEntry=True)
    assert client.stop()[:2] == ("entry", "parser P")
    assert client.go("stepIn")[1] == "state P.start"
    assert client.go("next") == ("step", "state P.start", line("extract(hdr.ethernet)"))
    assert client.go("next") == ("step", "state P.start", 22)
    assert client.go("next")[1] == "control V"
    assert client.go("next")[1] == "control I"
    while client.go("next")[2] != line("hosts.apply"):
        pass
    assert client.go("stepIn")[1] == "table I.hosts"
    assert client.go("stepIn") == ("step", "action I.forward", line("action forward"))
    assert client.go("stepOut")[1] == "control E"
    packet = client.scope("Packet")
    assert (packet["number"]["value"], packet["port"]["value"], packet["cursor"]["value"]) == ("0", "1", "byte 14")
    assert (packet["parsed"]["value"], packet["payload"]["value"]) == ("112233445566aabbccddeeff0800", "cafe")
    assert client.go("nextPacket")[1] == "parser P"
    assert client.scope("Packet")["number"]["value"] == "1"


def test_names_conditions_counts_and_messages(client: DapClient) -> None:
    known = line("sm.egress_spec = port")
    seen = line("meta.seen = now")
    client.start(
        "launch",
        **LAUNCH,
        lines={
            PROGRAM: [
                {"line": seen, "condition": "hdr.tags[0].isValid() && hdr.tags[0].id == 16w5"},
                {"line": known, "hitCondition": ">= 3"},
                {"line": line("else if"), "logMessage": "now is {now}, type {hdr.ethernet.type}, {hdr.tags[2]}"},
            ]
        },
    )
    assert client.stop()[2] == seen
    assert client.evaluate("now == 2 ? 8w1 : 8w0") == "1"
    output = [e["body"]["output"] for e in client.seen if e["event"] == "output"]
    assert output[0] == "now is 1, type 0x800, invalid\n"
    placed = client.request("setFunctionBreakpoints", breakpoints=[{"name": "drop"}, {"name": "nothing"}])[
        "breakpoints"
    ]
    assert [each["verified"] for each in placed] == [True, False]
    assert client.go()[:2] == ("function breakpoint", "action I.drop")


def test_what_is_wrong_with_a_breakpoint_is_said(client: DapClient) -> None:
    client.start("launch", **LAUNCH, stopOnEntry=True)
    client.stop()
    wanted = [
        {"line": 100000},
        {"line": line("meta.seen = now"), "condition": "sene == 1"},
        {"line": line("meta.seen = now"), "condition": "now + 1"},
        {"line": line("meta.seen = now"), "condition": "hosts.apply().hit"},
        {"line": line("meta.seen = now"), "hitCondition": "often"},
    ]
    answers = client.request("setBreakpoints", source={"path": str(PROGRAM)}, breakpoints=wanted)["breakpoints"]
    assert [each["verified"] for each in answers] == [False] * 5
    messages = [each["message"] for each in answers]
    assert messages[0] == "no statement stands here or below"
    assert "'sene' is not declared" in messages[1]
    assert "bool" in messages[2]
    assert "'hosts' is not declared" in messages[3]
    assert "expected a count" in messages[4]
    moved = client.request("setBreakpoints", source={"path": str(PROGRAM)}, breakpoints=[{"line": 1}])["breakpoints"]
    assert moved[0]["line"] == line("parser P(")


def test_errors_and_drops_are_held_where_they_happen(client: DapClient) -> None:
    client.request("initialize", adapterID="offramp")
    client.request("launch", **LAUNCH)
    client.event("initialized")
    client.request("setExceptionBreakpoints", filters=["errors", "drops"])
    client.request("configurationDone")
    assert client.stop()[:2] == ("exception", "control I")
    assert "drop port, after ingress" in client.request("exceptionInfo", threadId=1)["description"]
    assert client.scope("Packet")["number"]["value"] == "2"
    assert client.go() == ("exception", "state P.start", line("extract(hdr.ethernet)"))
    assert client.request("exceptionInfo", threadId=1)["exceptionId"] == "parser error: PacketTooShort"
    assert client.evaluate("hdr.ethernet.isValid()") == "false"
    assert client.go()[0] == "exception"  # the drop of the same packet


def test_values_of_every_type_and_setting_them(client: DapClient) -> None:
    client.start(
        "launch", **LAUNCH, lines={PROGRAM: [{"line": line("value = (bit<8>)"), "condition": "meta.seen == 2"}]}
    )
    client.stop()
    variables = client.scope("Variables")
    headers = client.variables(variables["hdr"]["variablesReference"])
    assert headers["tags"]["value"] == "tag_t[3], next 1"
    assert headers["either"]["value"] == "small valid"
    assert client.variables(headers["tags"]["variablesReference"])["[0]"]["value"] == "valid"
    metadata = client.variables(variables["meta"]["variablesReference"])
    assert metadata["kind"]["value"] == "Kind.tagged"
    assert metadata["kind"]["evaluateName"] == "meta.kind"

    def put(place: str, value: str) -> str:
        return str(client.request("setExpression", expression=place, value=value, frameId=1)["value"])

    assert put("meta.kind", "Kind.plain") == "Kind.plain"
    assert put("meta.level", "-1") == "-1"
    assert put("meta.level[3:0]", "0") == "0"
    assert client.evaluate("meta.level") == "-0x10"
    assert put("hdr.tags[0].isValid()", "false") == "false"
    assert put("hdr.either.large", "{7}") == "valid"
    assert client.evaluate("hdr.either") == "large valid"
    assert put("meta.seen", "(bit<32>)TAGGED") == "0x8100"
    for place, value, message in (
        ("meta.seen", "true", "bit<32>"),
        ("meta.seen", "4294967296 ++", "expected"),
        ("meta.seen + 1", "2", "cannot be set"),
        ("nobody", "2", "not declared"),
    ):
        with pytest.raises(Refused, match=message.replace("+", r"\+")):
            put(place, value)
    assert client.evaluate("I.hosts") == "1 entries"
    assert client.evaluate("counts") == "5000 of bit<32>"
    tables = client.scope("Tables")
    table = client.variables(tables["I.hosts"]["variablesReference"])
    entries = client.variables(table["entries"]["variablesReference"])
    assert entries["[0]"]["value"] == "hdr.ethernet.dst=0x112233445566 -> I.forward(port=3)"
    assert table["default"]["value"] == "I.drop()"
    assert client.variables(client.scope("Counters")["I.arrived"]["variablesReference"])["[2]"]["value"] == (
        "1 packets, 20 bytes"
    )
    client.request("setBreakpoints", source={"path": str(PROGRAM)}, breakpoints=[])
    client.request("continue", threadId=1)
    client.event("terminated")
    output = [e["body"]["output"] for e in client.seen if e["event"] == "output"]
    assert output[1] == "port 3: 112233445566aabbccddeeff81000007beef\n"


def test_requests_out_of_place_are_refused(client: DapClient) -> None:
    with pytest.raises(Refused, match="no packet is held"):
        client.request("stackTrace", threadId=1)
    with pytest.raises(Refused, match="nothing runs here"):
        client.request("attach")
    with pytest.raises(Refused, match="no request 'fly'"):
        client.request("fly")
    with pytest.raises(Refused, match="cannot read the program"):
        client.request("launch", program="nowhere.p4")
    with pytest.raises(Refused, match="PORT:HEX"):
        client.request("launch", program=str(PROGRAM), packets=["x"])
    for capture, message in (("nowhere.pcap", "No such file"), (str(PROGRAM), "expected a capture in the format pcap")):
        with pytest.raises(Refused, match=message):
            client.request("launch", program=str(PROGRAM), pcap=capture)
    client.start("launch", **LAUNCH, stopOnEntry=True)
    client.stop()
    with pytest.raises(Refused, match="once"):
        client.request("launch", **LAUNCH)
    for arguments in ({"variablesReference": 99}, {"variablesReference": -1}, {"variablesReference": "1"}, {}):
        with pytest.raises(Refused, match=r"variablesReference|no reference"):
            client.request("variables", **arguments)
    with pytest.raises(Refused, match="expected a whole number from 0"):
        client.request("setBreakpoints", source={"path": str(PROGRAM)}, breakpoints=[{"line": -5}])
    with pytest.raises(Refused, match="more than 2000 characters"):
        client.evaluate("1+" * 2000)
    with pytest.raises(Refused, match="nested too deeply"):
        client.evaluate("(" * 1999)


def test_a_pause_holds_the_next_packet_whether_it_comes_from_a_capture_or_as_digits(
    client: DapClient, tmp_path: Path
) -> None:
    capture = tmp_path / "in.pcap"
    pcap.write(capture, [(0, bytes(14)), (0, bytes(20))])
    client.request("initialize", adapterID="offramp")
    client.request("launch", program=str(PROGRAM), pcap=str(capture), port=5, packets=["1:" + "00" * 14])
    client.event("initialized")
    client.request("pause", threadId=1)
    client.request("configurationDone")
    assert client.stop()[:2] == ("pause", "parser P")
    assert client.scope("Packet")["port"]["value"] == "5"
    assert client.go("nextPacket")[0] == "step"
    assert client.go("nextPacket")[0] == "step"
    assert client.scope("Packet")["port"]["value"] == "1"
    client.request("terminate")
