# SPDX-License-Identifier: Apache-2.0
"""Values as strings of bits, field by field: look-ahead, headers of variable size, lists of fields."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from offramp_p4.engine.faults import ParserFault
from offramp_p4.engine.layout import CURSOR, FRAME, LENGTH, Memory
from offramp_p4.types import BOOL, Bits, Enum, Header, Stack, Structure, Tuple, Type, Varbit, strip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Kind = Bits | Varbit | None
"""The type of one field; None for the validity of a header or the count of a stack, which have no bits."""


def scalar_bits(t: Type) -> Bits:
    """The bits as which a scalar is serialised; no bits for what has none (error, plain enum)."""
    t = strip(t)
    if isinstance(t, Enum) and t.base is not None:
        return t.base
    return t if isinstance(t, Bits) else Bits(1) if t == BOOL else Bits(0)


@cache
def kinds(t: Type) -> tuple[Kind, ...]:
    """The fields of ``t`` in order. A varbit is one of them, although it takes two cells."""
    t = strip(t)
    if isinstance(t, Structure):
        lead: tuple[Kind, ...] = (None,) if isinstance(t, Header) else ()
        return lead + tuple(k for f in t.fields for k in kinds(f.type))
    if isinstance(t, Tuple):
        return tuple(k for x in t.types for k in kinds(x))
    if isinstance(t, Stack):
        return (None,) * t.first + kinds(t.element) * t.size
    return (t,) if isinstance(t, Varbit) else (scalar_bits(t),)


def width(t: Type) -> int:
    """Bits of a value of ``t``, a varbit counted as none."""
    return sum(k.width for k in kinds(t) if isinstance(k, Bits))


def parse(fields: Sequence[Kind], value: int, size: int, varbit: int = 0) -> list[int]:
    """The cells of fields from ``size`` bits; headers become valid, a varbit takes ``varbit`` bits."""
    cells = []
    for kind in fields:
        if kind is None:
            cells.append(1)
        elif isinstance(kind, Varbit):
            size -= varbit
            cells += [value >> size & ((1 << varbit) - 1), varbit]
        else:
            size -= kind.width
            cells.append(kind.wrap(value >> size))
    return cells


def serialise(fields: Sequence[Kind], cells: Sequence[int]) -> tuple[int, int]:
    """The bits of fields as one number, and how many they are; invalid headers count like valid ones."""
    value = width = at = 0
    for kind in fields:
        bits = 0
        if isinstance(kind, Varbit):
            bits = cells[at + 1]
            value = value << bits | cells[at]
            at += 1
        elif kind is not None:
            bits = kind.width
            value = value << bits | (cells[at] & kind.mask)
        width += bits
        at += 1
    return value, width


def variable_extract(header: Header, too_short: int, too_long: int, invalid: int) -> Callable[[Memory, int, int], None]:
    """The function ``(m, at, bits)`` that extracts a header whose varbit field takes ``bits`` bits.

    The numbers are those of the errors PacketTooShort, HeaderTooShort and ParserInvalidArgument, which are
    checked in the order of the specification (section 13.8.2) and of bmv2: the last, the first, the second.
    """
    fields = kinds(header)
    limit = max(k.width for k in fields if isinstance(k, Varbit))

    def extract(m: Memory, at: int, bits: int) -> None:
        if bits % 8:
            raise ParserFault(invalid)
        total = header.fixed_width + bits
        start, end = m[CURSOR], m[CURSOR] + total // 8
        if end > m[LENGTH]:
            raise ParserFault(too_short)
        if bits > limit:
            raise ParserFault(too_long)
        m[at : at + header.slots] = parse(fields, int.from_bytes(m[FRAME][start:end], "big"), total, bits)
        m[CURSOR] = end

    return extract


def emitted(header: Header) -> Callable[[Sequence[int]], bytes]:
    """The function from the cells of a header, validity first, to its bytes; for headers with a varbit."""
    fields = kinds(header)[1:]

    def pack(cells: Sequence[int]) -> bytes:
        value, width = serialise(fields, cells[1:])
        return (value << -width % 8).to_bytes((width + 7) // 8, "big")

    return pack
