# SPDX-License-Identifier: Apache-2.0
"""Records that machine code leaves for Python: digests, log messages, failed checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from offramp_base.native.llvm import Value, i64
from offramp_p4.native.codec import leaves
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import Buffer
from offramp_p4.native.shape import aligned, bits_of, shape
from offramp_p4.types import Bits, Type, Varbit, strip

_HEAD = 8  # the number of the kind of record
_MOST_BYTES = 16 << 20
"""Most bytes of one batch's records that wait for Python; further records are lost."""


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


def record(g: Emitter, buffer: int, number: int, text: str, data: tuple[Value, Type] | None = None) -> RecordFormat:
    """Write the instructions that append a record of the value at an address; returns how to read it."""
    size = aligned(_HEAD + (shape(data[1]).size if data else 0), 8)
    with g.when(g.b.icmp_unsigned("<", g.word(buffer + Buffer.used), i64(_MOST_BYTES)), likely=True):
        at = g.b.inttoptr(g.call(append, g.context, buffer, size), g.memory.type)
        g.tags.mark(g.b.store(i64(number), at), "Words")
        if data:
            g.copy(g.at(at, _HEAD), data[0], shape(data[1]).size)
    return RecordFormat(text, tuple(_cells(data[1], _HEAD)) if data else (), size)


def layout_of(t: Type) -> RecordFormat:
    """The layout for reading a value of ``t`` that stands by itself."""
    return RecordFormat("", tuple(_cells(t, 0)), shape(t).size)


def read_value(kind: RecordFormat, raw: bytes) -> tuple[int, ...]:
    """The values of one record, or of :func:`layout_of`."""
    return tuple(_read(raw, cell) for cell in kind.cells)


def _cells(t: Type, base: int) -> Iterator[RecordScalar]:
    for leaf in leaves(strip(t), base):
        if isinstance(leaf.type, Varbit):
            yield RecordScalar(leaf.offset + 4, Bits(8 * ((leaf.type.width + 7) // 8)), varbit=True)
            yield RecordScalar(leaf.offset, Bits(32))
        else:
            bits = bits_of(leaf.type)
            assert bits is not None
            yield RecordScalar(leaf.offset, bits)


def read_records(kinds: Sequence[RecordFormat], raw: bytes) -> Iterator[tuple[RecordFormat, tuple[int, ...]]]:
    """The records in a buffer, with their values."""
    at = 0
    while at < len(raw):
        kind = kinds[int.from_bytes(raw[at : at + _HEAD], "little")]
        yield kind, read_value(kind, raw[at : at + kind.size])
        at += kind.size


def _read(raw: bytes, cell: RecordScalar) -> int:
    size = (cell.bits.width + 7) // 8
    data = raw[cell.offset : cell.offset + size]
    if cell.varbit:
        width = int.from_bytes(raw[cell.offset - 4 : cell.offset], "little")
        return int.from_bytes(data, "big") >> (8 * size - width)
    return cell.bits.wrap(int.from_bytes(data, "little"))
