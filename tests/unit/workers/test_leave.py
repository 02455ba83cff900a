# SPDX-License-Identifier: Apache-2.0
"""A rank that a launcher started ends by itself, with what is registered for the end; others end as Python does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys
from offramp.workers.leave import leave_as_rank

atexit.register(print, "registered")
sys.stdout.write("written ")
leave_as_rank({code})
print("returned")
"""
RANK = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("rank", "code", "status", "output", "error"),
    [
        (RANK, "None", 0, "written registered\n", ""),
        (RANK, "0", 0, "written registered\n", ""),
        (RANK, "3", 3, "written registered\n", ""),
        (RANK, "'a line'", 1, "written registered\n", "a line\n"),
        ({}, "3", 0, "written returned\nregistered\n", ""),
        ({"RANK": "x"}, "3", 0, "written returned\nregistered\n", ""),
    ],
)
def test_a_rank_leaves(rank: dict[str, str], code: str, status: int, output: str, error: str) -> None:
    apart = {name: value for name, value in os.environ.items() if name not in RANK and not name.startswith("SLURM")}
    command = [sys.executable, "-c", PROGRAM.format(code=code)]
    done = subprocess.run(command, env={**apart, **rank}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, output, error)
