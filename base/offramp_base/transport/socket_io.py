# SPDX-License-Identifier: Apache-2.0
"""A link on any socket that carries frames: waits, and says in one line what is wrong."""

from __future__ import annotations

import errno
import select
import time
from collections.abc import Callable
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.transport.base import FrameSocket, LentSocket, LinkStats
from offramp_base.transport.ring import padded
from offramp_base.transport.udp import UdpSocket
from offramp_base.wire.batch import PacketBatch

STALL_S: Final = 10.0
"""Seconds after which a link that takes no frame is given up."""
_BUSY_S: Final = 0.0005
_MOST_PARTS: Final = 32
"""Most batches that one call of ``receive`` collects; frames may arrive as fast as they are read."""


class SocketIO:
    """A FrameIO on a socket."""

    def __init__(self, socket: FrameSocket) -> None:
        self._socket = socket
        self._poll = select.poll()
        self._poll.register(socket.fileno(), select.POLLIN)
        self._fault: OSError | None = None  # the kernel reports it once

    @property
    def stats(self) -> LinkStats:
        """Counts since the link was opened, up to now."""
        self._socket.refresh()
        return self._socket.stats

    def send(self, batch: PacketBatch) -> None:
        """Send all frames, waiting while the link is busy.

        Raises:
            OfframpError: a frame is too short or too long, the link is gone, or takes nothing for
                :data:`STALL_S` seconds.
        """
        socket = self._socket
        if len(batch) and int(batch.lengths.min()) < socket.shortest:
            raise OfframpError(
                f"{socket.name}: frame of {int(batch.lengths.min())} bytes, expected at least {socket.shortest}"
            )
        message, at = socket.message(batch), 0
        deadline = time.monotonic() + STALL_S
        while at < len(message):
            try:
                done = socket.send(message, at)
            except OSError as error:
                if error.errno == errno.EMSGSIZE:
                    raise OfframpError(
                        f"{socket.name}: frame of {int(batch.lengths[at])} bytes: longer than the link takes"
                    ) from None
                raise self._gone(error) from None
            if done:
                deadline = time.monotonic() + STALL_S
                at += done
            elif time.monotonic() > deadline:
                raise OfframpError(f"{socket.name} took no frame for {STALL_S:g} s")
            else:
                time.sleep(_BUSY_S)  # the transmit queue is full; poll(2) does not say when it has room

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames that have arrived, at least one unless ``timeout_s`` seconds pass without any.

        Raises:
            OfframpError: the link is gone.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            if self._fault is not None:
                raise self._gone(self._fault) from None
            self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            parts: list[PacketBatch] = []
            try:
                while len(parts) < _MOST_PARTS and len(part := self._socket.receive()):
                    parts.append(padded(part))
            except OSError as error:
                self._fault = error
                if not parts:
                    continue
            if parts or time.monotonic() >= deadline:
                return PacketBatch.concatenate(parts)

    def lend(self, use: Callable[[LentSocket], None]) -> bool:
        """Have ``use`` move frames by itself: over UDP, once the port has answered."""
        if self._fault is not None or not isinstance(self._socket, UdpSocket) or not self._socket.settled:
            return False
        use(self._socket)
        return True

    def close(self) -> None:
        """Release the link."""
        self._socket.close()

    def _gone(self, error: OSError) -> OfframpError:
        return OfframpError(f"{self._socket.name}: {error.strerror}")
