# SPDX-License-Identifier: Apache-2.0
"""``offramp nic doctor`` on a machine that has nothing that the agent needs, or has another release's packages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from offramp.nic import build
from offramp.nic.doctor import checks
from offramp_cli.app import app

if TYPE_CHECKING:
    import pytest


def test_its_advice_is_whole_at_80_columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without pkg-config nothing is known of DPDK, so it counts as missing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {"cmake", "ninja-build", "g++", "pkg-config", "libdpdk-dev"} <= set(build.missing())
    output = tmp_path / "doctor.json"
    done = CliRunner().invoke(app, ["nic", "doctor", "--json", str(output)], env={"COLUMNS": "80"})
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert max(map(len, lines)) <= 80
    shown = re.sub(r"\s", "", "".join(line[lines[0].index("what to do") :] for line in lines[1:]))
    advice = [check["advice"] for check in json.loads(output.read_text())["checks"] if not check["ok"]]
    assert shown == re.sub(r"\s", "", "".join(advice))
    assert re.search(r"^ .*librte-compress-zlib23 *$", done.output, re.MULTILINE), "folded within a name"


def test_packages_are_those_of_this_distribution(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The names of DPDK's libraries end with a number that differs between releases of Debian and Ubuntu."""
    (tmp_path / "apt-cache").write_text("#!/bin/sh\necho librte-eal9\necho librte-eal26\necho librte-eal-doc\n")
    (tmp_path / "apt-cache").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    advice = {check.advice for check in checks()}
    assert {"apt-get install librte-compress-zlib26", "apt-get install librte-net-mlx5-26"} <= advice
