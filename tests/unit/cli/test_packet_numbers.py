# SPDX-License-Identifier: Apache-2.0
"""Units and columns of ``offramp simulate packets``, from results that are given; runs are tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_cli.packets.network import PacketNetworkSettings
from offramp_sim.packets import lossless, simulate

GIVEN = {
    "seconds": 0.003,
    "finish_ps": np.array([1_000_000_000, 3_000_000_000], np.int64),
    "peak_port_bytes": 70_400,
    "delay_ps": np.array([[4_000_000, 0], [6_000_000, 0]], np.int64),
    "packets": 500,
    "marked": 1234,
    "dropped": 40,
    "lost": 2,
    "cuts": 3,
    "resent_bytes": 9000,
    "wall_s": 0.25,
}
PAUSED = GIVEN | {
    "delay_ps": np.array([5_000_000], np.int64),
    "pauses": np.array([3, 4]),
    "held_bytes": np.array([8, 11]),
    "paused_ps": np.array([10**12, 10**12]),
}


def run(tmp_path: Path, *arguments: str) -> tuple[list[str], dict[str, object]]:
    file = tmp_path / "n.json"
    options = ("--network", "star:3", "--control", "dctcp", "--json", str(file))
    result = CliRunner().invoke(app, ["simulate", "packets", *options, *arguments], env={"COLUMNS": "150"})
    assert result.exit_code == 0, result.exception
    shown = [" ".join(line.split()) for line in result.output.splitlines()]
    return shown, json.loads(file.read_text())["controls"]["dctcp"]


@pytest.mark.parametrize("delayed", [True, False])
def test_what_is_lost_is_counted_with_what_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delayed: bool
) -> None:
    given = GIVEN | ({} if delayed else {"delay_ps": np.zeros((0, 2), np.int64)})
    monkeypatch.setattr(simulate, "simulate", lambda *_, **__: SimpleNamespace(**given))
    shown, numbers = run(tmp_path)
    assert f"dctcp 3,000.0 2,000.0 0.800 70{' 5.00' if delayed else ''} 1,234 42" in shown
    assert numbers["mean_s"] == 0.002
    assert numbers["mean_delay_s"] == (5e-6 if delayed else None)
    assert numbers["packets_per_second"] == 2000
    assert [numbers[name] for name in ("dropped", "lost", "cuts", "resent_bytes")] == [40, 2, 3, 9000]


def test_pauses_take_the_place_of_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = []

    def run_lossless(*given: object, **_: object) -> SimpleNamespace:
        held.append(given[2])
        return SimpleNamespace(**PAUSED)

    monkeypatch.setattr(lossless, "run_lossless", run_lossless)
    shown, numbers = run(tmp_path, "--pfc", "10KB")
    assert held == [lossless.Pauses(10_000, 8_000)]
    assert "dctcp 3,000.0 2,000.0 0.800 70 5.00 1,234 7" in shown
    assert numbers["mean_s"] == 0.002
    assert numbers["mean_delay_s"] == 5e-6
    assert [numbers[name] for name in ("dropped", "lost", "pauses", "paused_s", "peak_held_bytes")] == [
        0,
        0,
        7,
        2.0,
        11,
    ]
    assert numbers["packets_per_second"] == 2000


def test_links_are_what_options_say() -> None:
    given = PacketNetworkSettings(
        network=("leaf-spine", (2, 3, 4)), rate_bps=10**9, delay_ns=2500.0, buffer=7000, mark=300, mark_all=900,
        mark_probability=0.25, loss=0.125,
    )  # fmt: skip
    links = given.topology().links
    assert (links.rate_bps, links.delay_ps, links.buffer_bytes) == (10**9, 2_500_000, 7000)
    assert (links.mark_bytes, links.mark_all_bytes, links.mark_probability, links.loss) == (300, 900, 0.25, 0.125)
    assert given.topology().hosts == 8
