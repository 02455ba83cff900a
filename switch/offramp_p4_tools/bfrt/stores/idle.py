# SPDX-License-Identifier: Apache-2.0
"""Idle times of a table's entries: the time they have left, and who is told when it is up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from offramp_p4.runtime.entities.base import invalid
from offramp_p4.state import TableEntry, TableState
from offramp_p4_tools.bfrt.values import Value

_US_PER_MS = 1000
_SCAN_US = 5_000
"""Shortest interval between two scans of the entries, in microseconds."""


@dataclass
class IdleSettings:
    """The table attribute ``IdleTimeout``; times in milliseconds.

    Attributes:
        notify: entries have a time to live and are reported; else they are idle or active when asked.
    """

    enable: bool = False
    notify: bool = True
    interval: int = 5000
    longest: int = 3_600_000
    shortest: int = 1000


class IdleTable:
    """The entries of one table with a time to live."""

    def __init__(self, state: TableState) -> None:
        self._state = state
        self.settings = IdleSettings()
        self._idle: set[int] = set()  # ids of entries that have been reported
        # In the mode without notifications: since when a hit counts, and which entries were hit at the last look.
        self._since_us: dict[int, int] = {}
        self._active: set[int] = set()
        self._scan_us = 0

    def check(self, name: str, ttl_ms: int) -> None:
        """Check that a client may ask for a time to live.

        Raises:
            RpcError: it is longer than the table's longest.
        """
        if self.settings.enable and ttl_ms > self.settings.longest:
            raise invalid(f"table {name}: $ENTRY_TTL {ttl_ms} is above the table's {self.settings.longest} ms")

    def start(self, entry: TableEntry, now_us: int) -> None:
        """An entry is new, and has all its time."""
        entry.last_hit_us = self._since_us[id(entry)] = now_us
        self._idle.discard(id(entry))

    def sync(self, now_us: int) -> None:
        """Look which entries have been hit since the last look."""
        self._active = {id(entry) for entry in self._state.entries if self._was_hit(entry)}
        self._since_us = {id(entry): now_us for entry in self._state.entries}

    def forget(self, entry: TableEntry) -> None:
        """An entry is gone."""
        self._idle.discard(id(entry))
        self._active.discard(id(entry))
        self._since_us.pop(id(entry), None)

    def set(self, entry: TableEntry, values: Mapping[str, Value], now_us: int) -> None:
        """Change what an entry has left, or whether it is active."""
        if "$ENTRY_TTL" in values:
            entry.idle_timeout_ns = cast("int", values["$ENTRY_TTL"]) * 1_000_000
            self.start(entry, now_us)
        state = values.get("$ENTRY_HIT_STATE")
        if state == "ENTRY_ACTIVE":
            self.start(entry, now_us)
            self._active.add(id(entry))
        elif state == "ENTRY_IDLE":
            self._active.discard(id(entry))
            self._since_us[id(entry)] = now_us

    def values(self, entry: TableEntry, now_us: int) -> dict[str, Value]:
        """The remaining time of an entry in milliseconds, and whether it is idle."""
        ttl = entry.idle_timeout_ns // 1_000_000
        if not self.settings.notify:
            return {"$ENTRY_HIT_STATE": "ENTRY_ACTIVE" if id(entry) in self._active else "ENTRY_IDLE"}
        left = max(0, ttl - (now_us - entry.last_hit_us) // _US_PER_MS) if self.settings.enable else ttl
        idle = self.settings.enable and ttl and not left
        return {"$ENTRY_TTL": left, "$ENTRY_HIT_STATE": "ENTRY_IDLE" if idle else "ENTRY_ACTIVE"}

    def _was_hit(self, entry: TableEntry) -> bool:
        return entry.last_hit_us > self._since_us.get(id(entry), 0)

    @property
    def next_us(self) -> int | None:
        """Time of the next look at entries, in microseconds; None if nobody wants notifications."""
        return self._scan_us if self.settings.enable and self.settings.notify else None

    def changes(self, now_us: int) -> Iterator[tuple[TableEntry, bool]]:
        """Entries that have become idle, with True, and idle ones that have been hit since, with False."""
        self._scan_us = now_us + max(_SCAN_US, min(self.settings.interval, 1000) * _US_PER_MS // 10)
        for entry in self._state.entries:
            if not entry.idle_timeout_ns:
                continue
            idle = (now_us - entry.last_hit_us) * 1000 >= entry.idle_timeout_ns
            if idle != (id(entry) in self._idle):
                (self._idle.add if idle else self._idle.discard)(id(entry))
                yield entry, idle
