# SPDX-License-Identifier: Apache-2.0
"""Values to and from packets: strings of bits, the first field highest, without padding.

Whole bytes are moved as big-endian integers, also where they hold parts of several fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from offramp_base.native.llvm import I8, Value, const, i64, ll
from offramp_p4.engine.bits import scalar_bits
from offramp_p4.native import wide
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.runtime.bits import clear_tail, copy_bits
from offramp_p4.native.shape import components, element_offset, is_scalar, offsets, shape
from offramp_p4.types import Bits, Header, Stack, Structure, Tuple, Type, Varbit, strip

_PIECE: Final = 8  # bytes that are written at once


@dataclass(frozen=True, slots=True)
class ValueLeaf:
    """A field at ``offset`` of a value; ``header`` marks the validity of a header instead, which has no bits."""

    offset: int
    type: Type
    header: bool = False

    @property
    def width(self) -> int:
        """Width in a packet, bits; 0 for varbits and for types without bits."""
        return 0 if self.header or isinstance(self.type, Varbit) else scalar_bits(self.type).width


def leaves(t: Type, at: int = 0) -> Iterator[ValueLeaf]:
    """The fields of ``t`` in order, its headers' validities before those of each."""
    t = strip(t)
    if is_scalar(t) or isinstance(t, Varbit):
        yield ValueLeaf(at, t)
    elif isinstance(t, Stack):
        for i in range(t.size):
            yield from leaves(t.element, at + element_offset(t, i))
    elif isinstance(t, Structure | Tuple):
        if isinstance(t, Header):
            yield ValueLeaf(at, Bits(8), header=True)
        for part, offset in zip(components(t), offsets(t), strict=True):
            yield from leaves(part, at + offset)


def _swapped(g: Emitter, number: Value, size: int) -> Value:
    """The bytes of a number of ``size`` bytes in reverse order."""
    if size == 1:
        return number
    if size % 2 == 0:
        return g.b.bswap(number)
    wide = ll.IntType(8 * size + 8)  # bswap wants an even number of bytes
    swapped = g.b.bswap(g.b.zext(number, wide))
    return g.b.trunc(g.b.lshr(swapped, const(wide, 8)), number.type)


def load_bytes(g: Emitter, address: Value, size: int) -> Value:
    """Load ``size`` bytes of a packet as a big-endian number."""
    loaded = g.b.load(address, typ=ll.IntType(8 * size), align=1)
    return _swapped(g, g.tags.mark(loaded, "Bytes"), size)


def store_bytes(g: Emitter, number: Value, address: Value, size: int) -> None:
    """Store a number as ``size`` bytes of a packet."""
    g.tags.mark(g.b.store(_swapped(g, number, size), address, align=1), "Bytes")


def unpack(g: Emitter, fields: Sequence[ValueLeaf], source: Value, into: Value) -> None:
    """Read fields of fixed width, which begin at a byte, and write them to their places behind ``into``."""
    bit = 0
    for f in fields:
        at = g.at(into, f.offset)
        if f.header:
            g.store(const(I8, 1), at, f.type)
        elif f.width:
            end = bit + f.width
            start, size = bit // 8, (end + 7) // 8 - bit // 8
            if bit % 8 == 0 and wide.is_wide(f.width):
                number = wide.load_reversed(g, g.at(source, start), f.width)
            else:
                whole = load_bytes(g, g.at(source, start), size)
                below = 8 * (start + size) - end
                number = g.b.lshr(whole, const(whole.type, below)) if below else whole
            g.store(g.resize(number, f.width), at, f.type)
            bit = end


def pack(g: Emitter, numbers: Sequence[Value], into: Value) -> int:
    """Write numbers one behind the other from a byte on, the last byte filled with zeros; returns the bytes."""
    group: list[Value] = []
    start = bits = 0
    for number in numbers:
        group.append(number)
        bits += wide.width_of(number)
        if bits % 8 == 0:
            _pack_group(g, group, g.at(into, start))
            group, start = [], bits // 8
    if group:
        _pack_group(g, group, g.at(into, start))
    return (bits + 7) // 8


