# SPDX-License-Identifier: Apache-2.0
"""The agent, built once in a folder of the machine's cache; tests that need it skip where it cannot be built.

OFFRAMP_NIC_SANITIZE=address,undefined or thread runs all of them on such a build, OFFRAMP_NIC_ARCH=aarch64 on one for
64-bit Arm under qemu-user, which has no packet rings on interfaces: tests in namespaces are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nic_agent import built, emulated
from offramp.cmake import cpp_sources
from offramp.nic.process import AgentProcess

ARM = os.environ.get("OFFRAMP_NIC_ARCH", "native") == "aarch64"
SANITIZE = os.environ.get("OFFRAMP_NIC_SANITIZE", "")


@pytest.fixture(autouse=True)
def possible(request: pytest.FixtureRequest) -> None:
    """Skip what an emulated agent cannot do."""
    if ARM and request.node.get_closest_marker("netns") is not None:
        pytest.skip("qemu-user has no packet rings on interfaces")
    if ARM and request.node.name.endswith("[isal]"):
        pytest.skip("Debian has no ISA-L driver for arm64")


@pytest.fixture(autouse=True, scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Sanitizers write what they find to a folder, whichever process they are in; in the end nothing is there."""
    if not SANITIZE:
        yield
        return
    folder = tmp_path_factory.mktemp("sanitizers")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("ASAN", "UBSAN", "TSAN"):
            patch.setenv(f"{name}_OPTIONS", f"log_path={folder}/{name}")
        patch.setenv("TSAN_OPTIONS", f"log_path={folder}/TSAN:suppressions={cpp_sources() / 'tests' / 'tsan.supp'}")
        yield
    reports = sorted(folder.iterdir())
    assert not reports, reports[0].read_text(errors="replace")[:4000]


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with the agent and its test programs."""
    if ARM:
        return emulated()
    return built(sanitize=SANITIZE)


@pytest.fixture(scope="module")
def agent(programs: Path) -> Iterator[AgentProcess]:
    """An agent without ports."""
    with AgentProcess(program=programs / "offramp-nic-agent", cores=2) as running:
        yield running
