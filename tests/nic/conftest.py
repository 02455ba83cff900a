"""The agent, built once in a folder of the machine's cache; tests that need it skip where it cannot be built.

OFFRAMP_NIC_SANITIZE=address,undefined or thread runs all of them on such a build.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nic_agent import built
from offramp.nic.process import AgentProcess


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with the agent and its test programs."""
    return built(sanitize=os.environ.get("OFFRAMP_NIC_SANITIZE", ""))


@pytest.fixture(scope="module")
def agent(programs: Path) -> Iterator[AgentProcess]:
    """An agent without ports."""
    with AgentProcess(program=programs / "offramp-nic-agent", cores=2) as running:
        yield running
