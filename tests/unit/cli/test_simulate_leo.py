# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate leo``: which loads its options mean, and how results are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_cli.leo.simulate import LeoSimulationSettings, _loads, parse_range, parse_tenant


@pytest.mark.parametrize(
    ("settings", "rates", "windows"),
    [
        (LeoSimulationSettings(), [], [16, 32, 64, 128]),
        (LeoSimulationSettings(load=(2.0, 0.5)), [2.0, 0.5], []),
        (LeoSimulationSettings(window=(7,)), [], [7]),
        (LeoSimulationSettings(load=(3.0,), window=(9,)), [3.0], [9]),
    ],
)
def test_loads(settings: LeoSimulationSettings, rates: list[float], windows: list[int]) -> None:
    loads = _loads(settings, [0.5, 0.5], [(1.0, 2.0), (3.0, 1.0)])
    assert [load.rate_mrps for load in loads if load.rate_mrps is not None] == rates
    assert [load.window for load in loads if load.rate_mrps is None] == windows
    for load in loads:
        assert (load.requests, load.network_us, load.mix, load.shares) == (20_000, (3.0, 9.0), (0.5, 0.5), (1.0, 3.0))


def test_ranges_and_tenants() -> None:
    assert [parse_range(text) for text in ("3-9", "4", "0.5-2.5")] == [(3.0, 9.0), (4.0, 4.0), (0.5, 2.5)]
    assert [parse_tenant(text) for text in ("1:2", "3", "0.5:4")] == [(1.0, 2.0), (3.0, 1.0), (0.5, 4.0)]


def test_rows_of_a_load_name_it_once(tmp_path: Path) -> None:
    options = ["--window", "4", "--window", "2", "--policy", "only:acc", "--policy", "only:cpu", "--requests", "300"]
    file = tmp_path / "n.json"
    result = CliRunner().invoke(app, ["simulate", "leo", *options, "--json", str(file)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.exception
    runs = json.loads(file.read_text())["runs"]
    assert [row["rule"] for row in runs] == ["only acc", "only cpu"] * 2
    shown = [" ".join(line.split()) for line in result.output.splitlines()]
    for row, first in zip(runs, (True, False, True, False), strict=True):
        times = " ".join(f"{row[name]:.2f}" for name in ("mean_jct_us", "median_us", "p99_us"))
        shares = ", ".join(f"{100 * share:.0f}" for share in row["shares"])
        line = f"{row['rule']} {row['throughput_mrps']:.4g} {times} {shares}"
        assert (f"{row['load']} {line}" if first else line) in shown


def test_a_file_that_says_what_was_simulated(tmp_path: Path) -> None:
    file = tmp_path / "n.json"
    options = [
        "--window",
        "3",
        "--requests",
        "200",
        "--seed",
        "4",
        "--tenant",
        "1:2",
        "--tenant",
        "3",
        "--wrong",
        "1.5",
    ]
    result = CliRunner().invoke(app, ["simulate", "leo", *options, "--json", str(file)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.exception
    written = json.loads(file.read_text())
    assert (written["schema"], written["paths"], written["seed"]) == ("offramp.simulate.leo/1", ["acc", "cpu"], 4)
    rules = [row["rule"] for row in written["runs"]]
    assert len(rules) == len(set(rules)) >= 6
    assert all(len(row["tenants_mrps"]) == 2 for row in written["runs"])
    assert "tenants" in result.output
