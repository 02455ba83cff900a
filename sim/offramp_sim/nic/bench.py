"""SwitchGNN's frames a second: the agent, the transport in Python, and DPDK's testpmd as the limit, on the same ports.

The other end of the link answers each upload with the result that a switch would send if every vertex were its own
only neighbour (``offramp-nic-agent --reflect``), so the sums are the features, and nothing but the worker's own side
and the link sets the pace.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from offramp.errors import OfframpError
from offramp.iproute import ip
from offramp.nic.build import agent_program
from offramp.nic.process import AgentProcess
from offramp.nic.worker import NicWorker
from offramp.switch.switchgnn.recovery import Recovery
from offramp.switch.switchgnn.worker import Worker
from offramp.transport import open_io
from offramp_sim.p4.bench.namespace import in_namespace
from offramp_sim.switchgnn.jobs import random_job

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.train.carrier import Exchanger

VERTICES: Final = 4000
FEATURES: Final = 128
LINKS: Final = ("veth", "memif")
WAYS: Final = ("python", "agent", "testpmd")
_TIMEOUT_S: Final = 60.0
_START_S: Final = 20.0
_RATE: Final = re.compile(r"(Rx|Tx)-pps: +(\d+)")
AF_PACKET: Final = "blocksz=65536,framesz=2048,framecnt=8192,qdisc_bypass=1"
"""As the agent opens packet sockets."""
_FRAME: Final = 178


class NicRate(NamedTuple):
    """Frames both ways in so many seconds; ``lost`` ones were asked for again."""

    link: str
    way: str
    frames: int
    seconds: float
    lost: int

    @property
    def frames_per_s(self) -> float:
        """Frames a second, both ways."""
        return self.frames / self.seconds


def measure(link: str, way: str, seconds: float, seed: int = 0) -> NicRate:
    """One measurement.

    Args:
        link: ``veth`` (packet sockets) or ``memif`` (shared memory between two processes).
        way: ``python``, ``agent`` or ``testpmd``.
        seconds: at least so long.
        seed: of graph and features.

    Raises:
        OfframpError: no root, no testpmd, Python on memif, or a wrong sum.
    """
    if way == "python" and link != "veth":
        raise OfframpError(f"the transport in Python has no {link}")
    return in_namespace(lambda: _measure(link, way, seconds, seed))


def _measure(link: str, way: str, seconds: float, seed: int) -> NicRate:
    with ExitStack() as stack:
        near, far = stack.enter_context(_ends(link))
        if way == "testpmd":
            return _testpmd(link, near, far, seconds)
        stack.enter_context(_reflector(far))
        job = random_job(seed, vertices=VERTICES, edges=5 * VERTICES, workers=2, limit=VERTICES, features=(FEATURES,))
        recovery = Recovery(1.0, 2.0)
        worker: Worker | NicWorker
        if way == "agent":
            agent = stack.enter_context(AgentProcess([near], compression="none", arguments=["--spin"]))
            worker = NicWorker(0, job.plans, f"nic:{agent.path}#0", _TIMEOUT_S, recovery=recovery)
            stack.enter_context(closing(worker))
        else:
            io = stack.enter_context(closing(open_io(near)))
            worker = Worker(0, job.plans, io, _TIMEOUT_S, recovery=recovery)
        worker.start()
        rows = worker.boundary(0)
        values = np.random.default_rng(seed).integers(-(2**20), 2**20, (len(rows), FEATURES)).astype(np.int32)
        return _exchange(link, way, worker, values, seconds)


def _exchange(link: str, way: str, worker: Exchanger, values: npt.NDArray[np.int32], seconds: float) -> NicRate:
    _once(worker, values)  # everything is warm after this
    before = worker.stats.up.packets + worker.stats.down.packets
    fetched = worker.stats.fetches
    start = time.perf_counter()
    while (took := time.perf_counter() - start) < seconds:
        _once(worker, values)
    took = time.perf_counter() - start
    frames = worker.stats.up.packets + worker.stats.down.packets - before
    return NicRate(link, way, frames, took, worker.stats.fetches - fetched)


def _once(worker: Exchanger, values: npt.NDArray[np.int32]) -> None:
    if not np.array_equal(worker.exchange(0, values), values):  # all edges are in one block
        raise OfframpError("the sums are not those that the other end made")


@contextmanager
def _ends(link: str) -> Iterator[tuple[str, str]]:
    """Both ends of a link as ports of the agent."""
    if link == "memif":
        with tempfile.TemporaryDirectory(prefix="offramp-") as folder:
            base = f"socket={folder}/memif.sock,socket-abstract=no,bsize=2048,rsize=11"
            yield f"net_memif0,role=client,{base}", f"net_memif0,role=server,{base}"
        return
    name = secrets.token_hex(3)
    near, far = f"n{name}", f"f{name}"
    ip("link", "set", "lo", "up")
    ip("link", "add", near, "type", "veth", "peer", "name", far)
    for end in (near, far):
        ip("link", "set", end, "addrgenmode", "none", "up")
    try:
        yield near, far
    finally:
        ip("link", "del", near)


@contextmanager
def _reflector(port: str) -> Iterator[None]:
    command = [str(agent_program()), "--reflect", "--compression", "none", "--port", port]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        if not process.stdout.readline().startswith("ready"):
            raise OfframpError("the other end of the link did not start")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _testpmd(link: str, near: str, far: str, seconds: float) -> NicRate:
    """What a testpmd sends, and gets back from another that turns frames round."""
    program = shutil.which("dpdk-testpmd")
    if program is None:
        raise OfframpError("dpdk-testpmd: not found: apt-get install dpdk")
    with _pmd(program, far, "macswap"), _pmd(program, near, "flowgen") as source:
        assert source.stdout is not None
        rates: list[int] = []
        deadline = time.monotonic() + _START_S + seconds
        while len(rates) < 2 * (max(1, round(seconds)) + 2) and time.monotonic() < deadline:
            rates += [int(rate) for _, rate in _RATE.findall(source.stdout.readline())]
    steady = rates[4:]  # the first two reports are of its start
    if not steady:
        raise OfframpError("dpdk-testpmd: reported no rates")
    return NicRate(link, "testpmd", 2 * sum(steady) // len(steady), 1.0, 0)


@contextmanager
def _pmd(program: str, port: str, mode: str) -> Iterator[subprocess.Popen[str]]:
    device = port if port.startswith("net_") else f"net_af_packet0,iface={port},{AF_PACKET}"
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    eal = ["--no-huge", "-m", "128", "--no-pci", "--no-shconf", "--no-telemetry", f"--lcores=(0-1)@({cpus})"]
    options = [f"--forward-mode={mode}", f"--txpkts={_FRAME}", "--stats-period=1", "--total-num-mbufs=8192"]
    process = subprocess.Popen(
        [program, *eal, f"--vdev={device}", "--", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
