# SPDX-License-Identifier: Apache-2.0
"""A process that leads a session ends with all that it has started."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from offramp_base.ending.children import stop_group

LEADER = """
import os, signal, subprocess, sys, time
{guard}
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("guard", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"], ids=["heeds", "ignores"])
def test_what_a_leader_has_started_ends_with_it(guard: str) -> None:
    leader = subprocess.Popen(
        [sys.executable, "-c", LEADER.format(guard=guard)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert leader.stdout is not None
    child = int(leader.stdout.readline())
    stop_group(leader, 0.3)
    assert leader.poll() is not None
    status = Path(f"/proc/{child}/stat")  # it is gone, or a zombie that nobody has waited for yet
    deadline = time.monotonic() + 10
    while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline, "the child still runs"
        time.sleep(0.01)
    leader.stdout.close()
