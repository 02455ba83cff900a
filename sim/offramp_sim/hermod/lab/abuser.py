# SPDX-License-Identifier: Apache-2.0
"""A process that floods the ranks at a DSCP of the job, from addresses of the ranks, in bursts and many flows."""

from __future__ import annotations

import errno
import signal
import socket
import struct
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from offramp_base.ending.children import ends_with_parent
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import ipv4_checksum
from offramp_sim.hermod.lab.addresses import INTERFACE, address, mac
from offramp_sim.hermod.lab.namespace import bring_up, enter_new, enter_of
from offramp_sim.hermod.lab.scenario import Abuse, LabScenario

_PAYLOAD: Final = 1400
_ETHERTYPE_IPV4: Final = 0x0800
_UDP: Final = 17
_ETHERNET_BYTES, _IPV4_BYTES, _UDP_BYTES = 14, 20, 8
_POLL_S: Final = 1e-3
_FULL: Final = (errno.ENOBUFS, errno.EAGAIN)
_STARTS_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Signals:
    """Files by which an experiment signals the start and the end of the coflows."""

    begun: Path
    ended: Path


class Abuser:
    """A process that abuses the network while its block runs; a context manager.

    Args:
        scenario: ranks and rate.
        abuse: the misbehaviour.
        signals: when it starts and ends.
    """

    def __init__(self, scenario: LabScenario, abuse: Abuse, signals: Signals) -> None:
        self._scenario, self._abuse, self._signals = scenario, abuse, signals
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def start(self, thread: int | None) -> int:
        """Start the process; returns the thread whose namespace it is in.

        Args:
            thread: whose namespace it shares; None: one of its own.

        Raises:
            OfframpError: it fails.
        """
        from offramp.workers.processes import server

        context = server()
        ours, theirs = context.Pipe(duplex=False)
        arguments = (self._scenario, self._abuse, self._signals, thread, theirs)
        self._process = context.Process(target=_run, args=arguments, name="abuser", daemon=True)
        self._process.start()
        theirs.close()
        self._pipe = ours
        return self._heard()

    def sent(self) -> int:
        """Frames that it sent, once the end has been signalled.

        Raises:
            OfframpError: the process failed meanwhile.
        """
        return self._heard()

    def _heard(self) -> int:
        assert self._pipe is not None
        try:
            content = self._pipe.recv() if self._pipe.poll(_STARTS_S) else None
        except (EOFError, ConnectionError):
            content = None
        if not isinstance(content, int):
            raise OfframpError(f"abuser: {content or 'died'}")
        return content


def frames(scenario: LabScenario, abuse: Abuse, target: int) -> list[bytes]:
    """One frame of each flow to a rank; their sources are the other ranks' addresses."""
    others = [rank for rank in range(scenario.ranks) if rank != target]
    return [_frame(others[flow % len(others)], target, 1024 + flow, abuse.dscp) for flow in range(abuse.flows)]


def _frame(source: int, target: int, port: int, dscp: int) -> bytes:
    ethernet = mac(target).to_bytes(6, "big") + mac(source).to_bytes(6, "big") + struct.pack("!H", _ETHERTYPE_IPV4)
    length = _IPV4_BYTES + _UDP_BYTES + _PAYLOAD
    addresses = socket.inet_aton(address(source)) + socket.inet_aton(address(target))
    header = struct.pack("!BBHHHBBH", 0x45, dscp << 2, length, 0, 0, 64, _UDP, 0) + addresses
    header = header[:10] + struct.pack("!H", ipv4_checksum(header)) + header[12:]
    udp = struct.pack("!HHHH", port, 9, _UDP_BYTES + _PAYLOAD, 0)
    return ethernet + header + udp + bytes(_PAYLOAD)


def _run(scenario: LabScenario, abuse: Abuse, signals: Signals, thread: int | None, pipe: Connection) -> None:
    ends_with_parent()
    try:
        if thread is None:
            enter_new()
        else:
            enter_of(thread)
        pipe.send(threading.get_native_id())
        if thread is None:
            bring_up(INTERFACE, mac(scenario.ranks), f"{address(scenario.ranks)}/24")
        pipe.send(_flood(scenario, abuse, signals))
    except (OfframpError, OSError) as error:
        pipe.send(str(error))
    signal.pause()  # the interface stays until the experiment has ended


def _flood(scenario: LabScenario, abuse: Abuse, signals: Signals) -> int:
    """Send frames until the coflows have ended or the time is over; returns their number."""
    flows = [frames(scenario, abuse, target) for target in range(scenario.ranks) if target not in abuse.spared]
    gap = abuse.burst * len(flows[0][0]) * 8 / (scenario.rate_bps * abuse.load)
    while not signals.begun.exists():
        time.sleep(_POLL_S)
    begun, count, bursts = time.monotonic(), 0, 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
        port.bind((INTERFACE, 0))
        while time.monotonic() < begun + abuse.lasts_s and not signals.ended.exists():
            for number in range(bursts * abuse.burst, (bursts + 1) * abuse.burst):
                for to_rank in flows:
                    try:
                        port.send(to_rank[number % len(to_rank)])
                    except OSError as error:
                        if error.errno not in _FULL:
                            raise
                    count += 1
            bursts += 1
            time.sleep(max(0.0, begun + bursts * gap - time.monotonic()))
    return count
