# SPDX-License-Identifier: Apache-2.0
"""LEO's distributed file system on cores of the CPU, on those of an agent, and on both (thesis, figure 6.11)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import numpy as np

from offramp.leo.applications import dfs
from offramp.leo.applications.compare import running
from offramp.leo.native.dataflow import CPU
from offramp.leo.selection import Policy
from offramp.nic.process import AgentProcess
from offramp_base.errors import OfframpError

Ways = dict[str, list[float]]
_ACCELERATORS: Final = (dfs.ACCELERATOR, "acc2", "acc3", "acc4")
MOST_CORES: Final = len(_ACCELERATORS)


class Throughput(NamedTuple):
    """Chunks of 256 KB per second, medians.

    Attributes:
        cpu, nic: rates by number of cores, from 1 on; each on its own cores.
        mix: by cores of each, where there are twice as many.
    """

    cpu: list[float]
    nic: list[float]
    mix: list[float]

    @property
    def shares(self) -> list[float]:
        """Throughput of both together over the sum of each alone, by cores of each."""
        return [mix / (cpu + nic) for cpu, nic, mix in zip(self.cpu, self.nic, self.mix, strict=False)]


class DfsCase(NamedTuple):
    """A case to measure.

    Attributes:
        way: ``cpu``, ``nic`` or ``mix``.
        host: processors of requester, responder and their devices' threads.
        agent: the agent's cores; empty: no agent runs.
    """

    way: str
    host: Sequence[int]
    agent: Sequence[int]


def measure(
    seconds: float, rounds: int = 1, *, seed: int = 1, compression: str = "zlib", tell: Callable[[int, int], None]
) -> Throughput:
    """Measure all cases, alternating.

    The CPU's path has one thread on each side, on its cores. The agent has its own cores; requester and responder,
    which only hand chunks over, run on the others, or share its cores where there are no others.

    Raises:
        OfframpError: one processor only, an agent that does not start, or a chunk that was stored wrong.
    """
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise OfframpError("dfs on CPU and agent: needs two processors, one for each")
    counts = range(1, min(len(cpus), MOST_CORES) + 1)
    cases = [DfsCase(CPU, cpus[:n], ()) for n in counts]
    cases += [DfsCase("nic", cpus[:-n] or cpus, cpus[-n:]) for n in counts]
    cases += [DfsCase("mix", cpus[:n], cpus[-n:]) for n in counts if 2 * n <= len(cpus)]
    measured: list[list[float]] = [[] for _ in cases]
    for number in range(rounds):
        for place, case in enumerate(cases):
            measured[place].append(rate_of(case, seconds, seed + number, compression))
            tell(number * len(cases) + place + 1, rounds * len(cases))
    ways: Ways = {CPU: [], "nic": [], "mix": []}
    for case, rates in zip(cases, measured, strict=True):
        ways[case.way].append(float(np.median(rates)))
    return Throughput(ways[CPU], ways["nic"], ways["mix"])


def rate_of(case: DfsCase, seconds: float, seed: int = 1, compression: str = "zlib") -> float:
    """Chunks per second.

    Raises:
        OfframpError: as :func:`measure`.
    """
    with _only_on(case.host):
        if not case.agent:
            return _rate({CPU: f"cpu:{len(case.host)}"}, (CPU,), seconds, seed)
        cores = len(case.agent)
        where = ["--cpus", ",".join(map(str, case.agent))]
        with AgentProcess((), cores=cores, compression=compression, arguments=where) as agent:
            # A queue is served by one core: a device for each.
            devices = dict.fromkeys(_ACCELERATORS[:cores], f"nic:{agent.path}")
            if case.way == "mix":
                devices[CPU] = f"cpu:{len(case.host)}"
            return _rate(devices, tuple(devices), seconds, seed)


def _rate(devices: dict[str, str], used: Sequence[str], seconds: float, seed: int) -> float:
    """Chunks per second over the paths that use some devices, on either side."""
    application = dfs.application(devices, seed=seed)
    paths = [f"{near}-{far}" for near in used for far in used]
    with running(application) as run:
        outcome, _ = run(paths, {}, Policy.LOOKAHEAD, seed, None, seconds)
    if outcome.wrong:
        raise OfframpError(f"dfs: {outcome.wrong} chunks were stored incorrectly")
    return outcome.rate


@contextmanager
def _only_on(cpus: Sequence[int]) -> Iterator[None]:
    """Restrict this thread, and what it starts, to some processors."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