def _pack_group(g: Emitter, numbers: list[Value], into: Value) -> None:
    """Write numbers, of which only the last ends at a byte boundary: a single one whole, several in pieces."""
    if len(numbers) == 1 and wide.is_vector(numbers[0]):
        wide.store_reversed(g, numbers[0], into)
        return
    numbers = [g.integer(number) for number in numbers]
    bits: int = sum(n.type.width for n in numbers)
    size = (bits + 7) // 8
    step = size if len(numbers) == 1 else _PIECE
    for start in range(0, size, step):
        length = min(step, size - start)
        t = ll.IntType(8 * length)
        piece, end = const(t, 0), 0
        for number in numbers:
            first, end = end, end + number.type.width
            shift = 8 * (start + length) - end
            if end > 8 * start and first < 8 * (start + length):
                piece = g.b.or_(piece, _shifted(g, number, shift, t))
        store_bytes(g, piece, g.at(into, start), length)


def _shifted(g: Emitter, number: Value, shift: int, t: Any) -> Value:
    """The bits of ``number``, moved up by ``shift`` (down if negative), that fall into ``t``."""
    if shift < 0:
        return g.resize(g.b.lshr(number, const(number.type, -shift)), t.width)
    number = g.resize(number, t.width)
    return g.b.shl(number, const(t, shift)) if shift else number


def numbers_at(g: Emitter, fields: Sequence[ValueLeaf], source: Value) -> list[Value]:
    """The values of fields of fixed width, those without bits left out; wide ones are vectors."""
    return [wide.load(g, g.at(source, f.offset), f.width) for f in fields if f.width]


class BitWriter:
    """Fields written one behind the other where their places are only known at run time.

    Attributes:
        into: the address of the first byte.
        bits: the address of the number of bits written, a word.
    """

    def __init__(self, g: Emitter, into: Value) -> None:
        self.g, self.into = g, into
        self.bits = g.allocate(ll.IntType(64))
        g.b.store(i64(0), self.bits)

    @property
    def written(self) -> Value:
        """The number of bits."""
        return self.g.b.load(self.bits, typ=ll.IntType(64))

    def append(self, source: Value, bits: Value) -> None:
        """Write bits from an address."""
        g, at = self.g, self.written
        g.call(copy_bits, self.into, at, source, i64(0), bits)
        g.b.store(g.b.add(at, bits), self.bits)

    def numbers(self, numbers: Sequence[Value]) -> None:
        """Write numbers."""
        if not numbers:
            return
        g, width = self.g, sum(map(wide.width_of, numbers))
        scratch = g.allocate(ll.ArrayType(I8, (width + 7) // 8))
        pack(g, numbers, scratch)
        self.append(scratch, i64(width))

    def fields(self, fields: Sequence[ValueLeaf], source: Value) -> None:
        """Write the fields of a value; invalid headers count like valid ones."""
        run: list[ValueLeaf] = []
        for f in fields:
            if isinstance(f.type, Varbit):
                self.numbers(numbers_at(self.g, run, source))
                run = []
                at = self.g.at(source, f.offset)
                self.append(self.g.at(at, 4), self.g.resize(self.g.load_number(at, 32), 64))
            else:
                run.append(f)
        self.numbers(numbers_at(self.g, run, source))

    def finish(self) -> Value:
        """Fill the last byte with zeros; returns the number of bytes."""
        g, bits = self.g, self.written
        size = g.b.lshr(g.b.add(bits, i64(7)), i64(3))
        g.call(clear_tail, self.into, bits, size)
        return size


def read_fields(g: Emitter, fields: Sequence[ValueLeaf], source: Value, into: Value, varbit: Value) -> None:
    """Read fields that begin at a byte, among them varbits of ``varbit`` bits, to their places behind ``into``."""
    position: Value = i64(0)
    for f in fields:
        at = g.at(into, f.offset)
        if f.header:
            g.store(const(I8, 1), at, f.type)
        elif isinstance(f.type, Varbit):
            size = shape(f.type).size
            g.clear(at, size)
            g.store_number(g.resize(varbit, 32), at, 32)
            g.call(copy_bits, g.at(at, 4), i64(0), source, position, varbit)
            position = g.b.add(position, varbit)
        elif f.width:
            size = (f.width + 7) // 8
            scratch = g.allocate(ll.ArrayType(I8, size))
            g.clear(scratch, size)
            g.call(copy_bits, scratch, i64(0), source, position, i64(f.width))
            whole = load_bytes(g, scratch, size)
            number = g.b.lshr(whole, const(whole.type, 8 * size - f.width))
            g.store(g.resize(number, f.width), at, f.type)
            position = g.b.add(position, i64(f.width))


def max_bits(fields: Sequence[ValueLeaf]) -> int:
    """The most bits that fields take."""
    return sum(f.type.width if isinstance(f.type, Varbit) else f.width for f in fields)
