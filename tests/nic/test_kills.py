# SPDX-License-Identifier: Apache-2.0
"""``kill -9`` in the middle of an epoch of ``offramp train`` through an agent and a switch that outlive it.

Blind to what a kill does between two frames that no test has hit: the places are those that the machine gives.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import numpy as np
import pytest

import namespaces
from offramp.nic.connection import AgentConnection
from offramp.nic.process import AgentProcess
from offramp_p4.bench.namespace import in_namespace
from offramp_p4.embedded import EmbeddedSwitch

pytestmark = [pytest.mark.nic, pytest.mark.netns]
SETTINGS = ["--graph", "karate", "--workers", "2", "--partition", "hash", "--hidden", "8"]
NOTICED_S = 1.0


class Training:
    """``offramp train`` as a process that prints its epochs."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "offramp", "train", *SETTINGS, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()  # its workers follow it
        self.process.communicate()

    def reach(self, epoch: int) -> None:
        """Wait for the end of an epoch."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.split("/")[0].split() == ["epoch", str(epoch)]:
                return
        raise AssertionError(f"ended before epoch {epoch}: {self.end()[1]}")

    def workers(self) -> list[int]:
        """Their process ids, in the order of ranks: children of the server that the process that works has started."""
        servers = [server for work in _children(self.process.pid) for server in _children(work)]
        return [worker for server in servers for worker in _children(server)]

    def end(self) -> tuple[int, str]:
        """Wait for it; exit code and standard error."""
        _, errors = self.process.communicate(timeout=120)
        return self.process.returncode, errors


def _children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


def seconds_until(condition: Callable[[], bool]) -> float:
    """Seconds until the condition holds, at most 10."""
    start = time.monotonic()
    while not condition() and time.monotonic() < start + 10:
        time.sleep(0.005)
    return time.monotonic() - start


def losses(path: Path) -> dict[int, float]:
    return {each["epoch"]: each["loss"] for each in json.loads(path.read_text())["per_epoch"]}


@pytest.mark.slow
def test_a_worker_then_the_agent(programs: Path, tmp_path: Path) -> None:
    """The worker's death ends the run with one line; what goes on from its checkpoint outlives the agent's death."""
    namespaces.require()

    def work() -> None:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # for the workers' group
        checkpoint, report = tmp_path / "weights.npz", tmp_path / "resumed.json"
        whole = tmp_path / "whole.json"
        with EmbeddedSwitch(None, [1, 2], transport="af_packet") as switch:
            interfaces = [spec.partition(":")[2] for spec in switch.port_specs]
            with AgentProcess(interfaces, program=programs / "offramp-nic-agent") as agent:
                ports = ",".join(f"nic:{agent.path}#{i}" for i in range(2))
                through = ["--switch", switch.address, "--ports", ports, "--retry", "0.1", "--checkpoint-every", "2"]
                with Training(*through, "--epochs", "100000", "--checkpoint", str(checkpoint)) as first:
                    first.reach(5)
                    watcher = AgentConnection(agent.path)
                    assert watcher.stats()["queues"] == 2
                    os.kill(first.workers()[1], signal.SIGKILL)
                    assert seconds_until(lambda: watcher.stats()["queues"] < 2) < NOTICED_S
                    watcher.close()
                    assert first.end() == (2, "worker 1 was killed by SIGKILL; the run has ended\n")
                with np.load(checkpoint) as saved:
                    done = int(saved["epoch"])
                epochs = str(done + 30)
                goes_on = ["--epochs", epochs, "--resume", str(checkpoint), "--json", str(report)]
                with Training(*through, *goes_on) as second:
                    second.reach(done + 5)
                    agent.kill()
                    agent.start()
                    assert second.end() == (0, "")
        with Training("--propagator", "p2p", "--codec", "fixed", "--epochs", epochs, "--json", str(whole)) as plain:
            assert plain.end()[0] == 0
        resumed, expected = losses(report), losses(whole)
        assert set(resumed) == set(range(done + 1, done + 31))
        assert resumed == {epoch: expected[epoch] for epoch in resumed}

    in_namespace(work)
