# SPDX-License-Identifier: Apache-2.0
"""The tools of ``offramp switch`` as they are typed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from offramp.p4src import p4_root
from offramp_base.errors import OfframpError
from offramp_base.p4rt import p4info
from offramp_cli.app import app
from offramp_p4 import doctor
from offramp_p4.frontend import load_pushed
from offramp_p4.state import ActionData, Exact, GroupAction, TableEntry
from offramp_p4.switch import Switch
from offramp_p4.trace.alternatives import alternatives

PROGRAM = str(p4_root() / "examples/reflector.p4")
TABLES = Path(__file__).parents[2] / "p4/stf/tables.p4"


def run(*args: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["switch", *map(str, args)], env={"COLUMNS": "200"})
    if isinstance(result.exception, OfframpError):
        raise result.exception
    return result.exit_code, result.output


def test_trace_of_a_packet(tmp_path: Path) -> None:
    lines = tmp_path / "trace.jsonl"
    code, shown = run("trace", PROGRAM, "--packet", "1:0102030405060708090a0b0c0800", "--json", lines)
    assert code == 0
    assert "out at port 1: 14 bytes 0708090a0b0c0102030405060800" in shown
    (line,) = lines.read_text().splitlines()
    assert json.loads(line)["spans"][1]["output"] == {"port": 1, "data": "0708090a0b0c0102030405060800"}


def test_trace_of_an_stf_test_with_entries(tmp_path: Path) -> None:
    entries = tmp_path / "entries.stf"
    entries.write_text("setdefault nowhere none()\n")
    code, shown = run("trace", TABLES, "--stf", TABLES.with_suffix(".stf"))
    assert code == 0
    assert "table TestIngress.exactly" in shown
    with pytest.raises(OfframpError, match=r"entries\.stf:1: no table nowhere"):
        run("trace", TABLES, "--stf", TABLES.with_suffix(".stf"), "--entries", entries)


SELECTED = """
#include <v1model.p4>
header h_t { bit<8> a; } struct headers { h_t h; } struct meta { }
parser P(packet_in pkt, out headers hdr, inout meta m, inout standard_metadata_t s) {
    state start { pkt.extract(hdr.h); transition accept; }
}
control V(inout headers hdr, inout meta m) { apply { } }
control I(inout headers hdr, inout meta m, inout standard_metadata_t s) {
    action to(bit<9> port) { s.egress_spec = port; }
    action mark(bit<8> a) { hdr.h.a = a; }
    action_selector(HashAlgorithm.crc16, 32w16, 32w14) ports;
    action_selector(HashAlgorithm.crc16, 32w16, 32w14) marks;
    table t { key = { hdr.h.a: exact; hdr.h.a: selector; } actions = { to; } implementation = ports; }
    table u { key = { hdr.h.a: exact; hdr.h.a: selector; } actions = { mark; } implementation = marks; }
    apply { t.apply(); if (s.egress_spec != 3) { u.apply(); } }
}
control E(inout headers hdr, inout meta m, inout standard_metadata_t s) { apply { } }
control D(packet_out pkt, in headers hdr) { apply { pkt.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


def test_every_way_through_selectors() -> None:
    program = load_pushed(SELECTED, "selected.p4")

    def make(sink):
        switch = Switch(program, trace=sink)
        for profile, table, actions in (
            ("I.ports", "I.t", [ActionData("I.to", (port,)) for port in (1, 2, 3)]),
            ("I.marks", "I.u", [ActionData("I.mark", (value,)) for value in (7, 8)]),
        ):
            state = switch.profiles[profile]
            for number, action in enumerate(actions, 1):
                state.insert_member(number, action)
            state.insert_group(1, [1, 1, *range(2, len(actions) + 1)])  # the first has weight 2
            switch.tables[table].insert(TableEntry((Exact(5),), GroupAction(1)))
        return switch

    traces = list(alternatives(make, (0, b"\5")))
    sent = [span.output for trace in traces for span in trace.spans if span.output]
    assert sorted(sent) == [(1, b"\7"), (1, b"\x08"), (2, b"\7"), (2, b"\x08"), (3, b"\5")]
    with pytest.raises(OfframpError, match="--all: expected with --packet"):
        run("trace", TABLES, "--stf", TABLES.with_suffix(".stf"), "--all")
    code, shown = run("trace", PROGRAM, "--packet", "1:0102030405060708090a0b0c0800", "--all")
    assert (code, shown.count("out at port 1")) == (0, 1)


@pytest.mark.parametrize("packet", ["1", "x:00", "1:0", "600:00", "-1:00"])
def test_what_is_no_packet(packet: str) -> None:
    with pytest.raises(OfframpError, match=f"--packet {packet}: expected PORT:HEX"):
        run("trace", PROGRAM, f"--packet={packet}")


def test_trace_of_nothing() -> None:
    with pytest.raises(OfframpError, match="--packet: expected PORT:HEX, or --stf FILE"):
        run("trace", PROGRAM)


@pytest.mark.full
@pytest.mark.parametrize(("engine", "ran"), [("auto", "native"), ("native", "native"), ("python", "python")])
def test_stf_on_an_engine(engine: str, ran: str, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    code, shown = run("stf", TABLES, TABLES.with_suffix(".stf"), "--engine", engine, "--json", result)
    assert code == 0
    assert "tables.p4 tables.stf: passed" in shown
    assert json.loads(result.read_text())["engine"] == ran


def test_stf_on_an_engine_that_there_is_not() -> None:
    with pytest.raises(OfframpError, match="--engine x: expected one of auto, native, python"):
        run("stf", TABLES, TABLES.with_suffix(".stf"), "--engine", "x")


@pytest.mark.parametrize("words", [(), ("--stdio", "--listen", "127.0.0.1:0")])
def test_a_debugger_has_one_way_to_its_editor(words: tuple[str, ...]) -> None:
    with pytest.raises(OfframpError, match="expected either --stdio or --listen ADDRESS"):
        run("debug", PROGRAM, *words)


def test_what_a_switch_with_a_debugger_cannot_have() -> None:
    for words in (("--log-console",), ("--trace", "t"), ("--priority-queues", "2")):
        with pytest.raises(OfframpError, match="--debug"):
            run("run", PROGRAM, "--debug", "127.0.0.1:0", *words)
    with pytest.raises(OfframpError, match="other machines reach this address"):
        run("run", PROGRAM, "--debug", "0.0.0.0:0", "--grpc-server-addr", "127.0.0.1:0")


def test_p4info(tmp_path: Path) -> None:
    output = tmp_path / "info.txtpb"
    assert run("p4info", TABLES, "-o", output)[0] == 0
    text = run("p4info", TABLES)[1]
    assert output.read_text() == text
    assert [t.preamble.name for t in p4info.parse(text).tables][:1] == ["TestIngress.exactly"]
    assert json.loads(run("p4info", TABLES, "--json")[1])["pkg_info"]["arch"] == "v1model"


def test_lint_is_strict_when_asked() -> None:
    code, shown = run("lint", TABLES)
    assert code == 0
    assert "[table-size]" in shown
    assert run("lint", "--strict", TABLES)[0] == 1
    assert run("lint", "--strict", PROGRAM) == (0, f"{PROGRAM}: no warnings\n")


def test_doctor_finds_what_this_test_runs_on() -> None:
    code, shown = run("doctor")
    assert code == 0
    assert "protobuf" in shown
    assert "interfaces" in shown


@pytest.mark.full
def test_fuzz_counts(tmp_path: Path) -> None:
    output = tmp_path / "fuzz.json"
    code, _ = run("fuzz", "--against", "traced", "--trials", 1, "--json", output, "-o", tmp_path)
    assert code == 0
    counts = json.loads(output.read_text())
    assert (counts["programs"], counts["findings"]) == (1, 0)
    with pytest.raises(OfframpError, match="--against x: expected one of native, traced, bmv2"):
        run("fuzz", "--against", "x")


def test_the_shell_does_not_see_the_environment_of_this_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython would warn of it; the rest of the surroundings stays."""
    seen: dict[str, str] = {}

    def finish(words: list[str], *, env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        seen.update(env)
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr("offramp_base.Session", Mock())
    monkeypatch.setattr("offramp_base.tools.ensure", lambda *_: Path("python"))
    monkeypatch.setattr("offramp_cli.switch.shell.subprocess.run", finish)
    monkeypatch.setenv("VIRTUAL_ENV", "/somewhere/.venv")
    assert run("shell")[0] == 0
    assert "VIRTUAL_ENV" not in seen
    assert seen["PATH"]


def test_doctor_says_once_what_unshare_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("unshare", "ip"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (check,) = (each for each in doctor.checks() if each.name == "veth pairs")
    assert (check.ok, check.found) == (False, "unshare failed: Operation not permitted")
