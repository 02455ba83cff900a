# SPDX-License-Identifier: Apache-2.0
"""Values of P4 types as rows of an editor: texts, and parts of structures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from offramp_p4 import ir
from offramp_p4.types import (
    BOOL,
    ERROR,
    Bits,
    Enum,
    Header,
    Stack,
    Structure,
    Tuple,
    Type,
    Union,
    Varbit,
    strip,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MemoryValue:
    """A value in memory.

    Attributes:
        cells: memory, and ``at`` where the value begins in it.
        place: place by which it can be set; None: it cannot. For the validity of a header, an :class:`~ir.IsValid`.
    """

    name: str
    type: Type
    cells: Sequence[Any]
    at: int
    place: ir.Expr | None


def shown(value: MemoryValue, errors: Sequence[str]) -> str:
    """A value in a line, scalars as P4 writes them."""
    t, cell = strip(value.type), value.cells[value.at] if value.type.slots else 0
    match t:
        case Bits():
            return number(cell)
        case Varbit():
            return f"{number(cell)} ({value.cells[value.at + 1]} bits)"
        case Enum():
            member = t.member(cell)
            return number(cell) if member is None else f"{t.name}.{member}"
        case Header():
            return "valid" if cell else "invalid"
        case Union():
            valid = [f.name for f, at in zip(t.fields, t.offsets, strict=True) if value.cells[value.at + at]]
            return f"{', '.join(valid)} valid" if valid else "empty"
        case Stack():
            return f"{t}, next {cell}" if t.first else str(t)
        case Structure() | Tuple():
            return str(t)
    if t == BOOL:
        return "true" if cell else "false"
    if t == ERROR:
        return f"error.{errors[cell]}" if 0 <= cell < len(errors) else str(cell)
    return str(cell)


def number(value: int) -> str:
    """An integer, hexadecimal where it has two digits."""
    return str(value) if -10 < value < 10 else hex(value)


def count(t: Type) -> int:
    """Number of parts of a value of this type."""
    t = strip(t)
    if isinstance(t, Header):
        return 1 + len(t.fields)
    if isinstance(t, Structure):
        return len(t.fields)
    if isinstance(t, Stack):
        return t.size
    return len(t.types) if isinstance(t, Tuple) else 0


def parts(value: MemoryValue, start: int = 0, most: int | None = None) -> list[MemoryValue]:
    """The parts of a structure, or some of them."""
    return list(islice(_parts(value), start, None if most is None else start + most))


def part(value: MemoryValue, name: str) -> MemoryValue | None:
    """The part of this name."""
    return next((each for each in _parts(value) if each.name == name), None)


def _parts(value: MemoryValue) -> Iterator[MemoryValue]:
    t, place = strip(value.type), value.place
    if isinstance(t, Header):
        valid = None if place is None else ir.IsValid(place, type=BOOL)
        yield MemoryValue("isValid()", BOOL, value.cells, value.at, valid)
    if isinstance(t, Structure | Tuple):
        names = [f.name for f in t.fields] if isinstance(t, Structure) else [f"[{i}]" for i in range(len(t.types))]
        types = [f.type for f in t.fields] if isinstance(t, Structure) else list(t.types)
        for i, (name, kind, offset) in enumerate(zip(names, types, t.offsets, strict=True)):
            inner = None if place is None else ir.Member(place, i, type=strip(kind))
            yield MemoryValue(name, kind, value.cells, value.at + offset, inner)
    elif isinstance(t, Stack):
        for i in range(t.size):
            index = ir.Const(i, type=Bits(32))
            element = None if place is None else ir.Element(place, index, type=strip(t.element))
            yield MemoryValue(f"[{i}]", t.element, value.cells, value.at + t.first + i * t.element.slots, element)
