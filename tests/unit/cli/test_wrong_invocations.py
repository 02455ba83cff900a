# SPDX-License-Identifier: Apache-2.0
"""More than 120 wrong command lines: each ends with exit code 2 and one line that names the flag, key or file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import offramp_cli

LIST = Path(__file__).parents[2] / "support/wrong_invocations.txt"
CASES = [line.split(" | ") for line in LIST.read_text().splitlines() if not line.startswith("#")]


def test_there_are_enough() -> None:
    assert len({line for _, line in CASES}) >= 120


@pytest.mark.parametrize(("word", "line"), CASES, ids=[line for _, line in CASES])
def test_one_line_names_it(
    word: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if line.startswith(("train", "demo", "gnn")):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["offramp", *line.split()])
    with pytest.raises(SystemExit) as ended:
        offramp_cli._run()
    said = capsys.readouterr().err.splitlines()
    assert (ended.value.code, len(said)) == (2, 1), said
    assert word in said[0]
    assert list(tmp_path.iterdir()) == []
