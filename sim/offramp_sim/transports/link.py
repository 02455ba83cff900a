# SPDX-License-Identifier: Apache-2.0
"""Frames per second over one link, from a host to a switch port in another process and network namespace."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.iproute import ip
from offramp_base.transport import FrameIO, open_io
from offramp_base.transport.links import TRANSPORTS
from offramp_p4.bench.namespace import in_namespace
from offramp_p4.veth_links import VethLinks
from offramp_sim.transports import sink
from offramp_sim.transports.report import ACKNOWLEDGED, frames, reported

BURST: Final = ACKNOWLEDGED
WINDOW: Final = 8 * ACKNOWLEDGED
"""Most frames in flight, so that a slow reader slows the link down instead of losing frames."""
MTU: Final = 1600
"""MTU with room for a datagram that carries a frame of 1,500 bytes."""
_TIMEOUT_S: Final = 5.0
_HOST, _FAR = "192.0.2.1", "192.0.2.2"  # for documentation, RFC 5737: nobody's


@dataclass(frozen=True, slots=True)
class LinkRate:
    """A measurement: ``frames`` of ``size`` bytes crossed in ``seconds``; ``lost`` were sent and did not arrive."""

    transport: str
    size: int
    frames: int
    seconds: float
    lost: int

    @property
    def frames_per_s(self) -> float:
        """Frames per second that crossed the link."""
        return self.frames / self.seconds

    @property
    def gbit_per_s(self) -> float:
        """Gigabits per second of these frames."""
        return 8e-9 * self.size * self.frames_per_s


def measure_link(transport: str, size: int, seconds: float, seed: int = 0) -> LinkRate:
    """Send frames of ``size`` bytes for ``seconds``, over a veth pair between two namespaces, or on this machine.

    Raises:
        OfframpError: no right to make namespaces, or the link does not work.
    """
    if TRANSPORTS[transport].where == "PATH":
        with temporary_folder() as folder:
            return _measure(transport, [], f"{transport}:{folder}/port", size, seconds, seed)
    return in_namespace(lambda: _over_veth(transport, size, seconds, seed))


def _over_veth(transport: str, size: int, seconds: float, seed: int) -> LinkRate:
    pairs = VethLinks([1], MTU)
    if TRANSPORTS[transport].on_interface:
        with _far_end(pairs.launcher, f"{transport}:{pairs.switch_ends[0]}") as (process, _):
            pairs.up()
            return _play(transport, f"{transport}:{pairs.host_ends[0]}", process, size, seconds, seed)
    with _far_end(pairs.launcher, f"udp:{_FAR}:7001,insecure", f"{_FAR}/24") as (process, link):
        ip("addr", "add", f"{_HOST}/24", "dev", pairs.host_ends[0])
        pairs.up()
        return _play(transport, link, process, size, seconds, seed)


def _measure(transport: str, launcher: list[str], link: str, size: int, seconds: float, seed: int) -> LinkRate:
    with _far_end(launcher, link) as (process, name):
        return _play(transport, name, process, size, seconds, seed)


@contextmanager
def _far_end(launcher: list[str], *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the far end; yields the process, which listens, and the name of its link."""
    command = [*launcher, sys.executable, "-m", sink.__name__, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = _pipe(process.stdout).readline()
            if not line:
                errors = _pipe(process.stderr).read().strip().splitlines()
                raise OfframpError(f"far end of the link: {errors[-1] if errors else 'ended'}")
            yield process, json.loads(line)["link"]
        finally:
            _pipe(process.stdin).close()


def _play(transport: str, link: str, process: subprocess.Popen[str], size: int, seconds: float, seed: int) -> LinkRate:
    with closing(open_io(link)) as io:
        sent, arrived, took = _send(io, size, seconds, seed)
        _drain(io, sent, arrived)
    _pipe(process.stdin).close()
    counts: dict[str, Any] = json.loads(_pipe(process.stdout).readline())
    return LinkRate(transport, size, arrived, took, sent - counts["received"])


def _send(io: FrameIO, size: int, seconds: float, seed: int) -> tuple[int, int, float]:
    """Frames sent, frames that the far end reported, and the time from the first frame to the last report.

    Raises:
        OfframpError: no report in :data:`_TIMEOUT_S` seconds.
    """
    batch = frames(BURST, size, seed)
    sent = arrived = 0
    start = last = time.perf_counter()
    while last - start < seconds or not arrived:
        # The first burst alone: while the kernel asks who has an address, it keeps few frames.
        if sent - arrived < (WINDOW if arrived else 1):
            io.send(batch)
            sent += BURST
        before = arrived
        arrived = reported(io.receive(0.0 if arrived and sent - arrived < WINDOW else _TIMEOUT_S), arrived)
        now = time.perf_counter()
        if arrived > before:
            last = now
        elif now - last > _TIMEOUT_S:
            raise OfframpError(f"of {sent} frames of {size} bytes {sent - arrived} did not arrive")
    return sent, arrived, last - start


def _drain(io: FrameIO, sent: int, arrived: int) -> None:
    """Wait until all frames have arrived, or no more arrive."""
    while arrived < sent and len(batch := io.receive(_TIMEOUT_S)):
        arrived = reported(batch, arrived)


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
