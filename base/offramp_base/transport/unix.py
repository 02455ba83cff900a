# SPDX-License-Identifier: Apache-2.0
"""A link over a Unix socket: no privileges, no loss, many frames in one system call."""

from __future__ import annotations

import select
import socket
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.transport.base import LinkStats
from offramp_base.transport.framing import MAX_MESSAGE, Message, messages, unpack
from offramp_base.wire.batch import PacketBatch

SOCKET_BUFFER = 4 << 20
"""Requested buffer in bytes; the kernel grants up to its own limit."""
STALL_S = 60.0
"""Seconds after which a switch that takes no frame is given up."""
MAX_PATH = 107
"""Longest path of a Unix socket, bytes."""


def take_message(sock: socket.socket) -> npt.NDArray[np.uint8] | None:
    """The next message, in memory of its own; empty if the other end is gone, None if none waits."""
    room = np.empty(MAX_MESSAGE, np.uint8)
    try:
        return room[: sock.recv_into(room.data)]
    except BlockingIOError:
        return None
    except OSError:
        return room[:0]


def check_path(path: str | Path) -> str:
    """Return the path if it is short enough for a socket.

    Raises:
        OfframpError: it is too long.
    """
    if len(str(path).encode()) > MAX_PATH:
        raise OfframpError(f"unix:{path}: a socket path has at most {MAX_PATH} bytes")
    return str(path)


class UnixIO:
    """A FrameIO over a ``SOCK_SEQPACKET`` socket; the switch listens at ``path``.

    The switch holds back when a host does not read, so :meth:`send` reads while it waits: two ends that send
    at the same time never wait for each other.

    Attributes:
        name: for messages.

    Raises:
        OfframpError: nothing listens at ``path``.
    """

    def __init__(self, path: str | Path) -> None:
        self.name = f"unix:{check_path(path)}"
        self.stats = LinkStats()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            self._socket.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise OfframpError(f"{self.name}: {error.strerror}; is the switch running?") from None
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._arrived: list[PacketBatch] = []
        self._closed = False

    def send(self, batch: PacketBatch) -> None:
        """Send all frames, waiting while the switch is busy.

        Raises:
            OfframpError: the link is gone, or the switch takes nothing for :data:`STALL_S` seconds.
        """
        for message in messages(batch):
            self._send(message)
            self.stats.sent += message.frames

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames that have arrived, at least one unless ``timeout_s`` seconds pass without any.

        Raises:
            OfframpError: the switch closed the link and all frames have been received.
        """
        if not self._arrived:
            self._wait(select.POLLIN, timeout_s)
        self._drain()
        if not self._arrived and self._closed:
            raise OfframpError(f"{self.name}: the switch closed the link")
        batch = PacketBatch.concatenate(self._arrived)
        self._arrived.clear()
        self.stats.received += len(batch)
        return batch

    def fileno(self) -> int:
        """The socket's descriptor, for code that moves frames by itself."""
        return self._socket.fileno()

    def close(self) -> None:
        """Release the link."""
        self._socket.close()

    def _send(self, message: Message) -> None:
        deadline = time.monotonic() + STALL_S
        while not self._try_send(message):
            self._wait(select.POLLIN | select.POLLOUT, 1.0)
            if self._drain():
                deadline = time.monotonic() + STALL_S
            elif time.monotonic() > deadline:
                raise OfframpError(f"{self.name}: the switch took no frame for {STALL_S:g} s")

    def _try_send(self, message: Message) -> bool:
        try:
            return self._socket.sendmsg((message.head, message.payload)) > 0
        except BlockingIOError:
            return False
        except OSError as error:
            raise OfframpError(f"{self.name}: {error.strerror}") from None

    def _wait(self, events: int, timeout_s: float) -> None:
        # A link whose other end is gone stays readable: waiting for it would spin.
        events &= ~select.POLLIN if self._closed else ~0
        self._poll.modify(self._socket, events)
        self._poll.poll(max(0.0, timeout_s) * 1000)

    def _drain(self) -> bool:
        """Take all messages that have arrived; whether there were any."""
        before = len(self._arrived)
        while not self._closed:
            message = take_message(self._socket)
            if message is None:
                break
            if len(message):
                self._arrived.append(unpack(message))
            else:
                self._closed = True
        return len(self._arrived) > before
