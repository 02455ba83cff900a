# SPDX-License-Identifier: Apache-2.0
"""DPDK's testpmd as the limit of a link: one instance sends frames and receives what another one sends back."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Final, NamedTuple

from offramp_base.ending.children import until_parent_ends
from offramp_base.errors import OfframpError
from offramp_sim.nic.cpu_time import cpu_ns
from offramp_sim.nic.links import end

AF_PACKET: Final = "blocksz=65536,framesz=2048,framecnt=8192,qdisc_bypass=1"
"""Packet sockets, as the agent opens them."""
BURST: Final = 64
"""Frames in a burst, as in the agent."""
_FRAME: Final = 178
_START_S: Final = 30.0
_WARM: Final = 2
"""Reports at the start that do not count."""
_RECEIVED: Final = re.compile(r"RX-packets: +(\d+)")


class NoRateError(OfframpError):
    """testpmd is missing, does not start, or reports nothing: the limit of a link stays unknown."""


class Pace(NamedTuple):
    """Frames that came back, in both directions, the seconds, and processor time of the end that sends first."""

    frames: int
    seconds: float
    cpu_ns: int


def pace(link: str, near: str, far: str, seconds: float) -> Pace:
    """Measure a link for at least ``seconds``; on ``loop`` one testpmd receives what it sends itself.

    Raises:
        NoRateError: no testpmd, it does not start, reports nothing, or no frame comes back.
    """
    program = shutil.which("dpdk-testpmd")
    if program is None:
        raise NoRateError("dpdk-testpmd: not found: apt-get install dpdk-dev")
    alone = link == "loop"
    with (
        nullcontext() if alone else _run(program, far, "macswap"),
        _run(program, "net_ring0" if alone else near, "flowgen") as source,
    ):
        reports = _reports(source, time.monotonic() + _START_S + seconds)
        for _ in range(_WARM):
            next(reports)
        first, begun = next(reports), time.perf_counter()
        used = cpu_ns(source.pid)
        while True:
            last, took = next(reports), time.perf_counter() - begun
            if took >= seconds:
                if last == first:
                    raise NoRateError("dpdk-testpmd: no frame came back")
                return Pace(last - first, took, cpu_ns(source.pid) - used)


def _reports(process: subprocess.Popen[str], deadline: float) -> Iterator[int]:
    """Frames received so far and as many sent, once per second: lost frames do not count."""
    assert process.stdout is not None
    pipe, rest = process.stdout.fileno(), ""  # a buffered file would hold lines back that `select` does not see
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(pipe, 1 << 16)
        if not piece:
            break
        *lines, rest = (rest + piece.decode(errors="replace")).split("\n")
        yield from (2 * int(count) for line in lines for count in _RECEIVED.findall(line))
    raise NoRateError("dpdk-testpmd: reported no rates")


@contextmanager
def _run(program: str, port: str, mode: str) -> Iterator[subprocess.Popen[str]]:
    device = port if port.startswith("net_") else f"net_af_packet0,iface={port},{AF_PACKET}"
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    eal = ["--no-huge", "-m", "128", "--no-pci", "--no-shconf", "--no-telemetry", f"--lcores=(0-1)@({cpus})"]
    options = [
        f"--forward-mode={mode}",
        f"--txpkts={_FRAME}",
        f"--burst={BURST}",
        "--stats-period=1",
        "--total-num-mbufs=8192",
    ]
    process = subprocess.Popen(
        [*until_parent_ends(), "stdbuf", "-oL", program, *eal, f"--vdev={device}", "--", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        bufsize=1,
    )
    assert process.stdout is not None
    try:
        yield process
    finally:
        end(process, signal.SIGINT)
        process.stdout.close()
