# SPDX-License-Identifier: Apache-2.0
"""Changes that the control plane has made and machine code has not been shown yet.

Changes are noted under a lock of their own, and shown to machine code before the next packets. So that packets never
wait long for that, a writer who has noted many shows them itself, between two batches of packets; and what takes long,
such as a larger hash table, it prepares beside the packets, to be taken into use in no time.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from offramp_p4.native.lock import PacketLock

if TYPE_CHECKING:
    from offramp_p4.native.state.tables import NativeTable

MOST: Final = 256
"""Changes that packets may find noted; a millisecond's work or two."""
CHUNK: Final = 2048
"""Entries of a batch that are entered between two batches of packets."""
MARGIN: Final = 4 * CHUNK
"""A table with room for fewer further entries than this is enlarged."""
LARGE: Final = 1 << 14
"""Tables with room for fewer entries are enlarged on the spot."""
_PAUSE_S: Final = 1e-4


class Changes:
    """The changes of all tables of a switch.

    Attributes:
        lock: lock held during every change.
        dirty: tables with changes that machine code has not been shown.
        slow: tables that have something to prepare.
        pending: number of changes noted since all were shown.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.dirty: set[NativeTable] = set()
        self.slow: set[NativeTable] = set()
        self.pending = 0
        self._running = PacketLock()
        self._show: Callable[[], Callable[[], None] | None] = lambda: None
        self._waiting = 0

    def serve(self, running: PacketLock, show: Callable[[], None]) -> None:
        """Say which lock is held while packets run, and what shows all changes to machine code under it.

        ``show`` is a method, whose object is not kept alive.
        """
        self._running, self._show = running, weakref.WeakMethod(show)

    def show(self) -> None:
        """Show all changes to machine code; the caller is between packets."""
        show = self._show()
        if show is not None:
            show()

    def note(self, table: NativeTable) -> None:
        """A change of a table; the caller holds the lock."""
        self.dirty.add(table)
        self.pending += 1

    def show_table(self, table: NativeTable) -> None:
        """Show machine code the changes of one table while packets run; the caller holds the lock, and is a packet."""
        table.sync()
        self.dirty.discard(table)
        if not self.dirty:
            self.pending = 0

    def relieve(self) -> None:
        """Apply changes that would otherwise keep packets waiting; the caller holds no lock."""
        if self.pending < MOST and not self.slow:
            return
        with self.between_packets():
            self.lock.acquire()
            self.show()
        try:
            for table in self.slow:
                table.prepare()
                self.dirty.add(table)
            self.slow.clear()
        finally:
            self.lock.release()

    @contextmanager
    def between_packets(self) -> Iterator[None]:
        """No packet runs within this context."""
        self._waiting += 1
        try:
            self._running.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._running.release()

    def give_way(self) -> None:
        """Let in writers that wait for packets to pause."""
        if self._waiting:
            time.sleep(_PAUSE_S)
