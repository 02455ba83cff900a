# SPDX-License-Identifier: Apache-2.0
"""The resource report: against p4c's Tofino back end, and each kind of dependency and limit by itself.

The probes' stages are measured (p4c-barefoot 9.13.4: these very programs take 13, 13 and 11). Blind spot: packing of
memories and containers is an estimate of our own, checked only where the probes depend on it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp_cli.switch.resources import resources
from offramp_p4.frontend import load, load_text
from offramp_p4.source import P4Error, Unsupported
from offramp_p4.tna.resources import ResourceReport, estimate
from p4_programs import program
from tna_programs import tna

pytestmark = pytest.mark.p4

PROBES = Path(__file__).parent / "probes"


def report(body: str = "", **parts: str) -> ResourceReport:
    (usage,) = estimate(load_text(tna(body, **parts), "prog.p4"))
    return usage


@pytest.mark.parametrize(("name", "stages", "over"), [("a", 13, 1), ("b", 13, 1), ("c", 11, 0)])
def test_the_measured_probes(name: str, stages: int, over: int) -> None:
    (usage,) = estimate(load(PROBES / f"probe_{name}.p4"))
    assert (len(usage.stages), usage.over_by, usage.fits) == (stages, over, not over)
    assert sum(len(s.stateful) == 4 for s in usage.stages) == 8  # 32 lanes, 4 stateful ALUs a stage
    assert usage.problems == (["13 stages are needed, Tofino has 12: 1 too many"] if over else [])


@pytest.mark.full
def test_the_critical_chain_of_probe_a() -> None:
    (usage,) = estimate(load(PROBES / "probe_a.p4"))
    assert [(link.stage, link.table.removeprefix("pipe.Ingress.")) for link in usage.chain[:5]] == [
        (0, "slots"), (1, "seen"), (2, "tags"), (3, "lefts"), (4, "operation"),
    ]  # fmt: skip
    last = usage.chain[-1]
    assert last.stage == 12
    assert last.reason == (
        "match dependency on pipe.Ingress.operation: matches on md.code; no stateful ALUs left in stages 5 to 11"
    )
    assert usage.chain[0].place.endswith("frame.p4:63")


TABLES = """
    action x(bit<8> v) {{ hdr.h.a = v; }}
    action y(bit<8> v) {{ hdr.h.b = {y}; }}
    table first {{ key = {{ hdr.h.w: exact; }} actions = {{ x; NoAction; }} default_action = NoAction; }}
    table second {{ key = {{ {key}: exact; }} actions = {{ y; NoAction; }} default_action = NoAction; }}
"""
BOTH = "first.apply(); second.apply();"
# (the apply block, the second table's key, what its action computes, stages, what the chain says)
DEPENDENCIES = [
    (BOTH, "hdr.h.c", "v", 1, "nothing holds it back"),
    (BOTH, "hdr.h.a", "v", 2, "match dependency on pipe.I.first: matches on hdr.h.a"),
    (BOTH, "hdr.h.c", "v + hdr.h.a", 2, "action dependency on pipe.I.first: computes with hdr.h.a"),
    ("if (first.apply().hit) { second.apply(); }", "hdr.h.c", "v", 1, "nothing holds it back"),
    ("first.apply(); if (hdr.h.a == 1) { second.apply(); }", "hdr.h.c", "v", 2,
     "match dependency on pipe.I.first: matches on hdr.h.a"),
    ("if (hdr.h.w == 1) { first.apply(); } else { second.apply(); }", "hdr.h.a", "v", 1, "nothing holds it back"),
    ("second.apply(); first.apply();", "hdr.h.a", "v", 1, "nothing holds it back"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "key", "y", "stages", "expected"), DEPENDENCIES)
def test_dependencies(body: str, key: str, y: str, stages: int, expected: str) -> None:
    usage = report(body, local=TABLES.format(key=key, y=y))
    assert len(usage.stages) == stages
    assert usage.chain[-1].reason == expected


AFTER = """
    action x() { hdr.h.a = 1; } action y() { hdr.h.b = 1; }
    table first { key = { hdr.h.w: exact; } actions = { x; @defaultonly NoAction; } const default_action = NoAction; }
    table second { key = { hdr.h.a: exact; } actions = { y; NoAction; } default_action = NoAction; }
