# SPDX-License-Identifier: Apache-2.0
"""The table of ``offramp allreduce``; sums and times are tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from offramp_cli.allreduce import _show
from offramp_cli.app import app
from offramp_sim.allreduce import measure
from offramp_sim.allreduce.experiment import AllReduceTimings, Experiment, SizeTiming


@pytest.mark.parametrize("compare", [False, True])
def test_gloo_has_a_column_only_where_it_was_measured(*, compare: bool) -> None:
    ways = ("offramp", "gloo") if compare else ("offramp",)
    outcome = AllReduceTimings(tuple(SizeTiming(way, 1.0, (0.02,)) for way in ways), 10, 0, 0)
    console = Console(record=True, width=120)
    _show(console, Experiment(ranks=2, compare=compare), outcome)
    shown = console.export_text()
    assert "20 ms" in shown
    assert "50.0" in shown  # MB/s
    assert ("gloo's time over ours" in shown) == compare


def test_the_command_shows_each_way_s_numbers_and_writes_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    timings = SizeTiming("offramp", 2.0, (0.02, 0.04, 0.01)), SizeTiming("gloo", 2.0, (0.05, 0.06, 0.04))
    monkeypatch.setattr(measure, "measure", lambda *_: AllReduceTimings(timings, 10, 3, 1))
    shown = CliRunner().invoke(app, ["allreduce", "--ranks", "2", "--compare", "--json", str(tmp_path / "a.json")])
    rows = [" ".join(line.split()) for line in shown.output.splitlines()]
    assert "2 offramp 20 ms 10 ms 100.0 2.50" in rows
    assert "2 gloo 50 ms 40 ms 40.0" in rows
    assert "2 ranks, 1078 bytes in a frame, 10 packets sent, 3 of them again, 1 lost" in shown.output
    written = json.loads((tmp_path / "a.json").read_text())
    assert [(row["way"], row["median_s"], row["gain"]) for row in written["timings"]] == [
        ("offramp", 0.02, 2.5),
        ("gloo", 0.05, 2.5),
    ]
    assert [written[name] for name in ("ranks", "sent", "repeated", "lost")] == [2, 10, 3, 1]
