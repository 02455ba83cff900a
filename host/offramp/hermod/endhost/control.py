# SPDX-License-Identifier: Apache-2.0
"""Control connections, one for each peer, and the few bytes that all ranks tell each other."""

from __future__ import annotations

import socket
import struct
import threading
from concurrent.futures import Future
from typing import Final

from offramp.hermod.endhost.wire import FrameHeader, FrameType
from offramp_base.errors import OfframpError

_MOST_EARLY: Final = 1 << 16
_MOST_HELD: Final = 1 << 26
"""Bytes that ranks have said in rounds that are not complete."""


class ControlChannel:
    """Frames to one peer, from any thread."""

    def __init__(self, sock: socket.socket, timeout_s: float) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        seconds = int(timeout_s)
        limit = struct.pack("@ll", seconds, int((timeout_s - seconds) * 1e6))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def send(self, header: FrameHeader, payload: bytes = b"") -> None:
        """Send a frame.

        Raises:
            OSError: the connection is lost, or the peer does not listen.
        """
        with self._lock:
            self._sock.sendall(header.pack() + payload)


class Gathering:
    """Gathers one row from each rank for each message number: the control channel's all-gather."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._rows: dict[int, dict[int, bytes]] = {}
        self._futures: dict[int, Future[list[bytes]]] = {}
        self._failure: OfframpError | None = None
        self._held = 0

    def wait_for(self, message: int) -> Future[list[bytes]]:
        """The rows of all ranks, in rank order.

        Raises:
            OfframpError: the endpoint has failed.
        """
        with self._lock:
            if self._failure is None:
                return self._futures.setdefault(message, Future())
        raise OfframpError(str(self._failure))

    def add(self, rank: int, message: int, row: bytes) -> None:
        """A rank has spoken.

        Raises:
            OfframpError: twice in a round, or in too many rounds ahead.
        """
        with self._lock:
            if self._failure is not None:
                return
            rows = self._rows.setdefault(message, {})
            if rank in rows:
                raise OfframpError(f"rank {rank} spoke twice in round {message:#x}")
            if len(self._rows) > _MOST_EARLY:
                raise OfframpError(f"rank {rank} is more than {_MOST_EARLY} rounds ahead")
            if self._held + len(row) > _MOST_HELD:
                raise OfframpError(f"rank {rank} says more than {_MOST_HELD} bytes ahead")
            self._held += len(row)
            rows[rank] = row
            if len(rows) < self._size:
                return
            del self._rows[message]
            self._held -= sum(map(len, rows.values()))
            future = self._futures.pop(message)  # this rank has spoken, so it waits
        future.set_result([rows[r] for r in range(self._size)])

    def missing(self, message: int) -> list[int]:
        """Ranks that have not sent their message yet."""
        with self._lock:
            return sorted(set(range(self._size)) - set(self._rows.get(message, {})))

    def fail(self, failure: OfframpError) -> None:
        """End all rounds with a failure."""
        with self._lock:
            self._failure = failure
            futures, self._futures = self._futures, {}
        for future in futures.values():
            future.set_exception(OfframpError(str(failure)))


def words(message: int, payload: bytes) -> tuple[FrameHeader, bytes]:
    """The frame in which a rank speaks."""
    return FrameHeader(FrameType.WORDS, len(payload), message), payload
