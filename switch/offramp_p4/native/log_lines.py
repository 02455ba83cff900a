# SPDX-License-Identifier: Apache-2.0
"""Puts the records that :mod:`offramp_p4.native.log` has machine code leave into lines of bmv2's log.

Machine code does it for all lines whose values are unsigned numbers, and Python for the rest.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp_base.native.arrays import address
from offramp_base.native.records import offset
from offramp_p4.native.records import RecordFormat, RecordScalar, read_value
from offramp_p4.native.runtime.log_text import (
    DECIMAL,
    HEXADECIMAL,
    SKIPPED,
    STEP,
    LineKind,
    LinePiece,
    LogText,
    number_pass,
    write_lines,
)
from offramp_p4.trace.bmv2_lines import LEVELS

LOG_MARK: Final = "\1"
"""Before the text of a record: it is a line of the log, behind its level."""
ARRIVAL: Final = "Processing packet received on port "
"""The beginning of the line with which a pass begins."""
_LINES_BYTES: Final = 1 << 20
"""Lines that are written at once."""
_WORD_DIGITS: Final = 20
_TAIL: Final = b".0] [cxt 0] "
_Bytes = npt.NDArray[np.uint8]


class LogLines:
    """Puts records into lines with bmv2's head, in which ``[3.0]`` is the third pass.

    Args:
        write: takes the lines of a batch as bytes, with line ends; they are its own until it returns.
        kinds: the records of the program, by their numbers.
        levels: letters of the levels whose lines are written.
    """

    def __init__(
        self, write: Callable[[memoryview], object], kinds: Sequence[RecordFormat], levels: str = LEVELS
    ) -> None:
        self._levels = levels
        self._write_out = write
        self._kinds = [_LogLine.of(kind) for kind in kinds]
        self._number_pass, self._write_lines = _functions()
        self._held: list[Any] = []
        self._log = LogText(np.zeros(LogText.WORDS, np.int64))
        longest = max((line.most for line in self._kinds), default=0)
        self._lines = np.zeros(_LINES_BYTES + longest + 8 * STEP, np.uint8)
        self._head, tail = np.zeros(8 * STEP, np.uint8), np.frombuffer(_TAIL, np.uint8)
        self._held.append(tail)
        words = self._log.words
        words[offset(LogText.lines)], words[LogText.size] = address(self._lines), len(self._lines) - 2 * STEP
        words[offset(LogText.head)], words[offset(LogText.tail)] = address(self._head), address(tail)
        words[LogText.passes] = -1
        words[offset(LogText.kinds)] = self._place_kinds()

    def read(self, raw: _Bytes) -> list[tuple[RecordFormat, tuple[int, ...]]]:
        """Write the lines of a batch, with the time of its end; returns the records that are no lines."""
        now = datetime.now(UTC)
        self._start(f"[{now:%H:%M:%S}.{now.microsecond // 1000:03}] [bmv2] [?] [thread 1] [")
        others: list[tuple[RecordFormat, tuple[int, ...]]] = []
        words = raw.view(np.int64)
        at, end, log = 0, len(words), address(self._log.words)
        while at < end:
            at = self._write_lines(log, address(raw), at, end)
            if at < end:
                line = self._kinds[int(words[at])]
                content = raw[8 * at : 8 * (at + line.words)].tobytes()
                if line.level is None:
                    others.append((line.record, read_value(line.record, content)))
                elif line.pieces is None:
                    self._write_line(line, content)
                else:
                    self._flush()
                    continue
                at += line.words
        self._flush()
        return others

    def _start(self, head: str) -> None:
        self._head[: len(head)] = np.frombuffer(head.encode("ascii"), np.uint8)
        self._log.before = len(head)
        self._number_pass(address(self._log.words))

    def _write_line(self, line: _LogLine, content: bytes) -> None:
        """Write a line that machine code does not."""
        self._flush()
        head = self._head[: self._log.head_size].tobytes().decode("ascii").replace("?", str(line.level), 1)
        self._write_out(memoryview((head + line.filled(content)).encode()))

    def _flush(self) -> None:
        used = self._log.used
        if used:
            self._write_out(self._lines.data[:used])
            self._log.used = 0

    def _place_kinds(self) -> int:
        """Lay out the kinds of lines for machine code; returns their address."""
        kinds = np.zeros((max(len(self._kinds), 1), LineKind.WORDS), np.int64)
        for row, line in zip(kinds, self._kinds, strict=False):
            row[LineKind.record_words], row[LineKind.most] = line.words, line.most
            if line.level is not None and line.level not in self._levels:
                row[LineKind.line] = SKIPPED
            elif line.level is not None and line.pieces is not None:
                row[LineKind.line], row[LineKind.level], row[LineKind.arrives] = 1, ord(line.level), line.arrives
                row[offset(LineKind.pieces)], row[LineKind.count] = self._place_pieces(line.pieces), len(line.pieces)
        self._held.append(kinds)
        return address(kinds)

    def _place_pieces(self, pieces: Sequence[_Piece]) -> int:
        rows = np.zeros((max(len(pieces), 1), LinePiece.WORDS), np.int64)
        for row, piece in zip(rows, pieces, strict=False):
            text = np.frombuffer(piece.text + bytes(2 * STEP), np.uint8)
            row[offset(LinePiece.text)], row[LinePiece.size] = address(text), len(piece.text)
            row[LinePiece.form] = piece.form
            if piece.cell is not None:
                row[LinePiece.offset], row[LinePiece.bytes] = piece.cell.offset, (piece.cell.bits.width + 7) // 8
            self._held.append(text)
        self._held.append(rows)
        return address(rows)


@cache
def _functions() -> tuple[Callable[..., int], Callable[..., int]]:
    from offramp_base.native.library import compiled_all

    functions = compiled_all((number_pass, write_lines))
    return functions[number_pass.__name__], functions[write_lines.__name__]


class _Shown(int):
    """A number whose hexadecimal digits are whole bytes."""

    def __format__(self, form: str) -> str:
        digits = int.__format__(self, form)
        return digits.zfill(len(digits) + len(digits) % 2) if form == "x" else digits


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text of a line and the value behind it: its cell and form; None and 0 behind the last text."""

    text: bytes
    form: int
    cell: RecordScalar | None


