# SPDX-License-Identifier: Apache-2.0
"""The STF runner: what it accepts, what it finds wrong, and how it says so."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_p4.frontend import load_text
from offramp_p4.stf import parse, run_stf
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import _FORMS, StfError
from p4_programs import program

TEXT = program(
    "sm.egress_spec = 1; t.apply(); n.count(0);",
    local="""
    counter(2, CounterType.packets) n;
    register<bit<8>>(4) r;
    action to(bit<9> port, bit<8> mark) { sm.egress_spec = port; hdr.h.b = mark; }
    table t {
        key = { hdr.h.a : ternary; hdr.h.c : lpm; hdr.s[1].b : exact; }
        actions = { to; NoAction; }
    }
    """,
)

PROGRAM = load_text(TEXT)


def wrong(stf: str, engine: str) -> list[str]:
    return [f"{m.where}: {m.message}" for m in run_stf(PROGRAM, stf, "t.stf", engine=engine).mismatches]


def test_keys_actions_and_wildcards(engine: str) -> None:
    stf = """
    # a comment
    add t 5 hdr.h.a:0x1* hdr.h.c:0x12** hdr.s$1.b:0 I.to(port:2, mark:0xAB) = first
    add t 9 h.a:0b0001**** to(mark:7, port:0b11)
    setdefault I.t to(port:4, mark:1)
    packet 0 11 00 12 34   # the second entry has the larger priority
    expect 3 11 07 1234 $
    PACKET 0 21 00 1234 ff
    EXPECT 4 2* 01 **34
    packet 0 21 00 1234
    expect 4
    wait
    check_counter n(0) packets == 3
    check_counter n(1)
    """
    assert wrong(stf, engine) == []


@pytest.mark.parametrize(
    ("stf", "message"),
    [
        ("packet 0 01020304\nexpect 1 0102030F", "t.stf:2: packet on port 1 differs at byte 3"),
        ("packet 0 01020304\nexpect 1 0102 $", "t.stf:2: packet on port 1 is 4 bytes, expected 2"),
        ("packet 0 01020304\nexpect 1 0102030405", "t.stf:2: packet on port 1 is 4 bytes, expected at least 5"),
        ("packet 0 01020304\nexpect 2 0102", "t.stf:2: no packet on port 2"),
        ("packet 1 01020304", "t.stf: unexpected packet on port 1"),
        ("packet 0 01020304\ncheck_counter n(0) packets > 1", "t.stf:2: counter n has 1 packets, expected > 1"),
    ],
)
def test_what_is_not_as_expected(engine: str, stf: str, message: str) -> None:
    assert wrong(stf, engine) == [message]


def test_packets_on_ports_that_nobody_mentions_do_not_matter(engine: str) -> None:
    result = run_stf(PROGRAM, "packet 0 01020304", "t.stf", engine=engine)
    assert (result.passed, result.sent, result.ignored) == (True, 1, 1)


@pytest.mark.parametrize(
    ("stf", "message"),
    [
        ("\n\nfly 1", "t.stf:3: unknown command fly"),
        ("packet x 00", "t.stf:1: expected a port after packet, found 'x'"),
        ("packet 0 0", "t.stf:1: packet data ends in the middle of a byte"),
        ("packet 0 0*", "t.stf:1: '*' is no packet data"),
        ("expect 0 0g", "t.stf:1: 'G' is no packet data"),
        ("add u to()", "t.stf:1: no table u; there are: I.t"),
        ("add t 1 hdr.h.z:1 to()", "t.stf:1: table I.t has no key hdr.h.z; there are: hdr.h.a, hdr.h.c, hdr.s[1].b"),
        ("add t 1 to(port:1)", "t.stf:1: action I.to needs mark"),
        ("add t 1 to(port:1, mark:1, x:2)", "t.stf:1: action I.to has no parameter x; it has: port, mark"),
        ("add t 1 to(port:512, mark:1)", "t.stf:1: table I.t, action I.to, port: 512 does not fit bit<9>"),
        ("add t 1 to(port:1", "t.stf:1: expected , in add, found the end of the line"),
        ("add t 1 to() !", "t.stf:1: unexpected '!'"),
        ("wait 1", "t.stf:1: unexpected '1' at the end of wait"),
        ("register_read r 9", "t.stf:1: register I.r: index 9 is outside 0..3"),
        ("mc_node_associate 1 0", "t.stf:1: no multicast group 1: mc_mgrp_create comes first"),
        ("mc_mgrp_create 1\nmc_node_associate 1 0", "t.stf:2: no multicast node 0: the first mc_node_create gives 0"),
        ("mirroring_get 4", "t.stf:1: no mirroring session 4"),
        ("check_counter n(7)", "t.stf:1: counter I.n: index 7 is outside 0..1"),
        ("check_counter n($x)", "t.stf:1: no entry is called x"),
    ],
)
def test_faulty_commands_name_file_and_line(engine: str, stf: str, message: str) -> None:
    with pytest.raises(OfframpError) as error:
        run_stf(PROGRAM, stf, "t.stf", engine=engine)
    assert str(error.value) == message


WORDS = [*_FORMS, "add", "setdefault", "remove", "all", "check_counter", "packet", "expect", "t", "r", "n", "I.to"]
WORDS += ["hdr.h.a", "port", "mark", "(", ")", ":", ",", "=", "==", "0", "1", "7", "0x1*", "0b0*", "99", "$", "/", "AB"]


@pytest.mark.full
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join), max_size=4).map("\n".join))
def test_any_text_runs_or_is_refused_with_its_line(stf: str) -> None:
    with contextlib.suppress(StfError):
        run_stf(PROGRAM, stf, "t.stf")


def test_every_command_has_an_implementation() -> None:
    for name in [*_FORMS, "add", "setdefault", "remove", "check_counter"]:
        assert hasattr(StfControl, f"_do_{name}")
    assert [c.name for c in parse("remove all\nremove_all\nset_default t a()", "f")] == ["remove"] * 2 + ["setdefault"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, Path]:
    (tmp_path / "t.p4").write_text(TEXT)
    (tmp_path / "t.stf").write_text("packet 0 01020304\nexpect 1 01020304")
    return str(tmp_path / "t.p4"), str(tmp_path / "t.stf"), tmp_path


@pytest.mark.full
def test_command_line(files: tuple[str, str, Path]) -> None:
    p4, stf, folder = files
    out = folder / "out.json"
    run = CliRunner().invoke(app, ["switch", "stf", p4, stf, "--json", str(out)])
    assert run.exit_code == 0
    assert "t.p4 t.stf: passed (1 packets sent, 1 received, 1 checks)" in run.stdout
    outcome = json.loads(out.read_text())
    assert (outcome["passed"], outcome["stats"]["packets_out"]) == (True, 1)


@pytest.mark.full
def test_command_line_shows_the_bytes_that_differ(files: tuple[str, str, Path]) -> None:
    p4, stf, folder = files
    (folder / "t.stf").write_text("packet 0 01020304\nexpect 1 01FF0304")
    run = CliRunner().invoke(app, ["switch", "stf", p4, stf])
    assert run.exit_code == 1
    assert "expected 01 FF 03 04" in run.stdout
    assert "received 01 02 03 04" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{p4}", "{folder}/none.stf"], "none.stf: cannot be read"),
        (["{folder}/none.p4", "{stf}"], "cannot read the program"),
        (["{p4}", "{stf}", "--define", "1x"], "--define 1x: expected NAME or NAME=VALUE"),
        (["{p4}", "{stf}", "--json", "{folder}"], "cannot be written"),
    ],
)
def test_command_line_faults(files: tuple[str, str, Path], arguments: list[str], message: str) -> None:
    p4, stf, folder = files
    words = [a.format(p4=p4, stf=stf, folder=folder) for a in arguments]
    run = CliRunner().invoke(app, ["switch", "stf", *words])
    assert isinstance(run.exception, OfframpError)
    assert message in str(run.exception)


@pytest.mark.parametrize(
    "line",
    [
        "packet " + "9" * 5000 + " 00",
        "packet ² 00",
        "add t " + "9" * 5000 + " k:1 a()",
        "check_counter c(0) = 1",
        "meter_set_rates m 0 0x10:1",
        "meter_set_rates m 0 1.0x1:1",
    ],
)
def test_what_is_no_number_or_relation_is_refused_at_its_line(line):
    with pytest.raises(OfframpError, match=r"^f.stf:1: "):
        run_stf(load_text(program("")), line, "f.stf")
