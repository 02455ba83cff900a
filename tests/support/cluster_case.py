# SPDX-License-Identifier: Apache-2.0
"""A job on four hosts under two leaves and a spine, in network namespaces, and what it leaves there."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import slurm_cluster
from offramp.cluster import Cluster
from offramp.job.ledger import opened
from offramp.job.snapshot import SwitchSnapshot
from offramp.job.switches import with_switch
from offramp.job.training import CHECKPOINT
from ray_cluster import is_ray

RACKS = """\
name: {name}
hosts: [{{name: "h[1-4]"}}]
switches: [{{name: "leaf[1-2]", memory: 8MB}}, {{name: spine, memory: 8MB}}]
links:
  - {{ends: ["h[1-2]", leaf1], rate: 100mbit}}
  - {{ends: ["h[3-4]", leaf2], rate: 100mbit}}
  - {{ends: ["leaf[1-2]", spine], rate: 400mbit}}
"""
LIMIT_S = 400.0
EPOCHS = 16


@dataclass
class Racks:
    """The laboratory.

    Attributes:
        cluster, file: its cluster, and the file of it.
        keepers: the process that keeps each host's namespace.
    """

    cluster: Cluster
    file: Path
    keepers: dict[str, int]

    def states(self) -> dict[str, SwitchSnapshot]:
        """The present state of each switch."""
        snapshots: dict[str, SwitchSnapshot] = {}
        for switch in self.cluster.switches:
            with_switch(
                switch, lambda session, name=switch.name: snapshots.__setitem__(name, SwitchSnapshot.take(session))
            )
        return snapshots

    def jobs(self) -> int:
        """Jobs in the ledgers of all switches."""
        count = 0
        for switch in self.cluster.switches:
            with opened(switch) as ledger:
                count += len(ledger.jobs)
        return count

    def processes(self) -> list[str]:
        """Commands of all that runs on the hosts, but what keeps their namespaces, and daemons of engines."""
        commands = []
        for keeper in self.keepers.values():
            for pid in slurm_cluster.in_network_of(keeper):
                words = _command(pid)
                if pid != keeper and words and not is_ray(words) and not any(e in words for e in ("slurmd", "sshd")):
                    commands.append(words)
        return commands

    def pids(self, host: str, chosen: Callable[[str], bool]) -> list[int]:
        """Processes on a host by their commands."""
        return [pid for pid in slurm_cluster.in_network_of(self.keepers[host]) if chosen(_command(pid))]

    def nothing_left(self, before: dict[str, SwitchSnapshot]) -> None:
        """Wait until no process of a job is left on any host, and then compare the switches with what they were."""
        until(lambda: not self.processes(), lambda: str(self.processes()))
        until(lambda: self.jobs() == 0, lambda: f"{self.jobs()} jobs on the switches")
        assert self.states() == before


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def until(holds: Callable[[], bool], what: Callable[[], str], limit_s: float = LIMIT_S) -> None:
    """Wait for something; fail with ``what`` otherwise."""
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(0.1)


def train_job(folder: Path, **fields: object) -> Path:
    """A job file of SwitchGNN training with checkpoints."""
    folder.mkdir(exist_ok=True)
    settings = f"graph: karate\nhidden: 8\nepochs: {EPOCHS}\ncheckpoint_every: 2\npartition: hash\nretry: 0.2\n"
    (folder / "train.yaml").write_text(settings)
    lines = ["name: gnn", "train: train.yaml", *(f"{name}: {value}" for name, value in fields.items())]
    (folder / "job.yaml").write_text("\n".join(lines) + "\n")
    return folder / "job.yaml"


def model_of(folder: Path) -> bytes:
    """The arrays of a checkpoint."""
    with np.load(folder / CHECKPOINT) as archive:
        assert int(archive["epoch"]) == EPOCHS
        return b"".join(archive[name].tobytes() for name in sorted(archive) if "array" in name)


def offramp(inside: list[str], folder: Path, environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    """A command of ours, in a namespace."""
    return subprocess.Popen(
        [*inside, "offramp", *words],
        cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run_words(on: str) -> list[str]:
    """A run of the training job through the switches."""
    return ["job", "run", "job.yaml", "--on", on, "--by", "switchgnn", "--no-calibrate", "--out", "out"]