@dataclass(frozen=True, slots=True)
class _LogLine:
    """One line of a program's log.

    Attributes:
        words: 64-bit words of its record.
        level: None of a record that is no line.
        text: the format of the line.
        pieces: how machine code writes it; None: it does not.
        most: bytes of the line at most, if machine code writes it.
    """

    record: RecordFormat
    words: int
    level: str | None
    text: str
    arrives: bool
    pieces: tuple[_Piece, ...] | None
    most: int

    @classmethod
    def of(cls, record: RecordFormat) -> _LogLine:
        """The line of a record."""
        level = record.text[1] if record.text.startswith(LOG_MARK) else None
        text = record.text[2:] + "\n"
        pieces = None if level is None else _pieces(text, record.cells)
        most = sum(len(p.text) + _most_digits(p) for p in pieces or ())
        return cls(record, record.size // 8, level, text, text.startswith(ARRIVAL), pieces, most)

    def filled(self, raw: bytes) -> str:
        """The line with the values of a record."""
        return self.text.format(*map(_Shown, read_value(self.record, raw)))


def _most_digits(piece: _Piece) -> int:
    return 0 if piece.cell is None else max(_WORD_DIGITS, (piece.cell.bits.width + 7) // 8 * 2)


def _pieces(text: str, cells: Sequence[RecordScalar]) -> tuple[_Piece, ...] | None:
    """The pieces of a format; None if a value is signed, a varbit or has another form than these."""
    pieces, left = [], iter(cells)
    for literal, _, form, _ in string.Formatter().parse(text):
        cell = None if form is None else next(left)
        if cell is None:
            pieces.append(_Piece(literal.encode(), 0, None))
        elif cell.varbit or cell.bits.signed or (form == "" and cell.bits.width != 64):
            return None
        else:
            pieces.append(_Piece(literal.encode(), DECIMAL if form == "" else HEXADECIMAL, cell))
    return tuple(pieces)
