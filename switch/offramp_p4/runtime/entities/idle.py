# SPDX-License-Identifier: Apache-2.0
"""Idle time-outs of table entries and their notifications (sections 9.1.8 and 16.4)."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

from offramp_base.p4rt.schema import v1
from offramp_p4.runtime.entities.table import P4RuntimeTable, set_metadata
from offramp_p4.state import TableEntry


class IdleTimers:
    """The time at which each entry with a time-out may be reported, on the tables' clock, in nanoseconds."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, P4RuntimeTable, TableEntry]] = []
        self._armed: dict[int, tuple[int, int]] = {}  # by id of the entry: number of the timer, start of its period
        self._numbers = count()

    def arm(self, table: P4RuntimeTable, entry: TableEntry) -> None:
        """Watch an entry from now on, if it has a time-out."""
        self.disarm(entry)
        if entry.idle_timeout_ns:
            self._start(table, entry, table.clock())

    def disarm(self, entry: TableEntry) -> None:
        """Watch an entry no longer."""
        self._armed.pop(id(entry), None)
        if len(self._heap) > 2 * len(self._armed) + 64:  # mostly timers of the past
            self._heap = [item for item in self._heap if self._is_current(item)]
            heapq.heapify(self._heap)

    @property
    def next_ns(self) -> int | None:
        """The time at which :meth:`due` may have something to give; None: never."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_ns: int) -> Iterator[Any]:
        """IdleTimeoutNotification messages, one for each table that has idle entries."""
        idle: dict[int, list[Any]] = {}
        while self._heap and self._heap[0][0] <= now_ns:
            item = heapq.heappop(self._heap)
            if not self._is_current(item):
                continue
            _, number, table, entry = item
            start = max(self._armed[id(entry)][1], entry.last_hit_us * 1000)
            if start + entry.idle_timeout_ns > now_ns:  # hit in the meantime
                heapq.heappush(self._heap, (start + entry.idle_timeout_ns, number, table, entry))
                continue
            idle.setdefault(table.id, []).append(_notice(table, entry))
            self._start(table, entry, now_ns)
        for entries in idle.values():
            yield v1.IdleTimeoutNotification(table_entry=entries, timestamp=time.time_ns())

    def _start(self, table: P4RuntimeTable, entry: TableEntry, now_ns: int) -> None:
        number = next(self._numbers)
        self._armed[id(entry)] = number, now_ns
        heapq.heappush(self._heap, (now_ns + entry.idle_timeout_ns, number, table, entry))

    def _is_current(self, item: tuple[int, int, P4RuntimeTable, TableEntry]) -> bool:
        armed = self._armed.get(id(item[3]))
        return armed is not None and armed[0] == item[1]


def _notice(table: P4RuntimeTable, entry: TableEntry) -> Any:
    message = table.key_message(entry)
    set_metadata(message, entry.metadata)
    message.idle_timeout_ns = entry.idle_timeout_ns
    return message
