# SPDX-License-Identifier: Apache-2.0
"""Layout of values in memory: bytes, with every scalar in a container of its own.

=====================  ============================================================================
scalar of N bits       zero-extended in 1, 2, 4 or 8 bytes, or in as many 8-byte words as N needs
varbit                 4 bytes for its current width in bits, then its bits, the first one highest,
                       padded with zeros to its maximum
header                 1 byte for validity, then the fields
header stack           4 bytes for nextIndex, then the elements
struct, tuple, union   the components
=====================  ============================================================================

Components are aligned to their containers. An ``int<N>`` is stored as its two's complement pattern of N bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from offramp_base.native.llvm import ll
from offramp_p4.types import BOOL, ERROR, INT, Bits, Enum, Header, Stack, Structure, Tuple, Type, Varbit, strip

_INT_WIDTH: Final = 512  # of `int`, which is unbounded but seldom more than a constant


@dataclass(frozen=True, slots=True)
class MemoryShape:
    """Bytes that a value takes, and the alignment of its address."""

    size: int
    align: int


def bits_of(t: Type) -> Bits | None:
    """The number that a scalar is: its width and sign; None for types of several scalars.

    An enum without underlying type and an error are 32 bits, which is what bmv2 makes of them.
    """
    t = strip(t)
    if isinstance(t, Bits):
        return t
    if isinstance(t, Enum):
        return t.base or Bits(32)
    if t == BOOL:
        return Bits(1)
    if t == ERROR:
        return Bits(32)
    return Bits(_INT_WIDTH, signed=True) if t == INT else None


def is_scalar(t: Type) -> bool:
    """Whether a value of this type is one SSA value."""
    return bits_of(t) is not None


@cache
def number_type(width: int) -> Any:
    """The LLVM type of a number; LLVM has none of 0 bits, so such numbers have one bit, always 0."""
    return ll.IntType(max(width, 1))


def value_type(t: Type) -> Any:
    """The LLVM type of a scalar as a value."""
    bits = bits_of(t)
    assert bits is not None, t
    return number_type(bits.width)


def container(width: int) -> int:
    """Bytes of the container of a scalar of ``width`` bits."""
    return next((size for size in (1, 2, 4, 8) if width <= 8 * size), (width + 63) // 64 * 8)


def aligned(at: int, align: int) -> int:
    """The next multiple of ``align``."""
    return (at + align - 1) // align * align


@cache
def shape(t: Type) -> MemoryShape:
    """The size and alignment of a value of this type; size 0 for types without values."""
    t = strip(t)
    bits = bits_of(t)
    if bits is not None:
        size = container(bits.width)
        return MemoryShape(size, min(size, 8))
    if isinstance(t, Varbit):
        return MemoryShape(aligned(4 + (t.width + 7) // 8, 4), 4)
    if isinstance(t, Stack):
        element = shape(t.element)
        align = max(4, element.align) if t.first else element.align
        return MemoryShape(aligned(element_offset(t, t.size), align), align)
    if isinstance(t, Structure | Tuple):
        return _place(t)[1]
    return MemoryShape(0, 1)


def components(t: Structure | Tuple) -> list[Type]:
    """The types of the components of a structure or tuple."""
    return [f.type for f in t.fields] if isinstance(t, Structure) else list(t.types)


def offsets(t: Structure | Tuple) -> tuple[int, ...]:
    """Offset of each component."""
    return _place(t)[0]


@cache
def _place(t: Structure | Tuple) -> tuple[tuple[int, ...], MemoryShape]:
    at, align, lvalues = (1 if isinstance(t, Header) else 0), 1, []
    for part in components(t):
        s = shape(part)
        at, align = aligned(at, s.align), max(align, s.align)
        lvalues.append(at)
        at += s.size
    return tuple(lvalues), MemoryShape(aligned(at, align), align)


def element_offset(t: Stack, index: int) -> int:
    """Offset of an element in a stack."""
    element = shape(t.element)
    return (aligned(4, element.align) if t.first else 0) + index * element.size
