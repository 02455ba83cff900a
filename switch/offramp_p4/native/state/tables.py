# SPDX-License-Identifier: Apache-2.0
"""Tables whose entries are in rows that machine code finds and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.native.actions import Actions
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.arrays import NativeMeterCell
from offramp_p4.native.state.changes import LARGE, MARGIN, Changes
from offramp_p4.native.state.context import SwitchContext, Words, line_zeros
from offramp_p4.native.state.numbers import signed_word
from offramp_p4.native.state.profile import NativeProfile
from offramp_p4.native.state.search import make_search
from offramp_p4.native.state.searches import enlarged
from offramp_p4.state import ActionData, ActionProfileState, Match, TableEntry, TableState
from offramp_p4.types import Bits

if TYPE_CHECKING:
    from offramp_p4.native.table_plan import TablePlan


class NativeTable(TableState):
    """A table. Changes are noted, and made for machine code when :meth:`sync` is called before packets run."""

    def __init__(self, table: ir.MatchTable, profile: ActionProfileState | None, changes: Changes) -> None:
        self._changes = changes
        self._nothing_new()
        self._stale = True
        super().__init__(table, profile, changes.lock)
        # Counting also tells which entries have been hit.
        self._counted = self.notes_hits or isinstance(table.properties.get("counters"), ir.ExternInstance)
        self._metered = isinstance(table.properties.get("meters"), ir.ExternInstance)
        self._with_registers = isinstance(table.properties.get("registers"), ir.ExternInstance)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def attach(self, context: SwitchContext, plan: TablePlan, actions: Actions) -> None:
        """Be found where ``plan`` says."""
        self._context, self._plan, self._actions = context, plan, actions
        self._base = plan.words
        self._search = make_search(context, plan.words, plan.key)
        self._numbers: dict[int, int] = {}  # by id of the entry
        self._by_number: list[TableEntry | None] = []
        self._free: list[int] = []
        self._register = Bits(64), 0
        self._capacity = 0
        self._larger: npt.NDArray[np.uint8] | None = None  # rows that have been prepared

    def set_register(self, bits: Bits, initial: int) -> None:
        """Set the type and the initial value of each entry's direct register."""
        self._register = bits, initial

    # --- what the control plane does: noted under the lock of all changes

    def insert(self, entry: TableEntry) -> None:
        """Add an entry."""
        super().insert(entry)
        self._changes.relieve()

    def modify(self, entry: TableEntry) -> None:
        """Replace action, metadata and time-out of an entry."""
        super().modify(entry)
        self._changes.relieve()

    def delete(self, keys: tuple[Match, ...], priority: int = 0) -> None:
        """Remove an entry."""
        super().delete(keys, priority)
        self._changes.relieve()

    def _nothing_new(self) -> None:
        self._new: dict[int, TableEntry] = {}  # by id of the entry
        self._gone: list[tuple[TableEntry, TableEntry]] = []  # entries, and what they were
        self._altered: list[TableEntry] = []
        self._stale = False

    def _changed(self) -> None:
        super()._changed()
        self._stale = True
        self._changes.note(self)

    def _added(self, entry: TableEntry) -> None:
        super()._added(entry)
        self._changes.note(self)
        if not self._stale:
            self._new[id(entry)] = entry

    def _modified(self, entry: TableEntry) -> None:
        self._altered.append(entry)
        self._changes.note(self)

    def _removed(self, entry: TableEntry) -> None:
        super()._removed(entry)
        self._changes.note(self)
        if not self._stale and self._new.pop(id(entry), None) is None:
            self._gone.append((entry, TableEntry(entry.keys, entry.action, entry.priority)))

    def set_default(self, action: ActionData | None) -> None:
        """Change the default action, or with None bring back the one of the source."""
        with self._lock:
            super().set_default(action)
            self._changes.note(self)

    # --- what machine code sees

    def sync(self) -> None:
        """Make all changes since the last call; to be called under the lock of changes."""
        row = self._actions.encode(self.default)
        self._context.hold(self._base + at.TableRecord.default, np.frombuffer(row, np.uint8))
        if self._search is None:
            return
        if self._stale:
            self._larger = None
            self._rebuild()
        else:
            self._publish_prepared()
            for entry, was in self._gone:
                self._forget(entry, was)
            self._add(list(self._new.values()))
            for entry in self._altered:
                number = self._numbers.get(id(entry))
                if number is not None:
                    self._rows[number - 1] = self._encode([entry])
        self._nothing_new()
        self._note_slow()

    @property
    def _is_narrow(self) -> bool:
        """Whether there is room for few more entries."""
        taken = len(self._by_number) - len(self._free)
        return self._capacity >= LARGE and taken + MARGIN > self._capacity

    def _note_slow(self) -> None:
        assert self._search is not None
        if self._is_narrow or self._search.wants_time:
            self._changes.slow.add(self)

    def prepare(self) -> None:
        """Build what takes long beside the packets; the caller holds the lock of changes until all is built."""
        assert self._search is not None
        if self._is_narrow:
            self._larger = enlarged(self._rows, 2 * self._capacity)
        if self._is_narrow or self._search.wants_time:
            self._search.prepare(self._capacity if self._larger is None else len(self._larger))

    def _publish_prepared(self) -> None:
        assert self._search is not None
        self._search.publish()
        larger, self._larger = self._larger, None
        if larger is not None:
            self._use(larger)

    def collect(self) -> None:
        """Add what machine code has counted since the last call."""
        words = self._context.words
        self.hits += int(words[self._base + at.TableRecord.hits])
        self.misses += int(words[self._base + at.TableRecord.misses])
        words[[self._base + at.TableRecord.hits, self._base + at.TableRecord.misses]] = 0
        if self._with_registers:
            self._collect_registers()
        touches = int(words[self._base + at.TableRecord.touches])
        if not touches:
            return
        words[self._base + at.TableRecord.touches] = 0
        numbers = self._touched[:touches]
        counts, now_us = self._counts[numbers - 1].tolist(), int(words[at.SwitchMemory.now_us])
        self._counts[numbers - 1] = 0
        for number, (packets, volume) in zip(numbers.tolist(), counts, strict=True):
            entry = self._by_number[number - 1]
            assert entry is not None
            entry.packets += packets & ~at.HIT
            entry.bytes += volume
            self._note_hit(entry, now_us)

    def entry(self, number: int) -> TableEntry | None:
        """The entry of a number, counted from 1."""
        return self._by_number[number - 1]

    def _note_hit(self, entry: TableEntry, now_us: int) -> None:
        """An entry has been hit, or counted."""
        entry.last_hit_us = now_us

    @property
    def changed_by_packets(self) -> bool:
        """Whether packets change state that other packets read: direct meters or registers."""
        return self._metered or self._with_registers

    def count_in(self, context: SwitchContext) -> None:
        """Have packets of another core counted in that core's context."""
        if self._search is None or not self._counted:
            return
        for place, array in ((at.TableRecord.counts, self._counts), (at.TableRecord.touched, self._touched)):
            word = self._base + offset(place)
            held = context.held(word)
            if held is None or len(held) != len(array):
                context.hold(word, np.zeros_like(array))

    def absorb(self, context: SwitchContext) -> None:
        """Take over what another core's packets have counted, for :meth:`collect`."""
        touches = int(context.words[self._base + at.TableRecord.touches])
        if not touches:
            return
        context.words[self._base + at.TableRecord.touches] = 0
        counts = context.held(self._base + offset(at.TableRecord.counts))
        numbers = context.held(self._base + offset(at.TableRecord.touched))[:touches]
        fresh = numbers[self._counts[numbers - 1, 0] == 0]
        before = int(self._context.words[self._base + at.TableRecord.touches])
        self._touched[before : before + len(fresh)] = fresh
        self._context.words[self._base + at.TableRecord.touches] = before + len(fresh)
        self._counts[numbers - 1] += counts[numbers - 1]
        counts[numbers - 1] = 0

    def _collect_registers(self) -> None:
        bits, _ = self._register
        for row in np.flatnonzero(self._registers[:, 1]).tolist():
            entry = self._by_number[row]
            assert entry is not None
            entry.register = bits.wrap(int(self._registers[row, 0]))

    def _rebuild(self) -> None:
        if self._metered:
            for entry in self._by_number:
                _detach(entry)
        entries = list(self._entries.values())
        self._by_number, self._free, self._numbers = [], [], {}
        if self._counted or self._metered:
            self._by_number.append(self.default_entry)  # whose count and meter are in the first row
        self._capacity = max(16, 1 << len(entries).bit_length())
        self._rows: npt.NDArray[np.uint8] = line_zeros((self._capacity, self._plan.row_size), np.uint8)
        self._counts: Words = np.zeros((self._capacity if self._counted else 0, 2), np.int64)
        self._touched: Words = np.zeros(self._capacity if self._counted else 0, np.int64)
        self._meters: Words = np.zeros((self._capacity if self._metered else 0, at.Meter.WORDS), np.int64)
        self._registers: Words = np.zeros((self._capacity if self._with_registers else 0, 2), np.int64)
        assert self._search is not None
        self._search.clear(self._capacity)
        self._publish()
        if self._metered:
            self._attach_meter(self.default_entry, 1)
        self._add(entries)

    def _publish(self) -> None:
        for word, array in (
            (offset(at.TableRecord.rows), self._rows),
            (offset(at.TableRecord.counts), self._counts),
            (offset(at.TableRecord.touched), self._touched),
            (offset(at.TableRecord.meters), self._meters),
        ):
            self._context.hold(self._base + word, array)
        if self._plan.registers is not None:
            self._context.hold(self._plan.registers, self._registers)

    def _add(self, entries: list[TableEntry]) -> None:
        if not entries:
            return
        assert self._search is not None
        numbers = np.array([self._number(entry) for entry in entries], np.int64)
        if len(self._by_number) > self._capacity:
            self._grow()
        self._rows[numbers - 1] = self._encode(entries)
        self._search.add(entries, numbers)
        if self._metered:
            for entry, number in zip(entries, numbers.tolist(), strict=True):
                self._attach_meter(entry, number)
        if self._with_registers:
            bits, initial = self._register
            for entry, number in zip(entries, numbers.tolist(), strict=True):
                value = initial if entry.register is None else entry.register
                self._registers[number - 1] = signed_word(value & bits.mask), entry.register is not None

    def _number(self, entry: TableEntry) -> int:
        if self._free:
            number = self._free.pop()
            self._by_number[number - 1] = entry
        else:
            self._by_number.append(entry)
            number = len(self._by_number)
        self._numbers[id(entry)] = number
        return number

    def _grow(self) -> None:
        self._use(enlarged(self._rows, max(2 * self._capacity, len(self._by_number))))

    def _use(self, rows: npt.NDArray[np.uint8]) -> None:
        """Use larger rows, and as much of everything else; counts have been collected."""
        self._rows, self._capacity = rows, len(rows)
        if self._counted:
            self._counts = np.zeros((self._capacity, 2), np.int64)
            self._touched = np.zeros(self._capacity, np.int64)
        if self._with_registers:
            self._registers = enlarged(self._registers, self._capacity)
        if self._metered:
            self._meters = enlarged(self._meters, self._capacity)
            for number, entry in enumerate(self._by_number, 1):
                if entry is not None and isinstance(entry.meter, NativeMeterCell):
                    entry.meter = NativeMeterCell(self._meters[number - 1])
        assert self._search is not None
        self._search.grow(self._capacity)
        self._publish()

    def _encode(self, entries: list[TableEntry]) -> npt.NDArray[np.uint8]:
        size = self._plan.row_size
        raw = b"".join(self._row(entry).ljust(size, b"\0") for entry in entries)
        return np.frombuffer(raw, np.uint8).reshape(-1, size)

    def _row(self, entry: TableEntry) -> bytes:
        if isinstance(entry.action, ActionData):
            return self._actions.encode(entry.action)
        assert isinstance(self.profile, NativeProfile)
        return self.profile.row(entry.action)

    def _forget(self, entry: TableEntry, was: TableEntry) -> None:
        number = self._numbers.pop(id(entry))
        assert self._search is not None
        _detach(entry)
        self._search.remove(was, number)
        if self._with_registers:
            self._registers[number - 1] = 0
        self._by_number[number - 1] = None
        self._free.append(number)

    def _attach_meter(self, entry: TableEntry, number: int) -> None:
        cell = NativeMeterCell(self._meters[number - 1])
        if entry.meter is None:
            self._meters[number - 1] = 0
        else:
            cell.take_over(entry.meter)
        entry.meter = cell


def _detach(entry: TableEntry | None) -> None:
    """Give an entry a meter of its own again."""
    if entry is not None and isinstance(entry.meter, NativeMeterCell):
        entry.meter = entry.meter.plain()
