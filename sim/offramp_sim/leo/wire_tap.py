# SPDX-License-Identifier: Apache-2.0
"""Times at which frames of agents enter and leave a switch: packet sockets at its links, and the kernel's timestamps.

Only frames that arrive at an end are recorded: those that agents and switches send may bypass the kernel's taps.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Final, Self

from offramp.leo.hops import HopMoment

_TIMESTAMP: Final = 35  # SO_TIMESTAMPNS, asm-generic/socket.h
_SPEC: Final = struct.Struct("@qq")
_ALL: Final = 3
_OUTGOING: Final = 4
_KIND: Final = 42
"""Offset in bytes of the header behind Ethernet, IPv4 and UDP (smartnic/lib/hermod/wire.hpp)."""
_HEAD: Final = struct.Struct(">BxHI")
_UDP_PORT: Final = 47810
_BUFFER: Final = 1 << 24
_SAMPLES: Final = 64


class WireTap:
    """Records DATA at both ends of a switch's links while its block runs.

    Args:
        switch: interfaces at the switch, by rank.
        agents: the other ends, by rank.
    """

    def __init__(self, switch: Sequence[str], agents: Sequence[str]) -> None:
        self._places = dict(enumerate(("switch", "switch", "agent of responder", "agent of requester")))
        self._sockets = [_listen(name) for name in (*switch, *agents)]
        self._heard: list[tuple[int, int, int, int]] = []
        self._lead = _Lead()
        self._end_read, self._end_write = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="tap")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_write.send(b"!")
        self._thread.join()
        for sock in (*self._sockets, self._end_read, self._end_write):
            sock.close()

    def moments(self) -> list[HopMoment]:
        """Recorded times on the monotonic clock; the first one of a repeated frame."""
        first: dict[tuple[int, int, int], int] = {}
        for at, which, rank, message in sorted(self._heard):
            first.setdefault((which, rank, message), at)
        return [
            HopMoment(at, self._places[which], {"frame of": rank, "message": message})
            for (which, rank, message), at in first.items()
        ]

    def _run(self) -> None:
        ended = False
        while True:
            # What was received before the end is still read: this thread may be behind.
            ready, _, _ = select.select([*self._sockets, self._end_read], [], [], 0 if ended else None)
            readable = [sock for sock in ready if sock is not self._end_read]
            if ended and not readable:
                return
            ended |= self._end_read in ready
            for sock in readable:
                self._receive(sock)

    def _receive(self, sock: socket.socket) -> None:
        frame, ancillary, _, address = sock.recvmsg(128, 64)
        if address[2] == _OUTGOING or len(frame) < _KIND + _HEAD.size:
            return
        kind, rank, message = _HEAD.unpack_from(frame, _KIND)
        if kind == 0 and struct.unpack_from(">H", frame, _KIND - 6)[0] == _UDP_PORT:
            seconds, nanoseconds = _SPEC.unpack_from(ancillary[0][2])
            at = seconds * 10**9 + nanoseconds - self._lead.now()
            self._heard.append((at, self._sockets.index(sock), rank, message))


def _listen(interface: str) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMP, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    sock.bind((interface, _ALL))
    return sock


class _Lead:
    """The lead of the system clock over the monotonic one, looked at for each frame: the system clock may be set."""

    def __init__(self) -> None:
        _, self._last = min(_reading() for _ in range(_SAMPLES))

    def now(self) -> int:
        """Nanoseconds; another value than before only if no interruption between the clocks can explain it."""
        took, lead = _reading()
        if abs(lead - self._last) > took:
            self._last = lead
        return self._last


def _reading() -> tuple[int, int]:
    """The time to read the clocks, and the lead."""
    before, there, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
    return after - before, there - (before + after) // 2
