# SPDX-License-Identifier: Apache-2.0
"""The thread that sends everything that leaves by one NIC, a chunk at a time."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from offramp.hermod.endhost.ledger import TransferLedger
from offramp.hermod.endhost.scheduler import Lane
from offramp.hermod.endhost.transfers import Piece
from offramp.hermod.endhost.wire import HEADER_BYTES, FrameHeader, FrameType

if TYPE_CHECKING:
    from offramp.workers.rate import TokenBucket

_TICK_MS: Final = 1000


class OutgoingConnection(Protocol):
    """A connection of one priority to a peer, and the piece of which it is in the middle."""

    piece: Piece | None
    events: int

    def fileno(self) -> int:
        """Descriptor that has ``events`` when a blocked connection can go on."""

    def load(self, piece: Piece, chunk: int) -> None:
        """Begin with the next chunk of a piece."""

    def write(self) -> int:
        """Go on; the bytes of the chunk when that completes it, else 0; BlockingIOError: it has to wait."""

    def close(self) -> bool:
        """End it; whether the peer will hear that all has come."""


class OutgoingSocket:
    """A TCP connection of one priority, and the frame that it is in the middle of."""

    events = select.POLLOUT

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.piece: Piece | None = None
        self._parts: list[memoryview] = []
        self._size = 0

    def fileno(self) -> int:
        """Descriptor of the socket."""
        return self.sock.fileno()

    def close(self) -> bool:
        """Close the socket; its end comes behind what was sent."""
        self.sock.close()
        return True

    def load(self, piece: Piece, chunk: int) -> None:
        """Begin a frame with the next chunk of a piece."""
        outgoing, start = piece.outgoing, piece.start
        self._size = min(chunk, piece.stop - start)
        header = FrameHeader(FrameType.DATA, self._size, outgoing.route[1], start, len(outgoing.view))
        self.piece = piece
        self._parts = [memoryview(header.pack()), outgoing.view[start : start + self._size]]

    def write(self) -> int:
        """Send as much as the kernel takes; returns the bytes of the chunk if that completes it, else 0.

        Raises:
            OSError: BlockingIOError if it takes nothing more; otherwise the connection is lost.
        """
        while self._parts:
            sent = self.sock.sendmsg(self._parts, (), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            while self._parts and sent >= len(self._parts[0]):
                sent -= len(self._parts.pop(0))
            if sent:
                self._parts[0] = self._parts[0][sent:]
        self.piece = None
        return self._size


class ChunkSender:
    """Sends chunk by chunk in the order of the ledger's scheduler.

    Attributes:
        counts: bytes by DSCP, headers included.

    Args:
        lost: called when a connection to a peer breaks.
        card: the rate of an emulated network card.
    """

    def __init__(
        self, ledger: TransferLedger, chunk: int, lost: Callable[[int, OSError], None], card: TokenBucket | None = None
    ) -> None:
        self._ledger, self._chunk, self._lost, self._card = ledger, chunk, lost, card
        self._connections: dict[Lane, OutgoingConnection] = {}
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._waking = threading.Lock()
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        self._blocked: dict[Lane, int] = {}
        self._stopping = False
        self.counts: dict[int, int] = {}
        self._thread = threading.Thread(target=self._run, name="coflow-send", daemon=True)
        self._thread.start()

    def __contains__(self, lane: Lane) -> bool:
        return lane in self._connections

    def connections_to(self, peer: int) -> int:
        """The number of connections to a peer."""
        return sum(1 for to, _ in list(self._connections) if to == peer)

    def add(self, lane: Lane, connection: OutgoingConnection) -> None:
        """Send to a peer with a DSCP over this connection."""
        self._connections[lane] = connection

    def wake(self) -> None:
        """Look for something to send, unless closed."""
        with self._waking:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """End the thread and the connections, and forget those whose end the peer does not hear; once is enough."""
        if self._stopping:
            return
        self._stopping = True
        self.wake()
        self._thread.join()
        self._connections = {lane: each for lane, each in self._connections.items() if each.close()}
        with self._waking:
            os.close(self._wake)
            self._wake = -1

    def _run(self) -> None:
        while not self._stopping:
            if self._blocked:
                self._look(0)
            next_piece = self._ledger.next(self._blocked)
            if next_piece is None:
                self._look(_TICK_MS)
            else:
                self._send(*next_piece)

    def _look(self, timeout_ms: int) -> None:
        """Wait for a reason to go on: news, or a connection that takes bytes again."""
        ready = {descriptor for descriptor, _ in self._poll.poll(timeout_ms)}
        if self._wake in ready:
            ready.discard(self._wake)
            os.eventfd_read(self._wake)
        for lane, descriptor in list(self._blocked.items()):
            if descriptor in ready:
                del self._blocked[lane]
                self._poll.unregister(descriptor)

    def _send(self, piece: Piece, lane: Lane) -> None:
        connection = self._connections[lane]
        if connection.piece is None:
            connection.load(piece, self._chunk)
        owner = connection.piece  # a frame that has begun must end before another on its connection
        assert owner is not None
        try:
            count = connection.write()
        except BlockingIOError:
            self._blocked[lane] = connection.fileno()
            self._poll.register(connection.fileno(), connection.events)
            return
        except OSError as error:
            self._lost(lane[0], error)
            return
        self.counts[lane[1]] = self.counts.get(lane[1], 0) + count + HEADER_BYTES
        if self._card is not None and count:
            self._card.spend(count + HEADER_BYTES, time.monotonic())  # what is most urgent then goes next
        self._ledger.sent(owner, count)
