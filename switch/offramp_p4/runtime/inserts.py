# SPDX-License-Identifier: Apache-2.0
"""Machine code that reads the messages of many insertions into columns.

What it is given is a WriteRequest as protobuf has just written it, so fields are in the order of their numbers, and
numbers are those of p4runtime.proto. Anything but plain insertions into one table, with one action, is left alone.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import Record
from offramp_base.native.subset import Bytes, Words, inlined, native

VARINT: Final = 0
MESSAGE: Final = 2  # or bytes
LPM: Final = 1  # kind of a key; else exact


class Inserts(Record):
    """The message that is parsed, and the columns that its values are written to."""

    at: int  # byte to be read next
    wrong: int  # 1: this is something else
    table: int
    action: int
    key_count: int
    arg_count: int
    number_words: int  # of each number in a column
    key_ids: Words
    kinds: Words
    widths: Words
    arg_ids: Words
    keys: Words  # entry by entry, key by key, the lowest word first
    lengths: Words
    args: Words


@inlined
def _varint(data: Bytes, state: Inserts, end: int) -> int:
    value = 0
    shift = 0
    while state.at < end and shift < 64:
        byte = data[state.at]
        state.at = state.at + 1
        value = value | ((byte & 127) << shift)
        if byte < 128:
            return value
        shift += 7
    state.wrong = 1
    return 0


@native
def _length(data: Bytes, state: Inserts, end: int) -> int:
    """The end of the message or bytes whose length stands here."""
    size = _varint(data, state, end)
    if size < 0 or size > end - state.at:
        state.wrong = 1
        return state.at
    return state.at + size


@native
def _number(data: Bytes, state: Inserts, end: int, into: Words) -> None:
    """A number of big-endian bytes."""
    stop = _length(data, state, end)
    while state.at < stop and data[state.at] == 0 and state.at < stop - 1:
        state.at = state.at + 1
    size = stop - state.at
    if size == 0 or size > 8 * state.number_words:
        state.wrong = 1
    else:
        for i in range(size):
            word = (size - 1 - i) >> 3
            into[word] = (into[word] << 8) | data[state.at + i]
    state.at = stop


@inlined
def _place_of(identifier: int, identifiers: Words, count: int) -> int:
    for i in range(count):
        if identifiers[i] == identifier:
            return i
    return count


@native
def _match(data: Bytes, state: Inserts, end: int, entry: int) -> int:
    """A FieldMatch; returns the bit of its key."""
    if _varint(data, state, end) != (1 << 3 | VARINT):
        state.wrong = 1
        return 0
    key = _place_of(_varint(data, state, end), state.key_ids, state.key_count)
    if key == state.key_count:
        state.wrong = 1
        return 0
    tag = _varint(data, state, end)
    if tag != ((4 if state.kinds[key] == LPM else 2) << 3 | MESSAGE):
        state.wrong = 1
        return 0
    stop = _length(data, state, end)
    if stop != end or _varint(data, state, end) != (1 << 3 | MESSAGE):
        state.wrong = 1
        return 0
    value = state.keys + (entry * state.key_count + key) * state.number_words
    _number(data, state, end, value)
    if state.kinds[key] == LPM:
        length = 0
        if _varint(data, state, end) == (2 << 3 | VARINT):
            length = _varint(data, state, end)
        if length <= 0 or length > state.widths[key]:
            state.wrong = 1
        else:
            state.lengths[entry] = length
            _check_behind(state, value, state.widths[key] - length)
    if state.at != end:
        state.wrong = 1
    return 1 << key


@native
def _check_behind(state: Inserts, value: Words, behind: int) -> None:
    """The bits behind a prefix are 0."""
    for i in range(state.number_words):
        low = behind - 64 * i
        if low >= 64:
            if value[i] != 0:
                state.wrong = 1
        elif low > 0 and value[i] & ((1 << low) - 1) != 0:
            state.wrong = 1


@native
def _action(data: Bytes, state: Inserts, end: int, entry: int) -> None:
    """A TableAction with an Action."""
    if _varint(data, state, end) != (1 << 3 | MESSAGE) or _length(data, state, end) != end:
        state.wrong = 1
        return
    if _varint(data, state, end) != (1 << 3 | VARINT) or _varint(data, state, end) != state.action:
        state.wrong = 1
        return
    seen = 0
    while state.at < end and state.wrong == 0:
        if _varint(data, state, end) != (4 << 3 | MESSAGE):
            state.wrong = 1
            return
        stop = _length(data, state, end)
        if _varint(data, state, stop) != (2 << 3 | VARINT):
            state.wrong = 1
            return
        arg = _place_of(_varint(data, state, stop), state.arg_ids, state.arg_count)
        if arg == state.arg_count or (seen >> arg) & 1 != 0 or _varint(data, state, stop) != (3 << 3 | MESSAGE):
            state.wrong = 1
            return
        seen = seen | (1 << arg)
        _number(data, state, stop, state.args + (entry * state.arg_count + arg) * state.number_words)
        if state.at != stop:
            state.wrong = 1
    if seen != (1 << state.arg_count) - 1:
        state.wrong = 1


@native
def _table_entry(data: Bytes, state: Inserts, end: int, entry: int) -> None:
    if _varint(data, state, end) != (1 << 3 | VARINT) or _varint(data, state, end) != state.table:
        state.wrong = 1
        return
    seen = 0
    while state.wrong == 0:
        tag = _varint(data, state, end)
        stop = _length(data, state, end)
        if tag == (3 << 3 | MESSAGE):
            _action(data, state, stop, entry)
            break
        if tag != (2 << 3 | MESSAGE):
            state.wrong = 1
            return
        bit = _match(data, state, stop, entry)
        if seen & bit != 0:
            state.wrong = 1
        seen = seen | bit
    for i in range(state.key_count):
        if (seen >> i) & 1 == 0 and state.kinds[i] != LPM:
            state.wrong = 1
    if state.at != end:
        state.wrong = 1


@inlined
def _expect(data: Bytes, state: Inserts, end: int, wanted: int) -> None:
    """A number that can be but one."""
    if _varint(data, state, end) != wanted:
        state.wrong = 1


@native
def _update(data: Bytes, state: Inserts, end: int, entry: int) -> None:
    """An Update of type INSERT whose Entity is a TableEntry."""
    _expect(data, state, end, 1 << 3 | VARINT)
    _expect(data, state, end, 1)
    for _ in range(2):
        _expect(data, state, end, 2 << 3 | MESSAGE)
        if _length(data, state, end) != end:
            state.wrong = 1
    if state.wrong == 0:
        _table_entry(data, state, end, entry)


@native
def read_inserts(data: Bytes, size: int, state: Inserts, most: int) -> int:
    """Read the updates of a WriteRequest; returns how many, 0 if one of them is something else."""
    entry = 0
    while state.at < size and state.wrong == 0:
        tag = _varint(data, state, size)
        if tag & 7 == VARINT:
            _varint(data, state, size)
        elif tag & 7 != MESSAGE:
            state.wrong = 1
        else:
            end = _length(data, state, size)
            if tag >> 3 != 4:
                state.at = end
            elif entry == most:
                state.wrong = 1
            else:
                _update(data, state, end, entry)
                entry += 1
    return entry if state.wrong == 0 else 0
