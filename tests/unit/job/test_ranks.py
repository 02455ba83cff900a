# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not end when they are told to, and ranks whose command is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from offramp.job import ranks as module
from offramp.job.ranks import RankProcesses
from offramp_base.ending.owner import is_process, owner_of

STUBBORN = """
import os, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    open(sys.argv[2], "w").close()
time.sleep(600)
"""


def test_the_port_of_a_rank_that_had_to_be_killed_is_free(racks, job, tmp_path, monkeypatch) -> None:
    """The next attempt listens at the same port at once."""
    monkeypatch.setattr(module, "_GRACE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    there = tmp_path / "there"
    stubborn = replace(job, command=(sys.executable, "-c", STUBBORN, str(port), str(there)))
    host = replace(racks.hosts[0], reach="local")
    ranks = RankProcesses(stubborn, racks, [host], None, tmp_path)
    ranks.start()
    deadline = time.monotonic() + 60
    while not there.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    ranks.stop()
    for _ in range(100):
        try:
            socket.create_server(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.02)
    else:
        pytest.fail("somebody still listens")


COMMAND = """
import sys
from dataclasses import replace
from pathlib import Path
from offramp.cluster import parse_cluster
from offramp.job.ranks import RankProcesses
from offramp.job.settings import JobSettings
cluster = parse_cluster("name: a\\nhosts: [{name: h1, reach: local}]\\n")
ranks = RankProcesses(JobSettings(command=("sleep", "600")), cluster, cluster.hosts, None, Path(sys.argv[1]))
ranks.start()
print(ranks.processes[0].pid, flush=True)
ranks.wait()
"""


def test_a_rank_ends_with_its_command_even_if_that_is_killed(tmp_path) -> None:
    with subprocess.Popen([sys.executable, "-c", COMMAND, str(tmp_path)], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        rank = owner_of(int(command.stdout.readline()))
        assert is_process(rank)
        os.kill(command.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while is_process(rank):
        assert time.monotonic() < deadline
        time.sleep(0.01)
