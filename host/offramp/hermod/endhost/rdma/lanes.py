# SPDX-License-Identifier: Apache-2.0
"""Queue pairs in the place of connections: a sender's, which writes chunks, and a receiver's, which hears of them."""

from __future__ import annotations

import math
import select
import time
from typing import TYPE_CHECKING, Final

from offramp.hermod.endhost.wire import HEADER_BYTES, FrameHeader, FrameType
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.hermod.endhost.ledger import TransferLedger
    from offramp.hermod.endhost.rdma.queue_pair import QueuePair
    from offramp.hermod.endhost.transfers import Piece

_LEAVE_S: Final = 1.0
"""Seconds for which the end of a connection waits for what is on its way."""


class OutgoingQueuePair:
    """A sender's end; one chunk is on its way at a time, so that a more urgent coflow waits for no more than one.

    Args:
        pair: connected queue pair.
        most: bytes of the largest write.
    """

    events = select.POLLIN

    def __init__(self, pair: QueuePair, most: int) -> None:
        self.piece: Piece | None = None
        self._pair, self._most = pair, most
        self._size = 0
        self._flying = False

    def fileno(self) -> int:
        """Descriptor that becomes readable when a chunk has arrived."""
        return self._pair.fileno()

    def load(self, piece: Piece, chunk: int) -> None:
        """Begin with the next chunk of a piece."""
        self._size = min(chunk, self._most, piece.stop - piece.start)
        self.piece = piece

    def write(self) -> int:
        """Send the chunk, or hear that it has arrived: returns its bytes then.

        Raises:
            OSError: BlockingIOError if it is on its way; otherwise the connection is lost.
        """
        assert self.piece is not None
        if not self._flying:
            outgoing, start = self.piece.outgoing, self.piece.start
            assert outgoing.registered is not None
            assert outgoing.remote is not None
            header = FrameHeader(FrameType.DATA, self._size, outgoing.route[1], start, len(outgoing.view))
            self._pair.write(outgoing.registered, start, self._size, outgoing.remote, header.pack())
            self._flying = True
        if not self._pair.completed()[0]:
            raise BlockingIOError
        self.piece, self._flying = None, False
        return self._size

    def close(self) -> bool:
        """End the queue pair; whether the peer has all that was sent, and knows that it is all."""
        try:
            arrived = self._settled()
            if arrived:
                self._pair.say(FrameHeader(FrameType.BYE, 0).pack())
                self._flying = True
                arrived = self._settled()
        except OSError:
            arrived = False
        self._pair.close()
        return arrived

    def _settled(self) -> bool:
        """Wait for the message that is on its way; whether it has arrived."""
        end = time.monotonic() + _LEAVE_S
        while self._flying:
            if self._pair.completed()[0]:
                self._flying = False
            elif (left := end - time.monotonic()) <= 0:
                return False
            else:
                poll = select.poll()
                poll.register(self._pair.fileno(), select.POLLIN)
                poll.poll(math.ceil(left * 1000))
        return True


class IncomingQueuePair:
    """A receiver's end: the bytes are where they belong when their header comes.

    Args:
        pair: connected queue pair.
        peer: rank of the other end.
        urgency: its DSCP.
        ledger: says which bytes are expected.
    """

    control = False
    between_frames = True

    def __init__(self, pair: QueuePair, peer: int, urgency: int, ledger: TransferLedger) -> None:
        self.sock, self.peer, self.urgency, self._ledger = pair, peer, urgency, ledger

    def read(self) -> None:
        """Take in what has come.

        Raises:
            EOFError: the peer has ended it, by a frame or by something that the device refused.
            OSError: the connection is lost.
            OfframpError: what came makes no sense.
        """
        try:
            while received := self.sock.completed()[1]:
                for raw in received:
                    self._take(raw)
        except ConnectionAbortedError:
            raise EOFError from None  # whoever sent what the device refuses hears the reason, and tells

    def _take(self, raw: bytes) -> None:
        if len(raw) != HEADER_BYTES:
            raise OfframpError(f"rank {self.peer} sent a frame without a header")
        header = FrameHeader.unpack(raw, self.peer)
        if header.kind is FrameType.BYE:
            raise EOFError
        if header.kind is not FrameType.DATA or not header.length:
            raise OfframpError(f"rank {self.peer} sent {header.kind.name} where data belong")
        route = (self.peer, header.message)
        self._ledger.target(route, header.offset, header.length, header.total)
        self._ledger.arrived(route, header.length)
