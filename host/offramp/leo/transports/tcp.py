# SPDX-License-Identifier: Apache-2.0
"""Rings whose bytes travel over TCP: the receiver's ring becomes a copy of the sender's, position by position."""

from __future__ import annotations

import ctypes
import os
import socket
from typing import Final, Self

from offramp.leo.native.mover import CLOSED, TCP, LinkMover
from offramp.leo.transports.link import (
    TRANSPORTS,
    Fields,
    GreetingSocket,
    Guest,
    LinkDown,
    RequesterGreeting,
    check_ends,
)
from offramp.leo.transports.moving import Moving, function_address
from offramp_base.native.ring_end import Words, make_end

_UNANSWERED_MS: Final = 5000
"""Milliseconds without an acknowledgement after which a machine counts as gone."""


@TRANSPORTS.register("tcp")
class TcpLink:
    """See the module; a :class:`offramp.leo.transports.link.Link`."""

    shared = False

    def __init__(self, control: GreetingSocket, ring_bytes: int, longest: int | None) -> None:
        """Ends in memory of this process; ``longest``: most bytes of a message that it accepts."""
        self.sent, self.received = make_end(ring_bytes), make_end(ring_bytes, longest=longest)
        self._control = control
        self._socket = control.sock
        if self._socket.family != socket.AF_UNIX:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNANSWERED_MS)
        libc = ctypes.CDLL(None)
        functions = {
            LinkMover.send: libc.send,
            LinkMover.receive: libc.recv,
            LinkMover.error: getattr(libc, "__errno_location"),
        }
        numbers = {word: function_address(function) for word, function in functions.items()}
        self._moving = Moving(TCP, self.sent, self.received, {**numbers, LinkMover.socket: self._socket.fileno()})
        self.mover: Words | None = self._moving.words

    @classmethod
    def connect(cls, call: RequesterGreeting) -> tuple[Self, Fields]:
        """Send the greeting, whose connection then carries the rings."""
        control, answer = call.dial()
        return cls(control, call.ring_bytes, None), answer

    @classmethod
    def accept(cls, guest: Guest) -> Self:
        """Take the connection of a guest, answering its greeting."""
        return cls(guest.welcome(), guest.hello.ring_bytes, guest.hello.longest)

    def pump(self) -> bool:
        """Send what the kernel accepts and receive what it has."""
        check_ends(self.sent, self.received)
        moved = self._moving()
        if fault := self._moving.fault:
            raise LinkDown("the peer has closed the connection" if fault == CLOSED else os.strerror(fault))
        return moved

    def close(self) -> None:
        """Close the socket."""
        self._moving.stop(CLOSED)
        self._control.close()
