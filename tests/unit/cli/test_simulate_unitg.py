# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate unitg``: its tables are the numbers that it writes, and these are the simulator's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_sim.unitg import POLICIES, simulate
from offramp_sim.unitg.scenario import UnitgScenario


@pytest.mark.parametrize("chosen", [(), ("sequential", "interleaved", "sequential")])
def test_tables_and_numbers(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    file = tmp_path / "n.json"
    options = [word for name in chosen for word in ("--policy", name)]
    result = CliRunner().invoke(
        app, ["simulate", "unitg", "--stages", "3", *options, "--json", str(file)], env={"COLUMNS": "200"}
    )
    assert result.exit_code == 0, result.exception
    shown = [" ".join(line.split()) for line in result.output.splitlines()]
    written = json.loads(file.read_text())
    scenario = UnitgScenario(stages=3)
    alone = scenario.undisturbed()
    assert list(written["policies"]) == list(dict.fromkeys(chosen or POLICIES))
    assert written["iteration"]["makespan_s"] == alone.makespan
    assert shown[0].startswith(f"one iteration by itself: {alone.makespan:.6g} s, {100 * alone.bubble():.1f} % of it")
    for stage in range(3):
        idle = " ".join(f"{a:.4g} to {b:.4g}" for a, b in alone.windows(stage))
        assert f"{stage + 1} {idle}".strip() in shown
    for name, row in written["policies"].items():
        own = simulate(scenario, name)
        mean = sum(own.iteration_s) / len(own.iteration_s)
        assert row["slowdown"] == pytest.approx(mean / alone.makespan - 1)
        assert (row["makespan_s"], row["steps_inside"], row["iteration_s"]) == (
            own.makespan_s,
            own.steps_inside,
            list(own.iteration_s),
        )
        times = " ".join(f"{own_s:.6g} s" for own_s in (own.makespan_s, own.pipeline_s, own.model_s, mean))
        assert f"{name} {times} {100 * row['slowdown']:.1f} % {own.steps_inside}" in shown
