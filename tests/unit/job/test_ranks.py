# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not end when they are told to."""

from __future__ import annotations

import socket
import sys
import time
from dataclasses import replace

import pytest

from offramp.job import ranks as module
from offramp.job.ranks import RankProcesses

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
