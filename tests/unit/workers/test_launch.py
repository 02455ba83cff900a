# SPDX-License-Identifier: Apache-2.0
"""Runs whose ranks a launcher starts: processes that have srun's variables, on the loopback interface.

Blind to Slurm itself; torchrun starts ranks in tests/e2e/test_train.py and tests/unit/unitg/test_run.py.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

RUN = ["train", "dgs", "--graph", "karate", "--epochs", "2", "--batch", "4", "--fanout", "5", "--period", "2"]


def srun(offramp: Path, arguments: list[str], size: int) -> list[subprocess.CompletedProcess[str]]:
    """``offramp`` with each rank's variables, at the same time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        "SLURM_NTASKS": str(size),
        "SLURM_NODELIST": "localhost",
        "SLURM_STEP_ID": "0",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
    }
    command = [offramp, *arguments]
    started = [
        subprocess.Popen(
            command,
            env=os.environ | shared | {"SLURM_PROCID": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        outputs = [process.communicate(timeout=240) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    return [
        subprocess.CompletedProcess(command, process.returncode, *output)
        for process, output in zip(started, outputs, strict=True)
    ]


@pytest.mark.parametrize("explain", ["beside", "inline"])
def test_srun_starts_the_ranks(tmp_path: Path, warm_folder: Path, explain: str) -> None:
    """Rank 0 alone prints and writes; the losses are those of processes of our own."""
    paths = [tmp_path / "srun.json", tmp_path / "here.json"]
    arguments = [*RUN, "--explain", explain, "--lag", "0", "--workers", "2", "--json"]
    offramp = warm_folder / "offramp"
    leader, other = srun(offramp, [*arguments, str(paths[0])], 2)
    assert (leader.returncode, other.returncode) == (0, 0), leader.stderr + other.stderr
    assert leader.stdout.count("epoch 2/2") == 1
    assert other.stdout == ""
    subprocess.run([offramp, *arguments, str(paths[1])], check=True, capture_output=True)
    results = [json.loads(path.read_text()) for path in paths]
    losses = [[epoch["loss"] for epoch in result["per_epoch"]] for result in results]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert results[0]["bytes"] == results[1]["bytes"]


def test_a_plan_that_fails_ends_every_rank(warm_folder: Path) -> None:
    """The others do not wait for a rank 0 that is gone."""
    leader, other = srun(warm_folder / "offramp", [*RUN, "--workers", "2", "--graph", "missing.npz"], 2)
    assert (leader.returncode, other.returncode) == (2, 2), leader.stderr + other.stderr
    assert "missing.npz" in leader.stderr
    assert len(other.stderr.strip().splitlines()) == 1, other.stderr
    assert "missing.npz" in other.stderr or "another rank is gone" in other.stderr
