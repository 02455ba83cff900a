# SPDX-License-Identifier: Apache-2.0
"""``make judge``: what it says without judges, of one that agrees and of one that does not; a script is the judge."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from judge import p4c
from judge.__main__ import JUDGES, main, programs
from judge.verdict import ROOT, ReferenceTool, Verdict, includes, table
from offramp_p4.reference.process import LAUNCHER_MARK, SIMPLE_SWITCH

FORWARD = ROOT / "p4/examples/reflector.p4"
SCRIPT = """#!{python}
import sys
from pathlib import Path
if "--version" in sys.argv:
    print("p4c 1.2.5 (SHA: abcdef BUILD: Release)")
    sys.exit(0)
from offramp_p4.frontend import load
from offramp_p4.runtime.p4info import generate
from offramp_p4_tools.bmv2.write import bmv2_text
words = dict(zip(sys.argv[4::2], sys.argv[5::2]))
program = load(sys.argv[3])
Path(words["-o"]).write_text(bmv2_text(program))
Path(words["--p4runtime-files"]).write_text(str(generate(program)) + {more!r})
"""


def script(folder: Path, more: str = "") -> None:
    path = folder / SIMPLE_SWITCH.compiler
    path.write_text(SCRIPT.format(python=sys.executable, more=more))
    path.chmod(0o755)


def test_those_that_are_missing_are_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert output.err.startswith(
        "not on PATH: p4c-bm2-ss (p4c); p4c-bm2-psa (p4c); p4c-bm2-pna (p4c); simple_switch, simple_switch_CLI (bmv2); "
    )
    (tmp_path / SIMPLE_SWITCH.compiler).write_text(f"#!/bin/sh\n{LAUNCHER_MARK}\n")
    (tmp_path / SIMPLE_SWITCH.compiler).chmod(0o755)
    assert main([]) == 2, "a launcher of ours is no judge"


@pytest.mark.p4
def test_a_judge_that_agrees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([str(FORWARD), "--out", str(tmp_path / "out/judge.md")], JUDGES[:1]) == 0
    rows = capsys.readouterr().out
    for subject in ("program", "P4Info", "JSON"):
        assert f"| p4c-bm2-ss 1.2.5 abcdef | {subject} | 1 of 1 |" in rows
    assert (tmp_path / "out/judge.md").read_text() == rows


@pytest.mark.p4
def test_a_judge_that_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, 'tables { preamble { id: 5 name: "other" } }\n')
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "files").mkdir()
    verdicts = {v.subject: v for v in p4c.judge(SIMPLE_SWITCH.compiler, "v1model.p4", [FORWARD], tmp_path / "files")}
    assert verdicts["program"].agrees
    assert not verdicts["P4Info"].agrees
    assert "other" in verdicts["P4Info"].words


def test_the_table_and_the_programs() -> None:
    verdicts = [Verdict("a", "x.p4", "stages", "as ours"), Verdict("a", "y.p4", "stages", "13: more")]
    assert table(verdicts, {"a": "9"}).splitlines()[2:] == [
        "| a 9 | stages | 1 of 2 |",
        "",
        "- a, stages of `y.p4`: 13: more",
    ]
    assert FORWARD in programs([ROOT / "p4"])
    assert ROOT / "p4/hermod/types.p4" not in programs([ROOT / "p4"])
    assert includes(FORWARD, "v1model.p4")
    assert not includes(FORWARD, "psa.p4")
    assert ReferenceTool("sh", "", lambda _, __: []).missing == []
