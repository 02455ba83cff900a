# SPDX-License-Identifier: Apache-2.0
"""``offramp demo`` on a graph so small that it takes seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from offramp_cli.demo import demo

pytestmark = pytest.mark.p4


def test_demo_compares_four_runs_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo(out=tmp_path / "demo", graph="sbm:n=160,k=20", epochs=6, hidden=32, memory="18KB")
    printed = capsys.readouterr().out
    assert printed.count("yes ") == 4
    assert str(tmp_path / "demo" / "report.html") in printed
    content = json.loads((tmp_path / "demo" / "report.json").read_text("utf-8"))
    runs = {run["name"]: run["result"] for run in content["runs"]}
    assert list(runs) == ["local", "p2p", "strawman", "switch"]
    assert all(check["holds"] for check in content["checks"])
    assert runs["strawman"]["overflows"] > 0
    assert runs["switch"]["settings"]["blocks"][0] > 1
    occupancy = {item["name"]: item["open"] for item in content["occupancy"]}
    for name, series in occupancy.items():
        assert 0 < max(series) <= 18_000 // 128
        assert series[-1] == 0
        # The replay sees another interleaving of the same packets than the run did.
        assert runs[name]["aggregators_peak"] <= 18_000 // 128
    page = (tmp_path / "demo" / "report.html").read_text("utf-8")
    assert page.count("<svg") == 6
    table = content["tables"][0]
    assert [row[0] for row in table["rows"]][:2] == ["hash", "metis"]