"""
# (the apply block, stages): only the actions that lead to a table are before it.
OUTCOMES = [
    ("if (first.apply().hit) { second.apply(); }", 2),
    ("if (first.apply().miss) { second.apply(); }", 1),
    ("if (first.apply().hit) { } else { second.apply(); }", 1),
    ("if (!first.apply().hit) { second.apply(); }", 1),
    ("if (!first.apply().miss) { second.apply(); }", 2),
    ("switch (first.apply().action_run) { NoAction: { second.apply(); } }", 1),
    ("switch (first.apply().action_run) { x: { second.apply(); } }", 2),
    ("switch (first.apply().action_run) { x: { } default: { second.apply(); } }", 1),
]


@pytest.mark.parametrize(("body", "stages"), OUTCOMES)
def test_tables_that_run_by_the_result_of_another(body: str, stages: int) -> None:
    assert len(report(body, local=AFTER).stages) == stages


def test_two_writers_of_a_field_are_in_order() -> None:
    usage = report("hdr.h.a = hdr.h.b; if (hdr.h.c == 1) { hdr.h.a = 1; }")
    assert len(usage.stages) == 2
    assert usage.chain[-1].reason.endswith("also writes hdr.h.a")


def test_copies_are_looked_through_and_computations_are_not() -> None:
    assert len(report("md.m = hdr.h.a; hdr.h.b = md.m;").stages) == 1
    assert len(report("md.m = hdr.h.a + 1; hdr.h.b = md.m;").stages) == 2


HASH = "Hash<bit<16>>(HashAlgorithm_t.CRC16) h; Counter<bit<32>, bit<16>>(1024, CounterType_t.PACKETS) c;"


def test_the_result_of_an_alu_is_an_operand_but_a_condition_on_it_comes_a_stage_later() -> None:
    assert len(report("hdr.h.w = a0.execute(hdr.h.a) + 1;", local=REGISTERS).stages) == 1
    usage = report("if (a0.execute(hdr.h.a) == 1) { hdr.h.b = 1; }", local=REGISTERS)
    assert len(usage.stages) == 2
    assert usage.chain[-1].reason == "match dependency on pipe.I.r0: matches on the result of pipe.I.a0"


def test_validity_is_a_field_of_its_own() -> None:
    assert len(report("hdr.inner.setInvalid(); if (hdr.inner.a == 1) { hdr.h.b = 1; }").stages) == 1
    assert len(report("hdr.inner.setInvalid(); if (hdr.inner.isValid()) { hdr.h.b = 1; }").stages) == 2


def test_indices_and_hashes_are_needed_before_their_stage() -> None:
    assert len(report("md.x = h.get({hdr.h.w}); c.count(md.x);", local=HASH).stages) == 2
    assert len(report("c.count(hdr.h.c);", local=HASH).stages) == 1


REGISTERS = "".join(
    f"Register<bit<32>, bit<8>>(256) r{i}; RegisterAction<bit<32>, bit<8>, bit<32>>(r{i}) a{i} = "
    "{ void apply(inout bit<32> value) { value = hdr.h.w; } };"
    for i in range(9)
)


def test_four_stateful_alus_a_stage() -> None:
    usage = report("".join(f"a{i}.execute(hdr.h.a);" for i in range(9)), local=REGISTERS)
    assert [len(s.stateful) for s in usage.stages] == [4, 4, 1]
    assert usage.chain[-1].reason == "no stateful ALUs left in stages 0 to 1"


def test_accesses_that_exclude_each_other_share_a_stage_and_an_alu() -> None:
    local = REGISTERS + (
        "RegisterAction<bit<32>, bit<8>, bit<32>>(r0) b0 = { void apply(inout bit<32> value) { value = 0; } };"
    )
    usage = report("if (hdr.h.b == 1) { a0.execute(hdr.h.a); } else { b0.execute(hdr.h.a); }", local=local)
    assert [len(s.stateful) for s in usage.stages] == [1]


def register(size: int, width: int = 32) -> ResourceReport:
    local = f"""Register<bit<{width}>, bit<32>>({size}) r;
    RegisterAction<bit<{width}>, bit<32>, bit<{width}>>(r) a = {{
        void apply(inout bit<{width}> value) {{ value = 1; }}
    }};"""
    return report("a.execute(hdr.h.w);", local=local)


def test_memory_of_registers() -> None:
    # 128 bits x 1024 rows a block, and one spare block.
    assert [(s.srams, s.map_rams) for s in register(32768).stages] == [(9, 9)]
    assert [(s.srams, s.map_rams) for s in register(45000).stages] == [(12, 12)]
    assert [s.srams for s in register(1024, 1).stages] == [2]
    usage = register(200_000)
    assert not usage.fits
    assert usage.problems == ["pipe.I.r (prog.p4:30) fits no stage: not enough map RAMs"]


@pytest.mark.parametrize(("kind", "size", "memory"), [
    ("exact", 65536, "srams"), ("exact", 400_000, "srams"), ("ternary", 2048, "tcams"), ("lpm", 30_000, "tcams"),
])  # fmt: skip
def test_memory_of_tables_and_how_it_spills(kind: str, size: int, memory: str) -> None:
    """p4c-barefoot takes 16 blocks for the first table's matches and 8 for its action data."""
    local = f"""action set(bit<16> v) {{ hdr.h.c = v; }}
    table t {{ key = {{ hdr.h.w: {kind}; }} actions = {{ set; }} size = {size}; }}
    table next {{ key = {{ hdr.h.c: exact; }} actions = {{ NoAction; }} }}"""
    usage = report("t.apply(); next.apply();", local=local)
    used = [getattr(s, memory) for s in usage.stages]
    blocks = {"exact": 1 / 3 / 1024, "ternary": 1 / 512, "lpm": 1 / 512}[kind] * size
    limit = {"srams": 80, "tcams": 24}[memory]
    assert blocks <= sum(used) <= blocks + 4
    full = int(blocks // limit)
    assert used[:full] == [limit] * full
    assert len(usage.stages) == full + 2  # the table behind it comes after its last stage


def test_header_vector() -> None:
    usage = report("hdr.h.w = hdr.h.w + 1; md.flag = true;")
    assert usage.phv.bits == 33
    assert usage.phv.containers == {8: 1, 16: 0, 32: 1}
    wide = "struct wide_t { " + "".join(f"bit<32> f{i};" for i in range(140)) + " }"
    usage = report("".join(f"w.f{i} = hdr.h.w;" for i in range(140)), top=wide, local="wide_t w;")
    assert usage.fits
    assert usage.cautions == ["the stages use 4512 bits of fields, the packet header vector of a Tofino has 4096"]


def test_ingress_and_egress_share_the_stages() -> None:
    usage = report(
        "".join(f"a{i}.execute(hdr.h.a);" for i in range(3)),
        local=REGISTERS,
        elocal=REGISTERS,
        ebody="".join(f"a{i}.execute(hdr.h.a);" for i in range(3)),
    )
    assert [len(s.stateful) for s in usage.stages] == [4, 2]


def test_what_has_no_report() -> None:
    with pytest.raises(Unsupported, match="architecture V1Switch"):
        estimate(load_text(program()))
    with pytest.raises(P4Error, match=r"a pass may access register pipe\.I\.r0 twice"):
        report("a0.execute(0); a0.execute(1);", local=REGISTERS)


# --- the command


def run(*args: str) -> tuple[int, str]:
    import typer

    app = typer.Typer()
    app.command()(resources)
    result = CliRunner().invoke(app, list(args), env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_the_command_says_what_fits(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    code, text = run(str(PROBES / "probe_c.p4"), "--json", str(out))
    assert code == 0
    assert "fits: 11 of 12 stages, 1 to spare" in text
    written = json.loads(out.read_text())
    assert written["fits"]
    (pipe,) = written["pipes"]
    assert (pipe["pipe"], pipe["stages_used"], pipe["over_by"]) == ("pipe", 11, 0)
    assert [s["stateful_alus"] for s in pipe["stages"]] == [0, 1, 1, *[4] * 8]
    assert pipe["chain"][2]["table"] == "pipe.Ingress.pairs"


def test_the_command_says_what_does_not() -> None:
    code, text = run(str(PROBES / "probe_a.p4"))
    assert code == 1
    assert "does not fit: 13 stages are needed, Tofino has 12: 1 too many" in text
    assert "frame.p4:73" in text
