# SPDX-License-Identifier: Apache-2.0
"""``offramp nic bench`` measures what it says: each way carries frames, and sums are checked. Blind to how fast."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import namespaces
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim.nic import bench, testpmd
from offramp_sim.nic.links import LINKS

pytestmark = [pytest.mark.nic, pytest.mark.netns]


@pytest.mark.parametrize("link", LINKS)
def test_agent(programs: Path, monkeypatch: pytest.MonkeyPatch, link: str) -> None:
    namespaces.require()
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    rate = bench.measure(link, "agent", 0.0, vertices=100)
    assert rate.frames >= 2 * 4 * 40  # a packet of each of four chunks of the worker's vertices, both ways
    assert rate.nic_ns > 0
    assert rate.cpu_ns_per_frame > 0


def test_python(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespaces.require()
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    rate = bench.measure("veth", "python", 0.0, vertices=100)
    assert rate.frames >= 2 * 4 * 40
    assert rate.nic_ns == 0
    with pytest.raises(OfframpError, match="the Python transport does not support memif"):
        bench.measure("memif", "python", 0.0)


@pytest.mark.skipif(shutil.which("dpdk-testpmd") is None, reason="the limit of links needs dpdk-testpmd")
def test_testpmd(monkeypatch: pytest.MonkeyPatch) -> None:
    namespaces.require()
    monkeypatch.setattr(testpmd, "_WARM", 0)
    rate = bench.measure("loop", "testpmd", 0.0)
    assert rate.frames > 0
    assert rate.nic_ns > 0


SILENT = {
    "exits": ("exit 0", "reported no rates"),
    "mute": ("exec sleep 60", "reported no rates"),
    "stops": ("echo RX-packets: 5; echo RX-packets: 9; exec sleep 60", "reported no rates"),
    "idle": ("while :; do echo RX-packets: 0; sleep 0.05; done", "no frame came back"),
}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param(*row, id=name, marks=[pytest.mark.slow] if place else [])
        for place, (name, row) in enumerate(SILENT.items())
    ],
)
def test_a_testpmd_without_rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str) -> None:
    """One line for each way to say nothing, and its processes are gone."""
    program = tmp_path / "dpdk-testpmd"
    program.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\n{script}\n", "ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(testpmd, "_START_S", 30.0 if reason.startswith("no frame") else 0.5)
    with pytest.raises(testpmd.NoRateError, match=reason):
        testpmd.pace("memif", "net_memif0", "net_memif1", 0.1)
    for pid in map(int, (tmp_path / "pids").read_text("ascii").split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_command_survives_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Rates of the rest are shown and written; of the limit the reason is."""

    def measure(link: str, way: str, *_: object) -> bench.NicRate:
        if way == "testpmd":
            raise testpmd.NoRateError("dpdk-testpmd: reported no rates")
        return bench.NicRate(link, way, 1000, 0.5, 10, 20)

    monkeypatch.setattr(bench, "measure", measure)
    done = CliRunner().invoke(app, ["nic", "bench", "--link", "memif", "--json", str(tmp_path / "r.json")])
    assert done.exit_code == 0, done.output
    assert "memif: no limit to compare with: dpdk-testpmd: reported no rates" in done.output
    content = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert {(rate["link"], rate["way"]) for rate in content["rates"]} == {("veth", "python"), ("memif", "agent")}
    assert content["limits_unknown"] == {"memif": "dpdk-testpmd: reported no rates"}
