# SPDX-License-Identifier: Apache-2.0
"""Tables that keep their entries in the rows of machine code alone.

Of an entry that has nothing but a key and an action there is no object once machine code has been shown it, until
someone asks for it by its key. So a million of them take little memory, and Python's garbage collector, which stops
the packets, has nothing to look through.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from offramp_p4.native.state.changes import CHUNK
from offramp_p4.native.state.columns import action_rows, key_words
from offramp_p4.native.state.context import Bytes, Words
from offramp_p4.native.state.searches import BatchSearch
from offramp_p4.native.state.tables import NativeTable
from offramp_p4.state import Match, StateError, TableEntry
from offramp_p4.state.batch import EntryBatch


class CompactTable(NativeTable):
    """A table of exact keys and at most one lpm key whose entries have nothing of their own but an action."""

    _search: BatchSearch
    _bare = 0  # entries without an object

    @property
    def entries(self) -> Iterator[TableEntry]:
        """All entries; those without an object of their own as copies, which come last."""
        with self._lock:
            bare = self._list_bare()
            single = list(self._entries.values())
        yield from single
        for row, raw in zip(*bare, strict=True):
            yield TableEntry(self._search.matches(row), self._actions.decode(raw.tobytes()))

    def __len__(self) -> int:
        return len(self._entries) + self._bare

    def sync(self) -> None:
        """Make all changes since the last call, and forget the objects of entries that need none."""
        changed = [*self._new.values(), *self._altered]
        super().sync()
        for entry in changed:
            number = self._numbers.get(id(entry))
            if number is not None and not entry.const and not entry.metadata:
                del self._entries[self._identity(entry.keys, entry.priority)]
                del self._numbers[id(entry)]
                self._by_number[number - 1] = None
                self._bare += 1

    @property
    def nbytes(self) -> int:
        """Memory of what machine code reads."""
        return int(self._rows.nbytes) + self._search.nbytes

    def insert_all(self, batch: EntryBatch) -> None:
        """Add all entries of a batch, or none; packets may meet some of them before."""
        self._check_batch(batch)
        if not len(batch):
            return
        self._check_room(len(batch))
        keys = key_words(self._plan.key, batch)
        rows = action_rows(self._actions[batch.action], self._plan.row_size, batch)
        lengths = np.zeros(len(batch), np.uint8) if batch.lengths is None else batch.lengths.astype(np.uint8)
        done: list[tuple[Words, Bytes, Words]] = []
        try:
            for at in range(0, len(batch), CHUNK):
                part = slice(at, at + CHUNK)
                self._changes.relieve()
                with self._changes.between_packets(), self._lock:
                    self._changes.show()
                    done.append((keys[part], lengths[part], self._enter(keys[part], lengths[part], rows[part])))
                    self._note_slow()
        except StateError:
            for chunk in done:
                with self._changes.between_packets(), self._lock:
                    self._changes.show()
                    self._withdraw(*chunk)
            raise

    def _enter(self, keys: Words, lengths: Bytes, rows: Bytes) -> Words:
        """Add the entries of one chunk, or none; returns their numbers."""
        count, first = len(keys), len(self._by_number)
        self._check_room(count)
        self._by_number += [None] * count
        if len(self._by_number) > self._capacity:
            self._grow()
        self._rows[first : first + count] = rows
        numbers = np.arange(first + 1, first + count + 1)
        entered = self._search.add_rows(keys, lengths, numbers)
        self._bare += count
        if entered < count:
            self._bare -= count - entered
            self._free += range(first + entered + 1, first + count + 1)
            self._withdraw(keys[:entered], lengths[:entered], numbers[:entered])
            raise StateError("already_exists", f"table {self.name}: an entry with this match exists")
        return numbers

    def _withdraw(self, keys: Words, lengths: Bytes, numbers: Words) -> None:
        """Remove entries that have just been added."""
        bare = np.array([self._by_number[n - 1] is None for n in numbers.tolist()], np.bool_)
        self._search.remove_rows(keys[bare], lengths[bare], numbers[bare])
        self._free += numbers[bare].tolist()
        self._bare -= int(bare.sum())

    def _changed(self) -> None:
        super()._changed()
        self._bare = 0

    def _holds(self, identity: tuple[object, ...], keys: tuple[Match, ...]) -> bool:
        return identity in self._entries or self._bare_number(keys) != 0

    def _find(self, keys: tuple[Match, ...], priority: int) -> TableEntry | None:
        with self._lock:
            known = super()._find(keys, priority)
            number = 0 if known is not None else self._bare_number(keys)
            if not number:
                return known
            entry = TableEntry(keys, self._actions.decode(self._rows[number - 1].tobytes()))
            self._entries[self._identity(keys, priority)] = entry
            self._numbers[id(entry)] = number
            self._by_number[number - 1] = entry
            self._bare -= 1
            return entry

    def _bare_number(self, keys: tuple[Match, ...]) -> int:
        """The number of an entry without an object; 0 if there is none with these keys."""
        if not self._bare:
            return 0
        number = self._search.find(keys)
        return number if number and self._by_number[number - 1] is None else 0

    def _list_bare(self) -> tuple[Words, Bytes]:
        """Keys and rows of the entries without an object, in the order of their numbers."""
        if not self._bare:
            return np.zeros((0, self._plan.key.words), np.int64), np.zeros((0, self._plan.row_size), np.uint8)
        keys, numbers = self._search.listed()
        bare = np.array([self._by_number[n - 1] is None for n in numbers.tolist()], np.bool_)
        order = np.argsort(numbers[bare])
        return keys[bare][order], self._rows[numbers[bare][order] - 1]
