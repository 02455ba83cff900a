"""The thread that hears all peers: greetings, control, and bytes straight to where they belong."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from offramp.coflow.endhost.ledger import Ledger
from offramp.coflow.endhost.transfers import Route
from offramp.coflow.endhost.wire import HEADER_BYTES, HELLO_BYTES, MOST_WORDS, Header, Hello, Kind
from offramp.errors import OfframpError

_BUDGET: Final = 1 << 20
"""Bytes from one connection before the others have their turn."""
_GREETING_S: Final = 10.0
_MOST_STRANGERS: Final = 256
_TICK_S: Final = 1.0
Script = Iterator[memoryview]
"""Says what to read next; the bytes are there when it goes on."""


class Listener(Protocol):
    """Whom a receiver tells what it hears."""

    def greeted(self, hello: Hello, sock: socket.socket) -> None:
        """A connection is a peer's; OfframpError refuses it."""

    def heard(self, peer: int, header: Header, payload: bytes) -> None:
        """A control frame; OfframpError ends the endpoint."""

    def ended(self, peer: int) -> None:
        """A peer has closed a connection behind its last frame."""

    def lost(self, peer: int, error: Exception, *, control: bool) -> None:
        """A peer's connection broke or carries nonsense."""


class _Connection:
    def __init__(self, sock: socket.socket, script: Callable[[_Connection], Script], peer: int | None) -> None:
        self.sock, self.peer = sock, peer
        self.urgency = -1
        self.between_frames = self.control = False
        self.since = time.monotonic()
        self.steps = script(self)
        self._want = next(self.steps)
        self._got = 0

    def read(self) -> None:
        """Take in what there is, up to a budget.

        Raises:
            EOFError: the peer has closed it.
            OSError: the connection is lost.
            OfframpError: what was read makes no sense.
        """
        left = _BUDGET
        while left > 0:
            try:
                count = self.sock.recv_into(self._want[self._got :], 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            if not count:
                raise EOFError
            left -= count
            self._got += count
            if self._got == len(self._want):
                self._want, self._got = next(self.steps), 0


class Receiver:
    """Reads all connections of an endpoint, those of urgent coflows first.

    Attributes:
        refused: connections that were closed because of their greeting, or for want of one.
    """

    def __init__(
        self, listening: socket.socket, ledger: Ledger, listener: Listener, greet: Callable[[bytes], Hello]
    ) -> None:
        self._listening, self._ledger, self._listener, self._greet = listening, ledger, listener, greet
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._selector.register(listening, selectors.EVENT_READ)
        self._stopping = False
        self.refused = 0
        self._thread = threading.Thread(target=self._run, name="coflow-receive", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def add_control(self, sock: socket.socket, peer: int) -> None:
        """Hear a control connection that this endpoint has dialled; before :meth:`start`."""
        self._register(_Connection(sock, lambda c: self._control(c, peer), peer))

    def close(self) -> None:
        """End the thread and what was accepted."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)
        if self._thread.ident is not None:
            self._thread.join()
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                key.data.sock.close()
        self._selector.close()
        self._listening.close()
        os.close(self._wake)

    def _run(self) -> None:
        while not self._stopping:
            ready = self._selector.select(_TICK_S)
            connections = [key.data for key, _ in ready if key.data is not None]
            connections.sort(key=lambda c: c.urgency, reverse=True)
            for connection in connections:
                self._read(connection)
            if any(key.fileobj is self._listening for key, _ in ready):
                self._accept()
            self._dismiss_silent()

    def _accept(self) -> None:
        try:
            sock, _ = self._listening.accept()
        except OSError:
            return  # gone again
        sock.setblocking(True)  # every read says MSG_DONTWAIT
        if len(self._strangers()) >= _MOST_STRANGERS:
            self._refuse(sock)
            return
        self._register(_Connection(sock, self._greeting, None))

    def _register(self, connection: _Connection) -> None:
        self._selector.register(connection.sock, selectors.EVENT_READ, connection)

    def _read(self, connection: _Connection) -> None:
        try:
            connection.read()
        except Exception as error:
            self._selector.unregister(connection.sock)
            if connection.peer is None:
                self._refuse(connection.sock)
                return
            if isinstance(error, EOFError) and connection.between_frames:
                self._listener.ended(connection.peer)  # whether that was right, the control connection tells
            else:
                self._listener.lost(connection.peer, error, control=connection.control)
            connection.sock.close()

    def _refuse(self, sock: socket.socket) -> None:
        self.refused += 1
        sock.close()

    def _strangers(self) -> list[_Connection]:
        every = [key.data for key in self._selector.get_map().values()]
        return [c for c in every if c is not None and c.peer is None]

    def _dismiss_silent(self) -> None:
        now = time.monotonic()
        for connection in self._strangers():
            if now - connection.since > _GREETING_S:
                self._selector.unregister(connection.sock)
                self._refuse(connection.sock)

    def _greeting(self, connection: _Connection) -> Script:
        raw = bytearray(HELLO_BYTES)
        yield memoryview(raw)
        hello = self._greet(bytes(raw))
        self._listener.greeted(hello, connection.sock)
        connection.peer = hello.rank
        if hello.dscp is None:
            yield from self._control(connection, hello.rank)
        else:
            connection.urgency = hello.dscp
            yield from self._data(connection, hello.rank)

    def _data(self, connection: _Connection, peer: int) -> Script:
        raw = bytearray(HEADER_BYTES)
        while True:
            connection.between_frames = True
            yield memoryview(raw)
            connection.between_frames = False
            header = Header.unpack(raw, peer)
            if header.kind is not Kind.DATA or not header.length:
                raise OfframpError(f"rank {peer} sent {header.kind.name} where data belong")
            route: Route = (peer, header.message)
            yield self._ledger.target(route, header.offset, header.length, header.total)
            self._ledger.arrived(route, header.length)

    def _control(self, connection: _Connection, peer: int) -> Script:
        connection.urgency, connection.control = 64, True
        raw = bytearray(HEADER_BYTES)
        while True:
            yield memoryview(raw)
            header = Header.unpack(raw, peer)
            if header.kind is Kind.DATA or header.length > MOST_WORDS:
                raise OfframpError(f"rank {peer} sent {header.kind.name}, {header.length} bytes, where control belongs")
            payload = bytearray(header.length)
            if payload:
                yield memoryview(payload)
            self._listener.heard(peer, header, bytes(payload))
