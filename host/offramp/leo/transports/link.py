# SPDX-License-Identifier: Apache-2.0
"""The interface of every transport: two rings, and something that moves bytes between them and the peer's."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from offramp_base import listening
from offramp_base.listening import Address, Greeting, Token
from offramp_base.native.ring_end import RingSide, Words
from offramp_base.registry import Registry

if TYPE_CHECKING:
    from offramp.leo.transports.greeting import RequesterHello

PROTOCOL: Final = "leo"
"""Name of the protocol for :mod:`offramp_base.listening`."""
_TIMEOUT_S: Final = 10.0
_SILENT_S: Final = 3.0
Fields = Mapping[str, Any]


class LinkDown(Exception):
    """The peer is gone, or has violated the protocol; data under way may be lost."""


class Link(Protocol):
    """A connection.

    Attributes:
        sent: producer's end of the ring to the peer, the NIC's send queue.
        received: consumer's end of the ring from the peer, the NIC's receive and completion queue.
        shared: whether the peer uses the same rings, so that :meth:`pump` moves nothing.
    """

    sent: RingSide
    received: RingSide
    shared: bool

    @property
    def mover(self) -> Words | None:
        """Record with which compiled loops move the bytes (:class:`offramp.leo.native.mover.LinkMover`).

        None if only :meth:`pump` moves them, or if the rings are shared.
        """

    @classmethod
    def connect(cls, call: RequesterGreeting) -> tuple[Self, Fields]:
        """Connect from the requester's side; returns the link and the responder's answer to the greeting.

        Raises:
            OfframpError: the address does not support this transport, or the responder refuses.
            LinkDown: no responder is there.
        """

    @classmethod
    def accept(cls, guest: Guest) -> Self:
        """Accept from the responder's side.

        Raises:
            OfframpError: the greeting lacks something that this transport needs.
        """

    def pump(self) -> bool:
        """Move what can be moved without waiting; returns whether anything was.

        Raises:
            LinkDown: the peer is gone, or has written invalid data.
        """

    def close(self) -> None:
        """Release its resources; a second call does nothing."""


TRANSPORTS: Final[Registry[type[Link]]] = Registry("transport", "offramp.leo_transports", "offramp.leo.transports")
"""Classes of links by the transport's name."""


def check_ends(sent: RingSide, received: RingSide) -> None:
    """Check for invalid data from the peer that compiled code has detected.

    Raises:
        LinkDown: names the fault.
    """
    if fault := received.fault or sent.fault:
        raise LinkDown(f"the peer has written {fault}")


class GreetingSocket:
    """The socket of the greeting; afterwards it shows whether the peer is alive."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.setblocking(False)

    def alive(self) -> bool:
        """Whether the peer has not closed its end; it sends nothing any more."""
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
class RequesterGreeting:
    """A requester's greeting before it is sent.

    Attributes:
        address: address of the responder.
        token: token that both sides prove.
        content: fields of the greeting.
    """

    address: Address
    token: Token | None
    content: Fields

    @property
    def ring_bytes(self) -> int:
        """Size of each ring in bytes."""
        return int(self.content["ring_bytes"])

    def dial(self, *descriptors: int, **more: Any) -> tuple[GreetingSocket, Fields]:
        """Send the greeting with these descriptors and additional fields; returns the connection and the answer.

        Raises:
            OfframpError: the responder refuses.
            LinkDown: no responder is there.
        """
        content = {**self.content, **more}
        try:
            sock, answer = listening.connect(
                self.address,
                self.token,
                PROTOCOL,
                content,
                timeout_s=_TIMEOUT_S,
                silent_s=_SILENT_S,
                descriptors=descriptors,
            )
        except OSError as error:
            raise LinkDown(f"{self.address}: {error.strerror or error}") from None
        return GreetingSocket(sock), answer


@dataclass(frozen=True)
class Guest:
    """A requester whose greeting is not answered yet.

    Attributes:
        greeting, hello: its greeting, as received and as checked.
        answer: fields of the answer.
        local: whether the responder listens on this machine only.
        insecure: whether the responder's user accepts peers without proof.
    """

    greeting: Greeting
    hello: RequesterHello
    answer: Fields
    local: bool
    insecure: bool

    def welcome(self, **more: Any) -> GreetingSocket:
        """Answer with these additional fields; returns the connection."""
        return GreetingSocket(self.greeting.accept({**self.answer, **more}))
