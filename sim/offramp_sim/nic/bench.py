# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's frames per second: the agent, the transport in Python, and DPDK's testpmd as the limit, on equal ports.

The other end of the link answers each upload with the result that a switch would send if every vertex were its own
only neighbour (``offramp-nic-agent --reflect``), so the sums are the features, and nothing but the worker's own side
and the link sets the pace.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from offramp.nic.process import AgentProcess
from offramp.switchgnn.nic_worker import NicWorker
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.worker import Worker
from offramp_base.errors import OfframpError
from offramp_base.transport import open_io
from offramp_p4.bench.namespace import in_namespace
from offramp_sim.nic.cpu_time import cpu_ns
from offramp_sim.nic.links import ends, reflector
from offramp_sim.nic.testpmd import pace
from offramp_sim.switchgnn.jobs import random_job

if TYPE_CHECKING:
    import numpy.typing as npt

VERTICES: Final = 4000
"""Vertices of the graph; half are the worker's, in one block, with longer runs of frames than most blocks."""
FEATURES: Final = 128
WAYS: Final = ("python", "agent", "testpmd")
_TIMEOUT_S: Final = 20.0


class NicRate(NamedTuple):
    """Frames in both directions, and the seconds that they took.

    Attributes:
        host_ns: processor time of the worker's process.
        nic_ns: processor time of the agent or testpmd; on ``loop`` it includes the link's other end, which is in the
            same process.
    """

    link: str
    way: str
    frames: int
    seconds: float
    host_ns: int
    nic_ns: int

    @property
    def frames_per_s(self) -> float:
        """Frames per second, both ways."""
        return self.frames / self.seconds

    @property
    def cpu_ns_per_frame(self) -> float:
        """Processor time of host and agent for a frame."""
        return (self.host_ns + self.nic_ns) / self.frames


def measure(link: str, way: str, seconds: float, seed: int = 0, vertices: int = VERTICES) -> NicRate:
    """Measure one link in one way.

    Args:
        link: one of :data:`offramp_sim.nic.links.LINKS`.
        way: ``python``, ``agent`` or ``testpmd``.
        seconds: least duration.
        seed: seed of graph and features.
        vertices: vertices of the graph, all in one block.

    Raises:
        OfframpError: no root, no testpmd, Python on other links than veth, or a wrong sum.
    """
    if way == "python" and link != "veth":
        raise OfframpError(f"the Python transport does not support {link}")
    return in_namespace(lambda: _measure(link, way, seconds, seed, vertices))


def _measure(link: str, way: str, seconds: float, seed: int, vertices: int) -> NicRate:
    with ExitStack() as stack:
        near, far = stack.enter_context(ends(link))
        if way == "testpmd":
            measured = pace(link, near, far, seconds)
            return NicRate(link, way, measured.frames, measured.seconds, 0, measured.cpu_ns)
        if far:
            stack.enter_context(reflector(far))
        job = random_job(seed, vertices=vertices, edges=5 * vertices, workers=2, limit=vertices, features=(FEATURES,))
        recovery = Recovery(1.0, 2.0)
        worker: Worker | NicWorker
        used: Callable[[], int] = int
        if way == "agent":
            agent = stack.enter_context(AgentProcess([near], compression="none"))
            worker = NicWorker(0, job.plans, f"nic:{agent.path}#0", _TIMEOUT_S, recovery=recovery)
            stack.enter_context(closing(worker))
            used = lambda: cpu_ns(agent.pid)  # noqa: E731 (an agent is not always there)
        else:
            io = stack.enter_context(closing(open_io(near)))
            worker = Worker(0, job.plans, io, _TIMEOUT_S, recovery=recovery)
        worker.start()
        return _exchange(link, way, worker, seconds, seed, used)


def _exchange(
    link: str, way: str, worker: Worker | NicWorker, seconds: float, seed: int, nic_used: Callable[[], int]
) -> NicRate:
    rows = len(worker.boundary(0))
    values = np.random.default_rng(seed).integers(-(2**20), 2**20, (rows, FEATURES)).astype(np.int32)
    check_sums(worker.exchange(0, values), values)  # everything is warm after this
    before = worker.stats.up.packets + worker.stats.down.packets
    host, nic = cpu_ns(os.getpid()), nic_used()
    begun = time.perf_counter()
    while True:
        sums = worker.exchange(0, values)
        took = time.perf_counter() - begun
        if took >= seconds:
            break
    host, nic = cpu_ns(os.getpid()) - host, nic_used() - nic
    check_sums(sums, values)
    return NicRate(link, way, worker.stats.up.packets + worker.stats.down.packets - before, took, host, nic)


def check_sums(sums: npt.NDArray[np.int64], values: npt.NDArray[np.int32]) -> None:
    """Check that the other end answered each frame.

    Raises:
        OfframpError: it did not.
    """
    if not np.array_equal(sums, values):  # all edges are in one block
        raise OfframpError("the sums differ from those of the other end")
