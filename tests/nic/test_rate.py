# SPDX-License-Identifier: Apache-2.0
"""``offramp nic bench`` measures what it says: each way carries frames, and sums are checked. Blind to how fast."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import namespaces
from offramp_base.errors import OfframpError
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
    with pytest.raises(OfframpError, match="Python has no memif"):
        bench.measure("memif", "python", 0.0)


@pytest.mark.skipif(shutil.which("dpdk-testpmd") is None, reason="the limit of links needs dpdk-testpmd")
def test_testpmd(monkeypatch: pytest.MonkeyPatch) -> None:
    namespaces.require()
    monkeypatch.setattr(testpmd, "_WARM", 0)
    rate = bench.measure("loop", "testpmd", 0.0)
    assert rate.frames > 0
    assert rate.nic_ns > 0
