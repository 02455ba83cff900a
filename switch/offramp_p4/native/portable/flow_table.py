# SPDX-License-Identifier: Apache-2.0
"""Tables of PNA programs whose entries packets add, and whose timers they restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.native.runtime import context as at
from offramp_p4.native.runtime.portable.flows import CHANGED
from offramp_p4.native.state.searches import enlarged
from offramp_p4.native.state.tables import NativeTable
from offramp_p4.portable.flows import expires
from offramp_p4.state import TableEntry, TableState

if TYPE_CHECKING:
    from offramp_p4.native.state.changes import Changes
    from offramp_p4.native.state.context import Words
    from offramp_p4.state import ActionProfileState


class FlowTable(NativeTable):
    """A table with a timer for each entry.

    Attributes:
        expires: whether an entry whose time is over is removed.
    """

    def __init__(self, table: ir.MatchTable, profile: ActionProfileState | None, changes: Changes) -> None:
        super().__init__(table, profile, changes)
        self.expires = expires(table)

    def learn(self, entry: TableEntry) -> None:
        """Add an entry while packets run, whose counts have been collected.

        Raises:
            StateError: it is there already, or there is no room.
        """
        TableState.insert(self, entry)
        self._changes.show_table(self)

    def forget(self, entry: TableEntry) -> None:
        """Remove an entry while packets run, whose counts have been collected."""
        TableState.delete(self, entry.keys, entry.priority)
        self._changes.show_table(self)

    def take_renewed(self, numbers: Words) -> list[TableEntry]:
        """Take over what packets have done to the timers of entries; those with another time to live."""
        timers = self._timers[numbers - 1]
        self._timers[numbers - 1, at.Timer.renewed] = 0
        settled = {id(entry) for entry in self._altered}  # what a controller has set meanwhile came later
        changed = []
        for number, (began_us, life_us, how) in zip(numbers.tolist(), timers.tolist(), strict=True):
            entry = self._by_number[number - 1]
            if entry is None:
                continue
            entry.last_hit_us = began_us
            if how >= CHANGED and id(entry) not in settled:
                entry.idle_timeout_ns = 1000 * life_us
                changed.append(entry)
        return changed

    @property
    def changed_by_packets(self) -> bool:
        """Whether packets change state that other packets read: here always."""
        return True

    def _note_hit(self, entry: TableEntry, now_us: int) -> None:
        """Only programs restart timers."""

    def _rebuild(self) -> None:
        self._timers: Words = np.zeros((0, at.Timer.WORDS), np.int64)
        super()._rebuild()

    def _publish(self) -> None:
        if len(self._timers) < self._capacity:
            self._timers = enlarged(self._timers, self._capacity)
        self._context.hold(self._base + offset(at.TableRecord.timers), self._timers)
        super()._publish()
