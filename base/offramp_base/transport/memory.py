# SPDX-License-Identifier: Apache-2.0
"""A link inside one process: two ends, frames handed over in order."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

from offramp_base.errors import OfframpError
from offramp_base.transport.base import LinkStats
from offramp_base.wire.batch import PacketBatch


@dataclass
class _Link:
    changed: threading.Condition = field(default_factory=threading.Condition)
    queues: tuple[deque[PacketBatch], deque[PacketBatch]] = field(default_factory=lambda: (deque(), deque()))
    open: bool = True


class MemoryIO:
    """One end of a link made by :func:`pair`; the ends may be used from different threads."""

    def __init__(self, link: _Link, end: int) -> None:
        self._link = link
        self.stats = LinkStats()
        self._arrived, self._departed = link.queues[end], link.queues[1 - end]

    def send(self, batch: PacketBatch) -> None:
        """Send all frames; never blocks.

        Raises:
            OfframpError: either end is closed.
        """
        with self._link.changed:
            if not self._link.open:
                raise OfframpError("memory link: closed")
            if len(batch):
                self._departed.append(batch)
                self.stats.sent += len(batch)
                self._link.changed.notify_all()

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames that have arrived, at least one unless ``timeout_s`` seconds pass without any.

        Raises:
            OfframpError: either end is closed and all frames have been received.
        """
        with self._link.changed:
            self._link.changed.wait_for(lambda: self._arrived or not self._link.open, timeout_s)
            if not self._arrived and not self._link.open:
                raise OfframpError("memory link: closed")
            batch = PacketBatch.concatenate(self._arrived)
            self._arrived.clear()
            self.stats.received += len(batch)
            return batch

    def close(self) -> None:
        """Release the link; the other end can still receive the frames that were sent."""
        with self._link.changed:
            self._link.open = False
            self._link.changed.notify_all()


def pair() -> tuple[MemoryIO, MemoryIO]:
    """The two ends of a new link."""
    link = _Link()
    return MemoryIO(link, 0), MemoryIO(link, 1)
