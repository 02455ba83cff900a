# SPDX-License-Identifier: Apache-2.0
"""What every transport is to the runtime: two rings, and somebody who moves bytes between them and the peer's."""

from __future__ import annotations

import socket
from typing import Final, Protocol

from offramp.leo.native.end import End

TRANSPORTS: Final = ("shm", "tcp", "ucx")


class LinkDown(Exception):
    """The peer is gone, or has broken the rules; what was on its way may be lost."""


class Link(Protocol):
    """A connection.

    Attributes:
        sent: the producer's end of the ring to the peer: the NIC's send queue.
        received: the consumer's end of the ring from the peer: the NIC's receive and completion queue.
        shared: the peer works on the same rings: :meth:`pump` moves nothing.
    """

    sent: End
    received: End
    shared: bool

    def pump(self) -> bool:
        """Move what can be moved without waiting; whether anything was.

        Raises:
            LinkDown: the peer is gone, or has written what cannot be.
        """

    def close(self) -> None:
        """Give back what it holds; twice does no harm."""


def check_ends(sent: End, received: End) -> None:
    """Look at what compiled code has found wrong in what the peer wrote.

    Raises:
        LinkDown: names it.
    """
    if fault := received.fault or sent.fault:
        raise LinkDown(f"the peer has written {fault}")


class Control:
    """The socket over which the sides have greeted each other; afterwards it says whether the peer lives."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.setblocking(False)

    def alive(self) -> bool:
        """Whether the peer has not closed its end; it says nothing any more."""
        try:
            return self.sock.recv(1, socket.MSG_PEEK) != b""
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()
