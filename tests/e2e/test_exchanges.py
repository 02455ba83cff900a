# SPDX-License-Identifier: Apache-2.0
"""The measured map of SwitchGNN in its quick form: two laboratories with rated links, every way at two places."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_sim.lab import possible_mode, running

pytest.importorskip("torch")
pytestmark = [pytest.mark.netns, pytest.mark.slow]


def test_every_way_is_timed_and_the_table_and_the_picture_are_written(tmp_path):
    mode, reason = possible_mode()
    if mode == "sockets":
        pytest.skip(f"no network namespaces: {reason}")
    before = {lab.name for lab in running()}
    path = tmp_path / "found.json"
    command = ["reproduce", "switchgnn/where-measured", "--scale", "0.1", "--out", str(tmp_path), "--json", str(path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.exception
    assert {lab.name for lab in running()} <= before
    (item,) = json.loads(path.read_text())["items"]
    assert set(item["evidence"].values()) == {"measured"}
    cells = item["data"]["cells"]
    assert [(cell["workers"], cell["copies"]) for cell in cells] == [(4, 2.0), (3, 1.5)]
    for cell in cells:
        ways = cell["ways"]
        assert list(ways) == ["p2p", "switch", "hybrid", "auto"]
        # links are a limit that no way can beat: a wire byte counts preamble and gap, which HTB does not see
        assert all(min(way["seconds"]) > 0.5 * way["link_bytes"] * 8 / cell["rate_bps"] for way in ways.values())
        assert ways["switch"]["scheme"] == "paper, 32 lanes"
        assert ways["p2p"]["passes"] == 0 < ways["switch"]["passes"]
    text = (tmp_path / "switchgnn-where-measured.md").read_text()
    assert text.count("\n| ") == 3
    assert (tmp_path / "switchgnn-where-measured.svg").read_text().startswith("<?xml")
