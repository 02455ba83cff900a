# SPDX-License-Identifier: Apache-2.0
"""``offramp train --transport nic``: the losses are those of a run without the agent, to the bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import namespaces

pytestmark = [pytest.mark.nic, pytest.mark.netns]
SETTINGS = ["--graph", "karate", "--workers", "2", "--partition", "hash", "--hidden", "8", "--epochs", "3"]


def train(path: Path, *arguments: str, launcher: list[str] | None = None) -> dict:
    command = [sys.executable, "-m", "offramp", "train", *SETTINGS, *arguments, "--json", str(path)]
    subprocess.run([*(launcher or []), *command], check=True, capture_output=True, timeout=250)
    report: dict = json.loads(path.read_text())
    return report


@pytest.mark.slow
def test_losses_and_duplicates_change_nothing(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespaces.require()
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    with namespaces.Namespace() as space:
        faults = ["--loss", "0.02", "--duplicate", "0.02", "--retry", "0.1"]
        nic = train(tmp_path / "nic", "--transport", "nic", *faults, launcher=space.command)
    plain = train(tmp_path / "plain", "--propagator", "p2p", "--codec", "fixed")
    assert nic["loss"] == plain["loss"]
    assert nic["packets"] > 0
