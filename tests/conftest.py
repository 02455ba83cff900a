# SPDX-License-Identifier: Apache-2.0
"""Options and fixtures of all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from importlib.util import find_spec
from multiprocessing import forkserver
from pathlib import Path

import pytest
from hypothesis import settings

import warm_commands
from offramp.workers import processes

pytest_plugins = ["optional_packages", "tiers"]

# No example has a deadline: a busy machine is no fault. Every run sees the same examples.
settings.register_profile("offramp", deadline=None, derandomize=True)
settings.load_profile("offramp")

# Whoever starts the tests behind nohup has them ignore SIGHUP, and so would every command that they start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Ranks are forks of one server. Most that need PyTorch in tests also need PyTorch Geometric: seconds for each of them.
# Importing it starts CUDA where there is a GPU, and no fork of a process that has started CUDA can use one.
if not Path("/dev/nvidiactl").exists():
    processes.PRELOAD.append("torch_geometric")


def pytest_sessionstart(session: pytest.Session) -> None:
    """In one of several processes, which will meet ranks sooner or later, start that server before anyone else does.

    There is one in a process, and it imports what the first to start it asks for; some ask for less.
    """
    if hasattr(session.config, "workerinput") and find_spec("torch_geometric"):
        processes.server()
        forkserver.ensure_running()


@pytest.fixture(scope="session")
def warm_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an ``offramp`` whose modules are imported already (:mod:`warm_commands`)."""
    folder = tmp_path_factory.mktemp("warm")
    server = warm_commands.start(folder)
    try:
        yield folder
    finally:
        server.communicate()
