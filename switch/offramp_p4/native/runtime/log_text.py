# SPDX-License-Identifier: Apache-2.0
"""Lines of a log from the records that packets leave: constant texts, and values between them."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import At, Record
from offramp_base.native.subset import Bytes, Words, copy, native

DECIMAL: Final = 1
HEXADECIMAL: Final = 2
"""Whole bytes, as few as have the number."""
SKIPPED: Final = 2
STEP: Final = 32
"""Bytes that are copied at once: every text can be read, and the lines written, as many bytes behind their ends."""
LEVEL_AT: Final = 23
"""Place of the level's letter in a line."""
_TAIL: Final = 12


class LinePiece(Record):
    """A text, and the value behind it."""

    text: Bytes
    size: int
    form: int  # of the value: DECIMAL of a word, HEXADECIMAL, or 0: there is none
    offset: int  # bytes between the record's beginning and the value
    bytes: int  # of the value, the lowest first


class LineKind(Record):
    """What becomes of records with one number."""

    record_words: int
    line: int  # 0: it is not put into a line here, SKIPPED: nowhere
    level: int  # letter
    arrives: int  # 1: with this line a pass begins
    most: int  # bytes of the line at most, behind its head
    pieces: At[LinePiece]
    count: int


class LogText(Record):
    """A log."""

    kinds: At[LineKind]
    head: Bytes  # of each line of the current pass
    before: int  # bytes of the head before the number of the pass
    tail: Bytes  # what follows the number
    head_size: int
    passes: int  # number of the current pass
    lines: Bytes
    used: int
    size: int


@native
def write_lines(log: LogText, records: Words, at: int, end: int) -> int:
    """Put the records between two words into lines; returns the word at which it stopped.

    That is the end, a record that is not put into a line here, or one for whose line there is no room.
    """
    while at < end:
        kind = log.kinds[records[at]]
        if kind.line == SKIPPED:
            at += kind.record_words
            continue
        if kind.line == 0 or log.used + log.head_size + kind.most > log.size:
            return at
        if kind.arrives != 0:
            log.passes += 1
            number_pass(log)
        line = log.lines + log.used
        _copy_text(line, log.head, log.head_size)
        line[LEVEL_AT] = kind.level
        length = log.head_size
        for i in range(kind.count):
            piece = kind.pieces[i]
            _copy_text(line + length, piece.text, piece.size)
            length += piece.size
            if piece.form == DECIMAL:
                length += _decimal(line + length, records[at + (piece.offset >> 3)])
            elif piece.form == HEXADECIMAL:
                length += _hexadecimal(line + length, Bytes(int(records + at) + piece.offset), piece.bytes)
        log.used += length
        at += kind.record_words
    return at


@native
def number_pass(log: LogText) -> int:
    """Put the number of the pass into the head of the lines; returns the head's bytes."""
    size = log.before
    size += _decimal(log.head + size, log.passes)
    copy(log.head + size, log.tail, _TAIL)
    log.head_size = size + _TAIL
    return log.head_size


@native
def _copy_text(into: Bytes, text: Bytes, size: int) -> None:
    """Copy a text and what is behind it up to the next step."""
    done = 0
    while done < size:
        copy(into + done, text + done, STEP)
        done += STEP


@native
def _decimal(into: Bytes, number: int) -> int:
    """Write a word in decimal digits; returns how many."""
    digits = 1
    rest = number // 10
    while rest != 0:
        rest = rest // 10
        digits += 1
    for i in range(digits):
        into[digits - 1 - i] = 48 + number % 10
        number = number // 10
    return digits


@native
def _hexadecimal(into: Bytes, number: Bytes, size: int) -> int:
    """Write a number in hexadecimal digits; returns how many."""
    while size > 1 and number[size - 1] == 0:
        size -= 1
    for i in range(size):
        byte = number[size - 1 - i]
        into[2 * i] = _digit(byte >> 4)
        into[2 * i + 1] = _digit(byte & 15)
    return 2 * size


@native
def _digit(value: int) -> int:
    return value + 48 + (39 if value > 9 else 0)
