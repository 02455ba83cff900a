# SPDX-License-Identifier: Apache-2.0
"""Every command that trains resumes in processes of its own, to the bit.

Blind to machines that fail while a checkpoint is written (``tests/unit/train/test_checkpoint.py``), and to several of
them.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

EPOCHS = 40
COMMANDS = {
    "old rows": "train --workers 2 --propagator p2p --schedule stale --dropout 0.2",
    "masks": "train dgs --workers 2",
    "stages": "train unitg --stages 2 --mode sequential",
}
SLOW = {
    "sums of codes": "train --workers 2 --propagator switch --codec q4 --dropout 0.2",
    "sequences": "train torchgt --workers 2 --dropout 0.1",
}


def losses(path: Path) -> list[float]:
    result = json.loads(path.read_text())
    rows = [value for value in result.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    return [row["loss"] for row in next(each for each in rows if "loss" in each[0])]


def run(folder: Path, warm_folder: Path, line: str) -> subprocess.Popen[str]:
    words = [warm_folder / "offramp", *line.split(), "--graph", "karate", "--epochs", str(EPOCHS)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    "command",
    [
        *(pytest.param(command, id=name) for name, command in COMMANDS.items()),
        *(pytest.param(command, id=name, marks=pytest.mark.slow) for name, command in SLOW.items()),
    ],
)
def test_it_resumes(command: str, tmp_path: Path, warm_folder: Path) -> None:
    """From the first checkpoint, which the whole run replaces later."""
    with run(tmp_path, warm_folder, f"{command} --checkpoint run.npz --checkpoint-every 3 --json whole.json") as whole:
        while whole.poll() is None and not (tmp_path / "run.npz").exists():
            time.sleep(0.002)
        if whole.poll() is None:
            (tmp_path / "kept.npz").hardlink_to(tmp_path / "run.npz")
        assert whole.wait() == 0, whole.stderr and whole.stderr.read()
    with run(tmp_path, warm_folder, f"{command} --resume kept.npz --json rest.json") as rest:
        assert rest.wait() == 0, rest.stderr and rest.stderr.read()
    with np.load(tmp_path / "kept.npz") as kept:
        done = int(kept["epoch"])
    assert losses(tmp_path / "rest.json") == losses(tmp_path / "whole.json")[done:]
    assert 3 <= done < EPOCHS
