# SPDX-License-Identifier: Apache-2.0
"""Rings whose bytes travel over TCP: the receiver's ring becomes a copy of the sender's, position by position."""

from __future__ import annotations

import socket
import time
from typing import Final, Self

from offramp.leo.native import ring
from offramp.leo.native.end import make_end
from offramp.leo.transports.link import TRANSPORTS, Call, Control, Fields, Guest, LinkDown, check_ends

_MOST: Final = 1 << 20
_UNANSWERED_MS: Final = 5000
"""Bytes that a machine does not acknowledge for so long mean that it is gone."""


@TRANSPORTS.register("tcp")
class TcpLink:
    """See the module; a :class:`offramp.leo.transports.link.Link`."""

    shared = False

    def __init__(self, control: Control, ring_bytes: int, longest: int | None) -> None:
        """Ends in memory of this process; ``longest`` message that it takes, bytes."""
        self.sent, self.received = make_end(ring_bytes), make_end(ring_bytes, longest=longest)
        self._control, self._size = control, ring_bytes
        self._out, self._in = self.sent.content.data.cast("B"), self.received.content.data.cast("B")
        self._socket = control.sock
        if self._socket.family != socket.AF_UNIX:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNANSWERED_MS)

    @classmethod
    def connect(cls, call: Call) -> tuple[Self, Fields]:
        """Greet; the connection of the greeting carries the rings."""
        control, answer = call.dial()
        return cls(control, call.ring_bytes, None), answer

    @classmethod
    def accept(cls, guest: Guest) -> Self:
        """Answer the greeting."""
        return cls(guest.welcome(), guest.hello.ring_bytes, guest.hello.longest)

    def pump(self) -> bool:
        """Send and receive what the kernel takes and has."""
        check_ends(self.sent, self.received)
        return self._push() | self._pull()

    def _push(self) -> bool:
        moved = False
        head, tail = self.sent.head, self.sent.tail
        while (left := int(head[0] - tail[0])) > 0:
            place = int(tail[0]) & self._size - 1
            try:
                count = self._socket.send(self._out[place : min(place + min(left, _MOST), self._size)])
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                raise LinkDown(error.strerror or str(error)) from None
            tail[0] += count
            moved = True
        return moved

    def _pull(self) -> bool:
        moved = False
        head, tail = self.received.head, self.received.tail
        while (room := self._size - int(head[0] - tail[0])) > 0:
            place = int(head[0]) & self._size - 1
            try:
                count = self._socket.recv_into(self._in[place : min(place + min(room, _MOST), self._size)])
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                raise LinkDown(error.strerror or str(error)) from None
            if count == 0:
                raise LinkDown("the peer has closed the connection")
            self.received.words[ring.RingEnd.arrived] = time.monotonic_ns()
            head[0] += count
            moved = True
        return moved

    def close(self) -> None:
        """Close the socket."""
        self._control.close()
