"""What every transport is to the runtime: two rings, and somebody who moves bytes between them and the peer's."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from offramp.errors import OfframpError

Words = npt.NDArray[np.int64]
TRANSPORTS: Final = ("shm", "tcp", "ucx")
_LENGTH: Final = struct.Struct("<I")
_MOST_HELLO: Final = 1 << 20
PATIENCE_S: Final = 10.0


class LinkDown(Exception):
    """The peer is gone; what was on its way may be lost."""


class Link(Protocol):
    """A connection.

    Attributes:
        sent: ring whose producer is this side: the NIC's send queue.
        received: ring whose consumer is this side: the NIC's receive and completion queue.
        shared: the peer works on the same rings: :meth:`pump` moves nothing.
    """

    sent: Words
    received: Words
    shared: bool

    def pump(self) -> bool:
        """Move what can be moved without waiting; whether anything was.

        Raises:
            LinkDown: the peer is gone.
        """

    def close(self) -> None:
        """Give back what it holds; twice does no harm."""


class Control:
    """Small messages on a socket before a link is up; afterwards it says whether the peer lives."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.settimeout(PATIENCE_S)

    def send(self, content: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            LinkDown: the peer is gone.
        """
        text = json.dumps(content).encode()
        try:
            self.sock.sendall(_LENGTH.pack(len(text)) + text)
        except OSError as error:
            raise LinkDown(str(error)) from None

    def receive(self) -> dict[str, Any]:
        """The next message.

        Raises:
            LinkDown: the peer is gone, or says nothing.
            OfframpError: it speaks something else.
        """
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if length > _MOST_HELLO:
            raise OfframpError(f"peer {self.peer}: a greeting of {length} bytes; it does not speak LEO")
        try:
            found = json.loads(self._read(length))
        except ValueError:
            raise OfframpError(f"peer {self.peer}: a greeting that is not JSON; it does not speak LEO") from None
        if not isinstance(found, dict):
            raise OfframpError(f"peer {self.peer}: a greeting that is no object; it does not speak LEO")
        return found

    @property
    def peer(self) -> str:
        """Its address."""
        try:
            return str(self.sock.getpeername())
        except OSError:
            return "?"

    def alive(self) -> bool:
        """Whether the peer has not closed its end; it says nothing any more."""
        try:
            self.sock.setblocking(False)
            return self.sock.recv(1, socket.MSG_PEEK) != b""
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()

    def _read(self, length: int) -> bytes:
        parts = bytearray()
        while len(parts) < length:
            try:
                part = self.sock.recv(length - len(parts))
            except OSError as error:
                raise LinkDown(str(error)) from None
            if not part:
                raise LinkDown("the peer has closed the connection")
            parts += part
        return bytes(parts)
