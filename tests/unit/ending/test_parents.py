# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of their parent end with it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from offramp_base.ending.children import until_parent_ends

PROGRAM = """
import subprocess, time
from offramp_base.ending.children import until_parent_ends
print(subprocess.Popen([*until_parent_ends(), "sleep", "60"]).pid, flush=True)
time.sleep(60)
"""


def running(process: Path) -> bool:
    """Whether a process of /proc has not ended."""
    try:
        return " Z " not in (process / "stat").read_text("ascii", "replace")
    except OSError:
        return False


def test_a_program_ends_when_its_parent_is_killed() -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not installed")
    parent = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        child = Path("/proc", parent.stdout.readline().strip())
        deadline = time.monotonic() + 20
        while (child / "cmdline").read_bytes().split(b"\0")[0] != b"sleep":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        parent.send_signal(signal.SIGKILL)
    while running(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_without_setpriv_there_is_no_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert until_parent_ends() == []
