# SPDX-License-Identifier: Apache-2.0
"""Messages that a server keeps for the client of a StreamChannel."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any, Final

from offramp_base.p4rt.status import Code, RpcError

OUTBOX: Final = 4096
OUTBOX_BYTES: Final = 16 << 20
"""Responses kept for a client that does not read; packets beyond that are lost, arbitration is not."""
_END: Final = object()


class Outbox:
    """Responses waiting for the client; putting never blocks.

    Args:
        kept: the kind of message that is not lost.

    Attributes:
        lost: messages for which there was no room.
    """

    def __init__(self, kept: str) -> None:
        self._kept = kept
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._bytes = 0
        self.lost = 0

    def put(self, message: Any) -> None:
        """Keep a message, if there is room."""
        size, count = message.ByteSize(), self._queue.qsize()
        if count >= OUTBOX or self._bytes + size > OUTBOX_BYTES:
            if message.WhichOneof("update") != self._kept:
                self.lost += 1
                return
            if count >= 2 * OUTBOX:
                self.finish(RpcError(Code.RESOURCE_EXHAUSTED, "the client does not read what it asks for"))
                return
        with self._lock:
            self._bytes += size
        self._queue.put(message)

    def finish(self, error: RpcError | None = None) -> None:
        """End the iteration once what is kept has been taken; with an error, by raising it."""
        self._queue.put(error or _END)

    def waiting(self) -> Iterator[Any]:
        """The messages that are there now, without waiting for more."""
        while not self._queue.empty():
            message = self._next()
            if message is _END:
                return
            yield message

    def __iter__(self) -> Iterator[Any]:
        while (message := self._next()) is not _END:
            yield message

    def _next(self) -> Any:
        message = self._queue.get()
        if isinstance(message, RpcError):
            raise message
        if message is not _END:
            with self._lock:
                self._bytes -= message.ByteSize()
        return message
