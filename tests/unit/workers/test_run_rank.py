# SPDX-License-Identifier: Apache-2.0
"""A rank's program: it ends with the connection that started it, with all that it has started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUN = [sys.executable, "-m", "offramp.workers.run_rank"]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.mark.full
def test_a_program_ends_with_its_connection_and_what_it_started_ends_too(tmp_path):
    script = "sleep 600 & echo $!; exec sleep 601"
    with subprocess.Popen(
        [*RUN, "--while-connected", "--in", str(tmp_path), "sh", "-c", f"pwd; {script}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == f"{tmp_path}\n"
        child = int(process.stdout.readline())
        assert not gone(child)
        process.stdin.close()
        assert process.wait(60) == 128 + 15
    deadline = time.monotonic() + 60
    while not gone(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--while-connected", "sh", "-c", "exit 3"], 3, ""),
        (["--while-connected", "sh", "-c", "kill -9 $$"], 137, ""),
        (["--while-connected", "/no/such"], 127, "/no/such: No such file or directory\n"),
        (["/no/such"], 1, "/no/such: No such file or directory\n"),
        (["--log", "/no/such", "true"], 1, "the job's folder must be one that all hosts see\n"),
        (["--lock", "x", "true"], 1, "expected --log FOLDER, --in FOLDER, --while-connected, or a program\n"),
        ([], 1, "expected a program and its arguments\n"),
    ],
)
def test_how_it_ends(words, code, said):
    here, there = os.pipe()  # the connection lasts
    try:
        done = subprocess.run([*RUN, *words], stdin=here, capture_output=True, text=True, check=False)
    finally:
        os.close(here)
        os.close(there)
    assert done.returncode == code
    assert done.stderr.endswith(said)
