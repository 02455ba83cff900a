# SPDX-License-Identifier: Apache-2.0
"""LEO's file system on CPU and agent: figure 6.11 as this machine measures it. Blind to how fast."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from offramp.device import Status
from offramp.leo.applications import dfs
from offramp.leo.applications.compare import running
from offramp.leo.devices.nic import NicDevice
from offramp.leo.functions.compress import COMPRESS, DECOMPRESS, chunk
from offramp.leo.selection import Policy
from offramp.leo.transports.ucx import library
from offramp.nic.process import AgentProcess
from offramp_base.errors import OfframpError
from offramp_sim.nic.dfs import DfsCase, Throughput, rate_of

pytestmark = pytest.mark.nic


@pytest.mark.parametrize("way", ["nic", "mix"])
def test_chunks_are_stored_right(programs: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """The agent on two cores, of which each has a device; on the mix the CPU's threads, too."""
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two processors")
    case = DfsCase(way, cpus[:1], cpus[-2:])
    assert any(rate_of(case, seconds) > 0 for seconds in (0.2, 2.0, 20.0))  # sanitizers and emulators are slow
    assert sorted(os.sched_getaffinity(0)) == cpus


def test_through_ucx(agent: AgentProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """A responder beside the agent serves it to whoever comes by UCX, here over TCP."""
    try:
        library()
    except OfframpError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("UCX_TLS", "tcp,self")
    plain = dfs.application({dfs.ACCELERATOR: f"nic:{agent.path}"})
    application = replace(plain, settings=replace(plain.settings, transport="ucx"))
    with running(application) as run:
        outcome, names = run(("cpu-acc",), {}, Policy.LOOKAHEAD, 1, None, 0.2)
    assert outcome.wrong == 0
    assert outcome.by_path[names.index("cpu-acc")] > 0


def test_share_of_the_sum() -> None:
    assert Throughput([10.0, 20.0], [30.0, 50.0], [38.0]).shares == [0.95]


def test_cores_that_compress_at_once(programs: Path) -> None:
    """Each core has transforms of its own: zlib's hold a stream."""
    content = chunk(100_000, 3)
    with AgentProcess(program=programs / "offramp-nic-agent", cores=2) as agent:
        devices = [NicDevice(agent.path, f"nic{i}") for i in range(2)]
        try:
            for request in range(16):
                assert all(device.submit(COMPRESS, request, content) for device in devices)
            for device in devices:
                completions = []
                while len(completions) < 16:
                    device.wait(10.0)
                    completions += device.poll()
                assert {done.status for done in completions} == {Status.OK}
                assert len({done.message for done in completions}) == 1
                assert device.submit(DECOMPRESS, 16, completions[0].message)
                device.wait(10.0)
                assert device.poll()[0].message == content
        finally:
            for device in devices:
                device.close()
