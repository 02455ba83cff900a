# SPDX-License-Identifier: Apache-2.0
"""The structure of a ternary table: built anew when half of its entries have changed, changed in place until then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from offramp_base.native.arrays import RecordArrays, address
from offramp_base.native.records import offset
from offramp_p4.native.keys import KeyFormat
from offramp_p4.native.runtime import context as at
from offramp_p4.native.runtime.blocksets import ENTRIES, HEAD, SET
from offramp_p4.native.runtime.entries import LOWEST, SCORE, VALUE
from offramp_p4.native.runtime.patterns import TUPLE_HEAD
from offramp_p4.native.state.context import SwitchContext, Words, line_zeros
from offramp_p4.native.state.hashtable import as_words
from offramp_p4.native.state.library import updates
from offramp_p4.native.state.searches import SearchEntry, enlarged
from offramp_p4.state import Lpm, Match, Range
from offramp_p4.state.lookup import value_mask

MOST_TUPLES: Final = 24
_SAMPLE: Final = 256, 2048
"""Bounds on the number of entries, otherwise one in sixteen, that the choice of a mask examines."""
_FILL: Final = ENTRIES * 3 // 4
"""Entries of a block when it is built."""
_AT_ONCE: Final = 512
"""Entries that may be rebuilt at once; more are rebuilt only when the control plane has time."""
_SHARE: Final = 40
"""A tuple holds at least one in this many of all entries."""
_FEW: Final = 16
_SEQUENCE_BITS: Final = 32
_LEFT_NS: Final = 0.05
"""Nanoseconds that a look-up costs for each entry that a tuple leaves to others."""
_LEFT_IN_A_BLOCK_NS: Final = 5.0
"""Nanoseconds that a look-up costs for each entry that a tuple leaves to others, if at most one block is needed."""


class _Index:
    """Memory that machine code searches: the records of all entries, tuples, blocks."""

    def __init__(self, key: KeyFormat, entries: Words) -> None:
        self._calls: Any = updates()
        self._key = key
        self._nibbles = (sum(key.widths) + 3) // 4
        self._record = RecordArrays(at.Patterns)
        fields = self._record.fields
        fields.key_words, fields.nibbles, fields.ranges = key.words, self._nibbles, len(key.ranges)
        self.entries = entries
        self._tuples = np.zeros((MOST_TUPLES, TUPLE_HEAD + key.words), np.int64)
        self._heads: list[Words] = []
        self._record.give(at.Patterns.tuples, self._tuples)
        self._record.give(at.Patterns.scratch, np.zeros(ENTRIES + max(ENTRIES, self._nibbles), np.int64))
        self._make_room(1)

    @property
    def words(self) -> Words:
        """The record, for machine code."""
        words: Words = self._record.fields.words
        return words

    @property
    def entries(self) -> Words:
        """A record for each number."""
        return self._entries

    @entries.setter
    def entries(self, entries: Words) -> None:
        self._entries = self._record.give(at.Patterns.entries, entries)

    @property
    def tuples(self) -> int:
        """Number of hash tables."""
        return int(self._record.fields.tuple_count)

    @property
    def blocks(self) -> int:
        """Blocks in use."""
        return int(self._record.fields.block_count)

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        taken = int(self._record.fields.blocks_taken) * 8 * self._block_words
        return self._entries.nbytes + sum(h.nbytes for h in self._heads) + taken

    def build(self, numbers: Words) -> None:
        """Build the structure of these entries."""
        if not len(numbers):
            return
        falling = numbers[np.argsort(-self._entries[numbers - 1, SCORE])]
        left = self._build_tuples(falling.copy())
        if len(left) and len(numbers) <= ENTRIES:
            # One block costs less than some tuples and a block.
            self._record.fields.tuple_count, self._heads, left = 0, [], falling
        parts = [np.ascontiguousarray(left[i : i + _FILL]) for i in range(0, len(left), _FILL)]
        self._make_room(len(parts) + len(parts) // 4 + 1)
        order = self._record[at.Patterns.order]
        for number, part in enumerate(parts):
            self._calls.fill_block(self._record.address, number, address(part), len(part))
            order[number] = number
        self._record.fields.block_count = self._record.fields.blocks_taken = len(parts)

    def add(self, numbers: Words) -> None:
        """Find these entries, too."""
        done = 0
        while done < len(numbers):
            done += self._calls.add_patterns(self._record.address, address(numbers) + 8 * done, len(numbers) - done)
            if done < len(numbers):
                self._make_room(2 * int(self._record.fields.blocks_there))

    def remove(self, number: int) -> None:
        """Remove an entry from the index."""
        self._calls.drop_pattern(self._record.address, number)

    def _build_tuples(self, left: Words) -> Words:
        """Make tuples while they are worthwhile; returns the entries that none of them takes."""
        total = len(left)
        draw = np.random.default_rng(0)
        most = min(max(total // 16, _SAMPLE[0]), _SAMPLE[1])
        scratch = np.empty(4 * most, np.int64)
        mask = np.zeros(self._key.words, np.int64)

        def least(left: int) -> int:
            """The entries that a tuple must have to be worth it."""
            return left // 2 if total <= ENTRIES else min(left, max(ENTRIES, total // _SHARE))

        left_ns = _LEFT_NS if total > ENTRIES else _LEFT_IN_A_BLOCK_NS
        for number in range(MOST_TUPLES):
            sample = left if len(left) <= most else draw.choice(left, most, replace=False)
            scale = len(left) / max(1, len(sample))
            covered = self._calls.choose_mask(
                self._record.address, address(sample), len(sample), scale, left_ns, address(scratch), address(mask)
            )
            expected = int(covered * scale)
            if not mask.any() or expected < least(len(left)):
                break
            heads = np.zeros(1 << (2 * expected).bit_length(), np.int64)
            self._heads.append(heads)
            self._tuples[number] = (address(heads), len(heads) - 1, LOWEST, *mask.tolist())
            self._record.fields.tuple_count = number + 1
            left = left[: self._calls.fill_tuple(self._record.address, number, address(left), len(left))]
            if not len(left):
                break
        return left

    @property
    def _block_words(self) -> int:
        head = (HEAD + 2 * ((self._nibbles + 7) // 8) + 7) // 8 * 8
        return head + ENTRIES + self._nibbles * 16 * SET

    def _make_room(self, blocks: int) -> None:
        """Reserve room for ``blocks`` blocks, aligned to cache lines."""
        taken = int(self._record.fields.blocks_taken)
        room = line_zeros(blocks * self._block_words, np.int64)
        order = np.zeros(blocks, np.int64)
        if taken:
            room[: taken * self._block_words] = self._record[at.Patterns.blocks][: taken * self._block_words]
            order[:taken] = self._record[at.Patterns.order][:taken]
        self._record.give(at.Patterns.blocks, room)
        self._record.give(at.Patterns.order, order)
        self._record.fields.blocks_there = blocks


class PatternSearch:
    """Ternary, range and optional keys: the entry with the highest score wins."""

    def __init__(self, context: SwitchContext, words: int, key: KeyFormat) -> None:
        self._context, self._base, self._key = context, words, key
        self._ready: _Index | None = None
        self.clear(0)

    @property
    def index(self) -> _Index:
        """The index that machine code searches now."""
        return self._index

    def clear(self, capacity: int) -> None:
        """No entries."""
        self._sequence = (1 << _SEQUENCE_BITS) - 1
        self._ready = None
        self._there = np.zeros(capacity, np.bool_)
        self._size = 0
        self._show(_Index(self._key, self._records(capacity)))

    def grow(self, capacity: int) -> None:
        """Room for more numbers."""
        if len(self._index.entries) < capacity:
            self._index.entries = self._copy(capacity)
        self._there = enlarged(self._there, capacity)

    def add(self, entries: Sequence[SearchEntry], numbers: Words) -> None:
        """Find these entries, too."""
        if not entries:
            return
        self._write(entries, numbers - 1)
        self._there[numbers - 1] = True
        self._size += len(numbers)
        if len(numbers) > _FEW and 2 * len(numbers) > self._size:
            self._rebuild()
            return
        self._index.add(numbers)
        self._note_changes(len(numbers))

    def remove(self, entry: SearchEntry, number: int) -> None:
        """Remove an entry from the index."""
        del entry
        self._index.remove(number)
        self._there[number - 1] = False
        self._size -= 1
        self._note_changes(1)

    @property
    def wants_time(self) -> bool:
        """Whether :meth:`prepare` has work to do."""
        return self._changes > self._bearable

    def prepare(self, capacity: int) -> None:
        """Build the structure anew, beside the one that packets use; nothing changes until it is in use."""
        self._ready = self._built(self._copy(capacity))

    def publish(self) -> None:
        """Use the structure that :meth:`prepare` has built."""
        ready, self._ready = self._ready, None
        if ready is not None:
            self._show(ready)

    def _rebuild(self) -> None:
        self._show(self._built(self._index.entries))

    def _built(self, entries: Words) -> _Index:
        index = _Index(self._key, entries)
        index.build(np.flatnonzero(self._there) + 1)
        return index

    def _note_changes(self, count: int) -> None:
        self._changes += count
        if self.wants_time and self._size <= _AT_ONCE:
            self._rebuild()

    def _show(self, index: _Index) -> None:
        self._index = index
        self._changes, self._bearable = 0, max(16, self._size // 2)
        self._context.hold(self._base + offset(at.TableRecord.patterns), index.words)

    def _copy(self, capacity: int) -> Words:
        records = self._records(capacity)
        records[: len(self._index.entries)] = self._index.entries
        return records

    def _records(self, count: int) -> Words:
        size = (VALUE + 2 * self._key.words + 2 * len(self._key.ranges) + 7) // 8 * 8
        return line_zeros((count, size), np.int64)

    def _write(self, entries: Sequence[SearchEntry], rows: Words) -> None:
        """Write the records of entries."""
        values, masks, order = [], [], [(i, self._key.widths[i]) for i in self._key.order]
        for entry in entries:
            value = mask = 0
            keys = entry.keys
            for i, width in order:
                v, m = _bits(keys[i], width)
                value, mask = value << width | v, mask << width | m
            values.append(value)
            masks.append(mask)
        records = self._index.entries
        words = self._key.words
        records[rows, SCORE] = [self._score(e) for e in entries]
        records[rows, VALUE : VALUE + words] = as_words(values, words)
        records[rows, VALUE + words : VALUE + 2 * words] = as_words(masks, words)
        for i, key in enumerate(self._key.ranges):
            top = (1 << self._key.widths[key]) - 1
            matches = [e.keys[key] for e in entries]
            bounds = [(m.low, m.high) if isinstance(m, Range) else (0, top) for m in matches]
            first = VALUE + 2 * words + 2 * i
            records[rows, first : first + 2] = np.array(bounds, np.uint64).view(np.int64)

    def _score(self, entry: SearchEntry) -> int:
        """Priority first, then the order of insertion. Entries without priorities are lpm: the longest wins."""
        rank = entry.priority
        if self._key.by_length:
            rank = sum(k.prefix_len for k in entry.keys if isinstance(k, Lpm))
        self._sequence -= 1
        return (rank << _SEQUENCE_BITS) + self._sequence


def _bits(match: Match, width: int) -> tuple[int, int]:
    """The value and mask that every value of a match has; of a range what lowest and highest have in common."""
    if type(match) is Range:
        common = ((1 << width) - 1) ^ ((1 << (match.low ^ match.high).bit_length()) - 1)
        return match.low & common, common
    return value_mask(match, width)
