# SPDX-License-Identifier: Apache-2.0
"""Two leaves and a spine on sockets, which nothing of a test may change for good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from offramp.cluster import Cluster, parse_cluster
from offramp.job.settings import JobSettings
from offramp.job.snapshot import SwitchSnapshot
from offramp.job.switches import with_switch
from offramp_base.ending.left import temporary_folder
from offramp_sim.lab.holder import addressed, build
from offramp_sim.lab.keeper import Keeper

RACKS = """\
name: racks
hosts:
  - {name: "h[1-4]"}
switches:
  - {name: "leaf[1-2]", memory: 8MB, control: "10.0.0.1:9559"}
  - {name: spine, memory: 8MB, control: "10.0.0.9:9559"}
links:
  - {ends: ["h[1-2]", leaf1], rate: 100mbit}
  - {ends: ["h[3-4]", leaf2], rate: 100mbit}
  - {ends: ["leaf[1-2]", spine], rate: 400mbit}
"""


@pytest.fixture
def racks() -> Cluster:
    return addressed(parse_cluster(RACKS))


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    """The same as a laboratory without namespaces, in this process, which nobody looks after unless the test does."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(temporary_folder()))
        yield build(addressed(parse_cluster(RACKS)), folder, "sockets", stack)


@pytest.fixture(scope="module")
def lab(keeper: Keeper) -> Cluster:
    """Its cluster."""
    return keeper.lab.cluster()


@pytest.fixture
def states(lab: Cluster) -> Callable[[], dict[str, SwitchSnapshot]]:
    """The present state of each switch."""

    def look() -> dict[str, SwitchSnapshot]:
        snapshots: dict[str, SwitchSnapshot] = {}
        for switch in lab.switches:
            with_switch(
                switch, lambda session, name=switch.name: snapshots.__setitem__(name, SwitchSnapshot.take(session))
            )
        return snapshots

    return look


@pytest.fixture
def job() -> JobSettings:
    return JobSettings(command=("true",), all_reduce=10_000_000, segments=4)


@pytest.fixture
def failing(job: JobSettings) -> JobSettings:
    return replace(job, command=("sh", "-c", "echo no such data; exit 3"))
