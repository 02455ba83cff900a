# SPDX-License-Identifier: Apache-2.0
"""Records that machine code leaves for Python: digests, log messages, failed checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from offramp_p4.types import Bits

RECORD_HEAD: Final = 8
"""Bytes of the number of the kind of record, which come first."""
CHECK_MARK: Final = "\0"
"""Before the text of a record: it is about a failed check."""


@dataclass(frozen=True, slots=True)
class RecordScalar:
    """A scalar of a record; a varbit is two, its value and its width."""

    offset: int
    bits: Bits
    varbit: bool = False


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """One place in the program that leaves records: a text, and how the values lie in each."""

    text: str
    cells: tuple[RecordScalar, ...]
    size: int


def read_value(kind: RecordFormat, raw: bytes) -> tuple[int, ...]:
    """The values of one record, or of :func:`~offramp_p4.native.record_writing.layout_of`."""
    return tuple(_read(raw, cell) for cell in kind.cells)


def read_records(kinds: Sequence[RecordFormat], raw: bytes) -> Iterator[tuple[RecordFormat, tuple[int, ...]]]:
    """The records in a buffer, with their values."""
    at = 0
    while at < len(raw):
        kind = kinds[int.from_bytes(raw[at : at + RECORD_HEAD], "little")]
        yield kind, read_value(kind, raw[at : at + kind.size])
        at += kind.size


def _read(raw: bytes, cell: RecordScalar) -> int:
    size = (cell.bits.width + 7) // 8
    data = raw[cell.offset : cell.offset + size]
    if cell.varbit:
        width = int.from_bytes(raw[cell.offset - 4 : cell.offset], "little")
        return int.from_bytes(data, "big") >> (8 * size - width)
    return cell.bits.wrap(int.from_bytes(data, "little"))
