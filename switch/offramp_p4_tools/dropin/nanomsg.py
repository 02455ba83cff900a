# SPDX-License-Identifier: Apache-2.0
"""A publisher as nanomsg's: bmv2's notifications and events for whoever subscribes, with nobody waiting for them.

The framing is nanomsg's mapping of scalability protocols: eight octets of greeting from each side, then messages behind
their length. A subscriber filters by itself, so it never has to speak again.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
import time
from typing import Final, Self

from offramp_base.errors import OfframpError
from offramp_base.listening import Access, parse_address
from offramp_base.listening.sockets import bind, remove, trusted_user

_PUBLISHER: Final = b"\0SP\0\x00\x20\0\0"
_SUBSCRIBER: Final = b"\0SP\0\x00\x21\0\0"
_LENGTH: Final = struct.Struct(">Q")
_PLAIN: Final = b"\x01"
"""Octet in front of a message over ``ipc:`` that lies in the stream itself."""
MAX_SUBSCRIBERS: Final = 32
GREETING_S: Final = 5.0
"""Seconds for the greeting of a subscriber."""
_BACKLOG: Final = 128


class _Subscriber:
    """A connection: its greeting so far, and what is left of a message that has been sent in part."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.greeting = b""
        self.rest = b""
        self.deadline = time.monotonic() + GREETING_S

    @property
    def greeted(self) -> bool:
        """Whether it has said that it subscribes."""
        return self.greeting == _SUBSCRIBER

    def send(self, message: bytes) -> bool:
        """Send a message after the rest of an earlier one; False: there was no room, and it is not sent."""
        if self.rest:
            self.rest = self.rest[self._write(self.rest) :]
            if self.rest:
                return False
        self.rest = message[self._write(message) :]
        if len(self.rest) == len(message):
            self.rest = b""
            return False
        return True

    def _write(self, data: bytes) -> int:
        try:
            return self.connection.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError:
            return 0  # no room now, or gone, which the thread notices


class Publisher:
    """Serves ``ipc://PATH`` or ``tcp://HOST:PORT`` on this machine; a context manager.

    Over ``ipc:`` only this user and root may subscribe.

    Attributes:
        address: the address, with the port that a port 0 has become.
        lost: messages that a subscriber had no room for.
        refused: connections that were no subscriber of nanomsg's, or one too many.

    Raises:
        OfframpError: not such an address, it is in use, or other machines reach it.
    """

    def __init__(self, address: str) -> None:
        scheme, separator, where = address.partition("://")
        if not separator or scheme not in {"ipc", "tcp"} or not where:
            raise OfframpError(f"{address}: expected ipc://PATH or tcp://HOST:PORT")
        self._head = _PLAIN if scheme == "ipc" else b""
        self._socket = bind(parse_address(f"unix:{where}" if scheme == "ipc" else where), Access(), "nanomsg")
        self._socket.listen(_BACKLOG)
        self._socket.setblocking(False)
        self.address = address
        if scheme == "tcp":
            self.address = f"tcp://{where.rpartition(':')[0]}:{self._socket.getsockname()[1]}"
        self.lost = self.refused = 0
        self._lock = threading.Lock()
        self._subscribers: list[_Subscriber] = []
        self._closing, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="nanomsg", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wake.close()
        self._thread.join()
        self._closing.close()
        remove(self._socket)
        for subscriber in self._subscribers:
            subscriber.connection.close()

    def publish(self, message: bytes) -> None:
        """Send a message to all that subscribe now; waits for none of them."""
        framed = self._head + _LENGTH.pack(len(message)) + message
        with self._lock:
            for subscriber in self._subscribers:
                if subscriber.greeted and not subscriber.send(framed):
                    self.lost += 1

    @property
    def subscribers(self) -> int:
        """The number of those who subscribe now."""
        with self._lock:
            return sum(subscriber.greeted for subscriber in self._subscribers)

    def _serve(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._socket, selectors.EVENT_READ)
            ready.register(self._closing, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select(self._patience()):
                    if key.fileobj is self._closing:
                        return
                    if key.fileobj is self._socket:
                        self._accept(ready)
                    elif not self._read(key.data):
                        self._drop(ready, key.data)
                for late in [s for s in self._subscribers if not s.greeted and s.deadline <= time.monotonic()]:
                    self.refused += 1
                    self._drop(ready, late)

    def _patience(self) -> float | None:
        """Seconds until the next greeting is overdue."""
        deadlines = [s.deadline for s in self._subscribers if not s.greeted]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _accept(self, ready: selectors.BaseSelector) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return  # gone again, or no descriptor left for the moment
        trusted = connection.family != socket.AF_UNIX or trusted_user(connection)
        if not trusted or len(self._subscribers) >= MAX_SUBSCRIBERS:
            self.refused += 1
            connection.close()
            return
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            connection.send(_PUBLISHER, socket.MSG_NOSIGNAL)
        subscriber = _Subscriber(connection)
        with self._lock:
            self._subscribers.append(subscriber)
        ready.register(connection, selectors.EVENT_READ, subscriber)

    def _read(self, subscriber: _Subscriber) -> bool:
        """Take what a subscriber says; False: it is to go."""
        try:
            data = subscriber.connection.recv(len(_SUBSCRIBER))
        except BlockingIOError:
            return True
        except OSError:
            return False
        greeting = subscriber.greeting + data
        if not data or not _SUBSCRIBER.startswith(greeting):
            self.refused += bool(data)
            return False
        with self._lock:
            subscriber.greeting = greeting
        return True

    def _drop(self, ready: selectors.BaseSelector, subscriber: _Subscriber) -> None:
        ready.unregister(subscriber.connection)
        with self._lock:
            self._subscribers.remove(subscriber)
        subscriber.connection.close()
