# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import warm_commands
from offramp.workers import processes

# No example has a deadline: a busy machine is no fault. Every run sees the same examples.
settings.register_profile("offramp", deadline=None, derandomize=True)
settings.load_profile("offramp")

# Whoever starts the tests behind nohup has them ignore SIGHUP, and so would every command that they start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Ranks are forks of one server. Most that need PyTorch in tests also need PyTorch Geometric: seconds for each of them.
processes.PRELOAD.append("torch_geometric")


@pytest.fixture(scope="session")
def warm_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an ``offramp`` whose modules are imported already (:mod:`warm_commands`)."""
    folder = tmp_path_factory.mktemp("warm")
    server = warm_commands.start(folder)
    try:
        yield folder
    finally:
        server.communicate()
