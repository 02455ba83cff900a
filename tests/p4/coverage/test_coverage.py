# SPDX-License-Identifier: Apache-2.0
"""P4 programs under pytest: the fixture, its tables and packets, and what tests have run, as LCOV."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.bench_top import TestedSwitch, named, number
from offramp_p4.coverage import Coverage, lcov, summary
from offramp_p4.frontend import load
from offramp_p4.switch import Switch

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.p4

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<32> a; bit<8> kind; bit<8> rest; }
struct headers { h_t h; h_t more; }
struct meta { }
parser P(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        b.extract(h.h);
        transition select(h.h.kind) { 7 : deep; default : accept; }
    }
    state deep {
        b.extract(h.more);
        transition accept;
    }
}
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action forward(bit<9> port) { s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table routes {
        key = { h.h.a : lpm @name("dst"); }
        actions = { forward; drop; }
        default_action = drop();
    }
    table kinds {
        key = { h.h.kind : ternary; h.h.rest : range; }
        actions = { NoAction; drop; }
        const entries = {
            (1, 0..3) : NoAction();
            (2 &&& 2, _) : drop();
        }
    }
    apply {
        routes.apply();
        if (h.more.isValid()) {
            h.h.rest = 1;
        } else {
            h.h.rest = 2;
        }
        kinds.apply();
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in headers h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "routes.p4"
    path.write_text(PROGRAM)
    return path


def frame(address: str, kind: int, more: bytes = b"") -> bytes:
    return bytes(int(part) for part in address.split(".")) + bytes([kind, 9]) + more


def test_tables_by_name_and_packets_by_bytes(program: Path) -> None:
    switch = TestedSwitch(program, engine="python")
    routes = switch.table("routes")
    routes.add("10.0.0.0/8", action="forward", port=3)
    routes.add(("10.1.0.0", 16), action="I.forward", port="0x4")
    assert len(routes) == 2
    assert switch.send(1, frame("10.2.3.4", 0)) == [(3, frame("10.2.3.4", 0)[:5] + b"\2")]
    switch.expect(1, frame("10.1.3.4", 0), (4, frame("10.1.3.4", 0)[:5] + b"\2"))
    switch.expect(1, frame("11.0.0.1", 0))
    routes.default("forward", port=5)
    assert switch.send(1, frame("11.0.0.1", 0))[0][0] == 5
    routes.clear()
    routes.add(match={"dst": None}, action="drop")
    switch.expect(1, frame("11.0.0.1", 0))


def test_faults_are_named(program: Path) -> None:
    switch = TestedSwitch(program, engine="python")
    routes = switch.table("routes")
    for wrong, message in (
        (lambda: switch.table("ways"), "table 'ways': expected one of I.routes, I.kinds"),
        (lambda: routes.add(1, 2, action="drop"), "expected 1 keys (dst)"),
        (lambda: routes.add("x", action="drop"), "dst 'x': expected a number or an address"),
        (lambda: routes.add(1, action="fly"), "action of table I.routes 'fly': expected one of I.forward, I.drop"),
        (lambda: routes.add(1, action="forward"), "action I.forward: expected port"),
        (lambda: routes.add(1, action="drop", port=1), "action I.drop: expected no parameters"),
        (lambda: routes.add(1, match={"dst": 1}, action="drop"), "in order or by name, not both"),
    ):
        with pytest.raises(OfframpError) as error:
            wrong()
        assert message in str(error.value)
    routes.default("forward", port=1)
    for leaving, message in (
        (((2, b""),), "packet 1: expected on port 2, left by port 1"),
        (((1, frame("1.1.1.1", 0)),), "packet 1: byte 5: expected 09, got 02"),
        ((), "expected 0 packets, got 1 (by port: 1)"),
    ):
        with pytest.raises(AssertionError) as failed:
            switch.expect(1, frame("1.1.1.1", 0), *leaving)
        assert message in str(failed.value)


def test_numbers() -> None:
    assert number("10.0.0.1", "x") == 0x0A000001
    assert number("00:11:22:33:44:55", "x") == 0x001122334455
    assert number("fe80::1", "x") == 0xFE80 << 112 | 1
    assert number(b"\1\2", "x") == number("0x102", "x") == number(258, "x")
    assert named({"a.b": 1, "a.c": 2}, "b", "thing") == 1


def test_what_was_run_is_counted(program: Path) -> None:
    loaded = load(program)
    coverage = Coverage(loaded)
    switch = Switch(loaded, trace=coverage)
    for kind in (0, 1, 1):
        switch.process_one(1, frame("1.2.3.4", kind))
    by_name = {(p.kind, p.of, p.name): p.count for p in coverage.parts}
    assert by_name["state", "", "P.start"] == 3
    assert by_name["state", "", "P.deep"] == 0
    assert by_name["select", "P.start", "accept"] == 3
    assert by_name["select", "P.start", "deep"] == 0
    assert by_name["action", "", "I.drop"] == 3
    assert by_name["action", "", "I.forward"] == 0
    assert by_name["outcome", "I.routes", "miss"] == 3
    assert by_name["outcome", "I.kinds", "hit"] == 2
    assert sorted(count for (kind, *_), count in by_name.items() if kind == "entry") == [0, 2]
    assert sorted(count for (kind, *_), count in by_name.items() if kind == "branch") == [0, 3]
    taken, other = (1 + PROGRAM.splitlines().index(f"            h.h.rest = {n};") for n in (1, 2))
    assert coverage.lines[str(program), taken] == 0
    assert coverage.lines[str(program), other] == 3


def test_lcov_adds_runs_up(program: Path) -> None:
    loaded = load(program)
    runs = [Coverage(loaded), Coverage(loaded)]
    for run, kind in zip(runs, (0, 7), strict=True):
        Switch(loaded, trace=run).process_one(1, frame("1.2.3.4", kind, bytes(6)))
    text = lcov(runs, "both").splitlines()
    assert text[0] == "TN:both"
    assert text[1] == f"SF:{program}"
    assert text[-1] == "end_of_record"
    assert text.count("end_of_record") == 1, "built-in headers are left out"
    assert "FNDA:1,P.deep" in text
    assert "FNDA:2,P.start" in text
    counts = dict(line.split(":") for line in text[2:-1] if line[:2] in {"LF", "LH", "BR", "FN"} and "," not in line)
    assert counts["LH"] == str(int(counts["LF"]) - 2), "nothing was forwarded, and so nothing deparsed"
    assert sum(line.startswith("DA:") for line in text) == int(counts["LF"])
    assert sum(line.startswith("BRDA:") for line in text) == int(counts["BRF"])
    words = list(summary(runs))
    assert f"lines {counts['LH']} of {counts['LF']}" in words[0]
    assert any("never: action I.forward" in line for line in words)


def test_the_fixture_and_the_option(pytester: pytest.Pytester, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (pytester.path / "routes.p4").write_text(PROGRAM)
    pytester.makepyfile(
        """
        def test_one(p4_switch):
            switch = p4_switch("routes.p4")
            switch.table("routes").add("10.0.0.0/8", action="forward", port=3)
            assert switch.send(1, bytes([10, 0, 0, 1, 0, 0]))[0][0] == 3
        """
    )
    result = pytester.runpytest_inprocess("-p", "offramp_p4.pytest", "--p4-coverage", "out.info")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*coverage of P4 programs*", "*routes.p4: lines * of *, states 1 of 2*"])
    assert "FNDA:1,I.forward" in (pytester.path / "out.info").read_text()
    assert program.exists()
