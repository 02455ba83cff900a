# SPDX-License-Identifier: Apache-2.0
"""Two namespaces as machines, each with its part of a store, by the commands of docs/gnn.md alone.

Blind to name servers and to firewalls.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import namespaces

pytest.importorskip("torch")
pytestmark = pytest.mark.netns

MODEL = """
import torch


class Net(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm, self.lin = torch.nn.BatchNorm1d(inputs), torch.nn.Linear(inputs, outputs)

    def forward(self, x, edge_index):
        x = self.norm(x)
        return self.lin(torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]]))
"""
TRAIN = "gnn train store --model net.py:Net --epochs 3"


def environment() -> dict[str, str]:
    names = ("GLOO_SOCKET_IFNAME", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
    return {k: v for k, v in os.environ.items() if k not in names} | {"OMP_NUM_THREADS": "1"}


def alone(folder: Path, line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "offramp", *line.split()],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def ended(process: subprocess.Popen[str], line: str) -> subprocess.CompletedProcess[str]:
    """Output of a machine.

    torchrun's agent waits five minutes at its own exit barrier if that of the other machine has gone before it arrives.
    Its rank is done then, which is what counts here.
    """
    deadline, alone = time.monotonic() + 200, 0
    while True:
        try:
            output = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            ranks = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, check=False).stdout
            alone = 0 if ranks else alone + 1
            if alone < 2 and time.monotonic() < deadline:
                continue
            process.kill()
            output = process.communicate()
        return subprocess.CompletedProcess(line, 0 if alone == 2 else process.returncode, *output)


def machines(folders: list[Path], line: str) -> list[subprocess.CompletedProcess[str]]:
    """The command on each machine, at the same time."""
    with namespaces.Namespace() as one, namespaces.Namespace() as two:
        one.veth("eth7", "eth8")
        one.run("ip", "link", "set", "eth8", "netns", two.name)
        for space, name, address in ((one, "eth7", "10.77.0.1"), (two, "eth8", "10.77.0.2")):
            space.run("ip", "addr", "add", f"{address}/24", "dev", name)
            space.run("ip", "link", "set", name, "up")
        started = []
        for rank, (space, folder) in enumerate(zip((one, two), folders, strict=True)):
            where = f"--nnodes 2 --node-rank {rank} --nproc-per-node 1 --master-addr 10.77.0.1 --master-port 29500"
            command = [sys.executable, "-m", "torch.distributed.run", *where.split(), "-m", "offramp", *line.split()]
            started.append(
                subprocess.Popen(
                    [*space.command, *command],
                    cwd=folder,
                    env=environment(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        try:
            done = [ended(process, line) for process in started]
        finally:
            for process in started:
                process.kill()
                process.wait()
        return done


@pytest.mark.slow
def test_two_machines_train_what_one_does(tmp_path: Path) -> None:
    namespaces.require()
    (tmp_path / "net.py").write_text(MODEL)
    alone(tmp_path, "graph partition karate store --parts 2")
    alone(tmp_path, f"{TRAIN} --json here.json")
    folders = []
    for rank in range(2):
        folder = tmp_path / f"machine-{rank}"
        (folder / "store").mkdir(parents=True)
        shutil.copy(tmp_path / "net.py", folder)
        for name in ("manifest.json", "owner.npy"):
            shutil.copy(tmp_path / "store" / name, folder / "store")
        shutil.copytree(tmp_path / "store" / f"part-{rank}", folder / "store" / f"part-{rank}")
        folders.append(folder)
    done = machines(folders, f"{TRAIN} --json there.json")
    assert [each.returncode for each in done] == [0, 0], "\n".join(each.stderr for each in done)
    trained, expected = (
        [(e["loss"], e["val"]) for e in json.loads(path.read_text())["epochs"]]
        for path in (folders[0] / "there.json", tmp_path / "here.json")
    )
    assert trained == expected
    assert "epoch" in done[0].stdout
    assert done[1].stdout == ""

    damaged = folders[1] / "store" / "part-1" / "ids.npy"
    damaged.write_bytes(damaged.read_bytes()[:-8] + bytes(8))
    done = machines(folders, TRAIN)
    assert all(each.returncode for each in done)
    for each in done:
        assert "rank 1: store/part-1/ids.npy: damaged: its checksum is not the manifest's" in each.stderr
