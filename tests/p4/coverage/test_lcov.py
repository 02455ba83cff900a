# SPDX-License-Identifier: Apache-2.0
"""LCOV's records of parts and lines that are given: sums of several runs, choices that nothing reached."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from offramp_p4.coverage import lcov
from offramp_p4.coverage.recorded import CoveredPart
from offramp_p4.source import Pos

pytestmark = pytest.mark.p4


def test_parts_of_two_runs_are_added_up(tmp_path: Path) -> None:
    file = tmp_path / "a.p4"
    file.touch()

    def at(line: int) -> Pos:
        return Pos(str(file), line, 1)

    def run(*counts: int) -> Any:
        table, then, other, entry = counts
        parts = [
            CoveredPart("table", "routes", at(4), table),
            CoveredPart("action", "drop", at(2), 0),
            CoveredPart("branch", "true", at(9), then, "if"),
            CoveredPart("branch", "false", at(9), other, "if"),
            CoveredPart("entry", "1", at(6), entry, "routes"),
            CoveredPart("select", "0", at(9), 0, "state"),
            CoveredPart("table", "of nobody", Pos("/nowhere/b.p4", 1, 1), 1),
        ]
        return SimpleNamespace(lines={(str(file), 4): table, (str(file), 9): then + other}, parts=parts)

    assert lcov([run(2, 0, 3, 0), run(5, 0, 4, 0)], "t").splitlines() == [
        "TN:t",
        f"SF:{file}",
        "FN:4,routes",
        "FN:2,drop",
        "FNDA:7,routes",
        "FNDA:0,drop",
        "FNF:2",
        "FNH:1",
        "BRDA:6,0,0,-",
        "BRDA:9,0,0,0",
        "BRDA:9,0,1,7",
        "BRDA:9,1,0,-",
        "BRF:4",
        "BRH:1",
        "DA:4,7",
        "DA:9,7",
        "LF:2",
        "LH:2",
        "end_of_record",
    ]
