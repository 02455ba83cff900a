# SPDX-License-Identifier: Apache-2.0
"""The thread that hears all peers: connections that have greeted, control, and bytes straight to where they belong."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from offramp.hermod.endhost.ledger import TransferLedger
from offramp.hermod.endhost.transfers import Route
from offramp.hermod.endhost.wire import HEADER_BYTES, MOST_DSCP, MOST_PAYLOAD, FrameHeader, FrameType, RankHello
from offramp_base.errors import OfframpError
from offramp_base.listening import Greeting, Listener

_BUDGET: Final = 1 << 20
"""Bytes from one connection before the others have their turn."""
_TICK_S: Final = 1.0
_PIECE: Final = 1 << 16
_MOST_URGENT: Final = MOST_DSCP + 1
Script = Iterator[memoryview]
"""Yields the memory to read into next; the bytes are there when it is resumed."""


class Owner(Protocol):
    """Receives the events of a receiver."""

    def greeted(self, greeting: Greeting) -> tuple[RankHello, socket.socket]:
        """A connection is a peer's; OfframpError refuses it, OSError: it is gone."""

    def heard(self, peer: int, header: FrameHeader, payload: bytes) -> None:
        """A control frame; OfframpError ends the endpoint."""

    def ended(self, peer: int) -> None:
        """A peer has closed a connection behind its last frame."""

    def lost(self, peer: int, error: Exception, *, control: bool) -> None:
        """A peer's connection broke or carries nonsense."""


class IncomingConnection(Protocol):
    """A connection that a receiver reads; the more urgent ones first."""

    sock: Any
    peer: int
    urgency: int
    between_frames: bool
    control: bool

    def read(self) -> None:
        """Take in what there is; EOFError: the peer has closed it."""


class _IncomingSocket:
    def __init__(
        self, sock: socket.socket, script: Callable[[_IncomingSocket], Script], peer: int, urgency: int
    ) -> None:
        self.sock, self.peer, self.urgency = sock, peer, urgency
        self.between_frames = self.control = False
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


class FrameReceiver:
    """Reads all connections of an endpoint, those of urgent coflows first.

    Args:
        listener: takes connections in, until they have greeted.
        ledger: says where bytes belong.
        owner: is told what is heard.
    """

    def __init__(self, listener: Listener, ledger: TransferLedger, owner: Owner) -> None:
        self._listener, self._ledger, self._owner = listener, ledger, owner
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._selector.register(listener, selectors.EVENT_READ)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="coflow-receive", daemon=True)

    @property
    def refused(self) -> int:
        """Connections that were closed because of their greeting, or for want of one."""
        return self._listener.refused.total()

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def add_control(self, sock: socket.socket, peer: int) -> None:
        """Hear a control connection that this endpoint has dialled; before :meth:`start`."""
        self._register(sock, RankHello(peer, None))

    def add(self, connection: IncomingConnection) -> None:
        """Hear a connection; in this receiver's thread, or before :meth:`start`."""
        self._selector.register(connection.sock, selectors.EVENT_READ, connection)

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
        self._listener.close()
        os.close(self._wake)

    def _run(self) -> None:
        look = time.monotonic()
        while not self._stopping:
            ready = self._selector.select(_TICK_S)
            connections = [key.data for key, _ in ready if key.data is not None]
            connections.sort(key=lambda c: c.urgency, reverse=True)
            for connection in connections:
                self._read(connection)
            if any(key.fileobj is self._listener for key, _ in ready) or time.monotonic() - look > _TICK_S:
                look = time.monotonic()
                for greeting in self._listener.poll():
                    self._meet(greeting)

    def _meet(self, greeting: Greeting) -> None:
        try:
            hello, sock = self._owner.greeted(greeting)
        except OfframpError as error:
            greeting.refuse(str(error))
        except OSError:
            return  # gone again
        else:
            self._register(sock, hello)

    def _register(self, sock: socket.socket, hello: RankHello) -> None:
        sock.setblocking(True)  # every read says MSG_DONTWAIT
        peer = hello.rank
        if hello.dscp is None:
            connection = _IncomingSocket(sock, lambda c: self._control(c, peer), peer, _MOST_URGENT)
        else:
            connection = _IncomingSocket(sock, lambda c: self._data(c, peer), peer, hello.dscp)
        self.add(connection)

    def _read(self, connection: IncomingConnection) -> None:
        try:
            connection.read()
        except Exception as error:
            self._selector.unregister(connection.sock)
            if isinstance(error, EOFError) and connection.between_frames:
                self._owner.ended(connection.peer)  # whether that was right, the control connection tells
            else:
                self._owner.lost(connection.peer, error, control=connection.control)
            connection.sock.close()

    def _data(self, connection: _IncomingSocket, peer: int) -> Script:
        raw = bytearray(HEADER_BYTES)
        while True:
            connection.between_frames = True
            yield memoryview(raw)
            connection.between_frames = False
            header = FrameHeader.unpack(raw, peer)
            if header.kind is not FrameType.DATA or not header.length:
                raise OfframpError(f"rank {peer} sent {header.kind.name} where data belong")
            route: Route = (peer, header.message)
            yield self._ledger.target(route, header.offset, header.length, header.total)
            self._ledger.arrived(route, header.length)

    def _control(self, connection: _IncomingSocket, peer: int) -> Script:
        connection.control = True
        raw = bytearray(HEADER_BYTES)
        while True:
            yield memoryview(raw)
            header = FrameHeader.unpack(raw, peer)
            if header.length > MOST_PAYLOAD.get(header.kind, -1):
                raise OfframpError(f"rank {peer} sent {header.kind.name}, {header.length} bytes, where control belongs")
            payload = bytearray()
            while len(payload) < header.length:  # memory for what has come, not for what was announced
                piece = bytearray(min(_PIECE, header.length - len(payload)))
                yield memoryview(piece)
                payload += piece
            self._owner.heard(peer, header, bytes(payload))
