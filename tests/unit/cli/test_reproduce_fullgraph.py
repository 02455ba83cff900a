# SPDX-License-Identifier: Apache-2.0
"""G3's and Sylvie's figures at a small size: they run, and what must hold holds."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app

SIMULATED = ["g3/fig4.2", "g3/fig4.13", "sylvie/table3.11"]


def reproduce(tmp_path, names, scale: float):
    path = tmp_path / "found.json"
    command = ["reproduce", *names, "--scale", str(scale), "--plots", str(tmp_path), "--json", str(path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.exception
    return {item["name"]: item for item in json.loads(path.read_text())["items"]}


def test_simulated_figures(tmp_path) -> None:
    found = reproduce(tmp_path, SIMULATED, 0.1)
    assert list(found) == SIMULATED
    for name, item in found.items():
        assert item["published"].keys() == item["ours"].keys()
        assert (tmp_path / f"{name.replace('/', '-')}.png").read_bytes().startswith(b"\x89PNG")
    speed_up = found["g3/fig4.2"]["data"]["speed_up"]
    assert speed_up["G3"][1][-1] > speed_up["replicated (DGL-like)"][1][-1]
    assert found["sylvie/table3.11"]["ours"]["reddit, 1 bit for all: codes + bounds, and fp32 over both"].endswith(
        "28.4"
    )


@pytest.mark.slow
def test_measured_figures(tmp_path) -> None:
    """Times are the machine's affair; that runs end, and count what the formula says, is ours."""
    found = reproduce(tmp_path, ["g3/fig4.17", "g3/priorities", "sylvie/table3.9", "sylvie/table3.2"], 0.05)
    for what, ours in found["sylvie/table3.2"]["ours"].items():
        if "counted" in what:
            counted, by_law = ours.split(", ")
            assert counted == by_law
    sent = {codec: run["payload_bytes"] for codec, run in found["sylvie/table3.9"]["data"].items()}
    assert sent["q1"] < sent["q2"] < sent["q4"] < sent["q8"] < sent["fp32"]
    assert "MB" in found["sylvie/table3.9"]["ours"]["adaptive: bytes of an epoch"]
