# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga lint``: what it says of modules, without any tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_cli.show import count
from offramp_sim import rtl
from offramp_sim.rtl import lint

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("faults", "code"), [({}, 0), ({"fifo": ["fifo.sv:3: latch", "fifo.sv:9: width"]}, 1)])
def test_faults_are_lines_and_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, faults: dict[str, list[str]], code: int
) -> None:
    monkeypatch.setattr(rtl, "lintable", lambda: ["adder", "fifo"])
    monkeypatch.setattr(lint, "faults", lambda name: faults.get(name, []))
    done = CliRunner().invoke(app, ["fpga", "lint", "--json", str(tmp_path / "lint.json")])
    assert done.exit_code == code
    fault_lines = faults.get("fifo", [])
    assert done.stdout.splitlines() == [*fault_lines, f"2 modules: {count(len(fault_lines), 'fault')}"]
    written = json.loads((tmp_path / "lint.json").read_text())
    assert (written["modules"], written["faults"]) == (["adder", "fifo"], fault_lines)
