# SPDX-License-Identifier: Apache-2.0
"""What every transport is to the runtime: two rings, and code that moves bytes between them and the peer's."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from offramp.leo.native.end import End, Words
from offramp_base import listening
from offramp_base.listening import Address, Greeting, Token
from offramp_base.registry import Registry

if TYPE_CHECKING:
    from offramp.leo.transports.greeting import Hello

PROTOCOL: Final = "leo"
"""As :mod:`offramp_base.listening` calls it."""
_TIMEOUT_S: Final = 10.0
Fields = Mapping[str, Any]


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

    @property
    def mover(self) -> Words | None:
        """Record with which compiled loops move the bytes (:class:`offramp.leo.native.mover.Mover`).

        None where :meth:`pump` alone does, or where the rings are shared.
        """

    @classmethod
    def connect(cls, call: Call) -> tuple[Self, Fields]:
        """The requester's side, and the responder's answer to the greeting.

        Raises:
            OfframpError: the address cannot have this transport, or the responder refuses.
            LinkDown: the responder does not answer.
        """

    @classmethod
    def accept(cls, guest: Guest) -> Self:
        """The responder's side.

        Raises:
            OfframpError: the requester has not brought what this transport needs.
        """

    def pump(self) -> bool:
        """Move what can be moved without waiting; whether anything was.

        Raises:
            LinkDown: the peer is gone, or has written what cannot be.
        """

    def close(self) -> None:
        """Give back what it holds; twice does no harm."""


TRANSPORTS: Final[Registry[type[Link]]] = Registry("transport", "offramp.leo_transports", "offramp.leo.transports")
"""Classes of links by name."""


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


@dataclass(frozen=True)
class Call:
    """A requester's greeting that has not been sent.

    Attributes:
        address: of the responder.
        token: that both sides prove.
        content: of the greeting.
    """

    address: Address
    token: Token | None
    content: Fields

    @property
    def ring_bytes(self) -> int:
        """Bytes of each ring."""
        return int(self.content["ring_bytes"])

    def dial(self, *descriptors: int, **more: Any) -> tuple[Control, Fields]:
        """Greet, with these descriptors and fields beside the greeting's; the connection and the answer.

        Raises:
            OfframpError: the responder refuses.
            LinkDown: the responder does not answer.
        """
        content = {**self.content, **more}
        try:
            sock, answer = listening.connect(
                self.address, self.token, PROTOCOL, content, timeout_s=_TIMEOUT_S, descriptors=descriptors
            )
        except OSError as error:
            raise LinkDown(f"{self.address}: {error.strerror or error}") from None
        return Control(sock), answer


@dataclass(frozen=True)
class Guest:
    """A requester that has greeted and not been answered.

    Attributes:
        greeting, hello: what it said, as it came and checked.
        answer: to it.
        local: the responder listens on this machine alone.
        insecure: the responder's user accepts peers that prove nothing.
    """

    greeting: Greeting
    hello: Hello
    answer: Fields
    local: bool
    insecure: bool

    def welcome(self, **more: Any) -> Control:
        """Answer, with these fields beside the answer's; the connection."""
        return Control(self.greeting.accept({**self.answer, **more}))
