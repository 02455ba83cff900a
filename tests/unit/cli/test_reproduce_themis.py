# SPDX-License-Identifier: Apache-2.0
"""``offramp reproduce themis``: the tables and small figures run; numbers of the paper beside ours."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app

pytestmark = pytest.mark.full

SMALL = ["table1", "table2", "table3", "fig5", "fig7", "fig9"]


def test_tables_and_small_figures(tmp_path):
    path = tmp_path / "found.json"
    names = [f"themis/{name}" for name in SMALL]
    result = CliRunner().invoke(app, ["reproduce", *names, "--plots", str(tmp_path / "plots"), "--json", str(path)])
    assert result.exit_code == 0, result.exception
    items = {item["name"]: item for item in json.loads(path.read_text())["items"]}
    assert list(items) == names
    for name in names:
        assert (tmp_path / "plots" / f"{name.replace('/', '-')}.png").read_bytes().startswith(b"\x89PNG")
    example = items["themis/fig5"]["ours"]
    assert example["baseline: units of time"] == items["themis/fig5"]["published"]["baseline: units of time"] == "8"
    assert example["themis+scf: units of time"] == "7"
    assert example["linear bound: units of time"] == "6.667"
    orders = items["themis/fig7"]
    assert all(orders["ours"][what] == text for what, text in orders["published"].items() if text is not None)
    times = items["themis/table3"]["data"]["ms"]
    assert times["baseline"] > times["themis+fifo"] > times["themis+scf"] > times["balanced"] >= times["linear bound"]


def test_training_follows_the_papers_ratios(monkeypatch):
    """Figure 12 for the smallest workload: calibrated at one point, right at the others."""
    from offramp_sim.reproduce.themis import training as themis_training

    monkeypatch.setattr(themis_training, "MODELS", {"resnet-152": None})
    reproduced = themis_training.figure12()
    ours = {c.what: float(c.ours) for c in reproduced.comparisons}
    published = {c.what: float(c.published) for c in reproduced.comparisons if c.published is not None}
    for what, number in published.items():
        if what.startswith("resnet"):
            assert abs(ours[what] - number) < 0.06


def test_a_run_that_was_cut_off_resumes_from_what_it_left(tmp_path):
    """Items of the same settings are taken as they are; of others, or of a file that is something else, they run."""
    path = tmp_path / "r.json"
    base = ["reproduce", "themis/table1", "themis/table2", "--out", str(tmp_path / "out"), "--json", str(path)]
    assert CliRunner().invoke(app, base).exit_code == 0
    first = path.read_text()
    (tmp_path / "out" / "themis-table2.json").write_text("{}")
    resumed = CliRunner().invoke(app, [*base, "--resume"])
    assert resumed.exit_code == 0, resumed.exception
    assert path.read_text() == first
    assert "themis/table1: kept from" in resumed.output
    assert "themis/table2: kept from" not in resumed.output
    assert "kept from" not in CliRunner().invoke(app, [*base, "--resume", "--seed", "1"]).output


def test_speed_ups_have_a_sign():
    """The referee can say of figure 8's speed-ups that they hold: they would turn below 1."""
    from offramp_sim.reproduce.themis.microbenchmark import figure8

    reproduced = figure8(chunks=4)
    factors = [c for c in reproduced.comparisons if "share" not in c.what]
    assert len(factors) == 5
    assert {c.turn for c in factors} == {1.0}
