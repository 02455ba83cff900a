# SPDX-License-Identifier: Apache-2.0
"""A link over a Unix socket: no privileges, no loss, many frames in one system call."""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.transport.framing import MAX_MESSAGE, FramedMessage, messages, unpack
from offramp_base.transport.host_link import CLOSED, STALL_S, HostLink, check_path
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp_base.transport.base import LentSocket

__all__ = ["SOCKET_BUFFER", "STALL_S", "UnixIO", "check_path", "take_message"]

SOCKET_BUFFER: Final = 4 << 20
"""Requested buffer in bytes; the kernel grants up to its own limit."""


def take_message(sock: socket.socket) -> npt.NDArray[np.uint8] | None:
    """The next message, in memory of its own; empty if the other end is gone, None if none waits."""
    room = np.empty(MAX_MESSAGE, np.uint8)
    try:
        return room[: sock.recv_into(room.data)]
    except BlockingIOError:
        return None
    except OSError:
        return room[:0]


class UnixIO(HostLink):
    """A link whose socket carries the frames."""

    transport = "unix"
    longest_run = 0

    def _connected(self) -> None:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            self._socket.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER)
        self._socket.setblocking(False)

    def send(self, batch: PacketBatch) -> None:
        """Send all frames, waiting while the switch is busy.

        Raises:
            OfframpError: the link is gone, or the switch takes nothing for sixty seconds.
        """
        for message in messages(batch):
            self._send(message)
            self.stats.sent += message.frames

    def lend(self, use: Callable[[LentSocket], None]) -> bool:
        """Have ``use`` move frames over :meth:`fileno`; not while frames that have arrived are kept here."""
        if self._arrived or self._gone:
            return False
        use(self)
        return True

    def _send(self, message: FramedMessage) -> None:
        deadline = time.monotonic() + STALL_S
        while not self._try_send(message):
            self._wait(select.POLLIN | select.POLLOUT, 1.0)
            if self._drain():
                deadline = time.monotonic() + STALL_S
            else:
                self._check_stall(deadline)

    def _try_send(self, message: FramedMessage) -> bool:
        try:
            return self._socket.sendmsg((message.head, *message.payload)) > 0
        except BlockingIOError:
            return False
        except OSError as error:
            raise OfframpError(f"{self.name}: {error.strerror}") from None

    def _drain(self) -> bool:
        before = len(self._arrived)
        while not self._gone:
            message = take_message(self._socket)
            if message is None:
                break
            if len(message):
                self._arrived.append(unpack(message))
            else:
                self._gone = CLOSED
        return len(self._arrived) > before
