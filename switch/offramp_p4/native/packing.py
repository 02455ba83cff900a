# SPDX-License-Identifier: Apache-2.0
"""Lists of fields as bytes: the data of hashes and checksums."""

from __future__ import annotations

from dataclasses import dataclass

from offramp_base.native.llvm import I8, I64, Value, i64, ll
from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.engine.bits import scalar_bits
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.engine.packing import fields_of
from offramp_p4.native import codec, lvalues
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.runtime import buffers
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.shape import is_scalar
from offramp_p4.types import Header, Type, strip


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes in memory: address and size in bytes, a word."""

    address: Value
    size: Value


def packed(g: Emitter, data: ir.Expr, payload: tuple[Value, Value] | None = None) -> ByteRange:
    """Write ``data``, field after field, as bytes, and the payload (address, size) behind them.

    As in bmv2, fields of headers that are not valid are left out, and zeros fill the last byte.
    """
    parts = fields_of(data)
    guards = [_guard(g, part) for part in parts]
    if payload is None and all(is_scalar(p.type) for p in parts) and all(h is guards[0] for h in guards):
        return _packed_at_once(g, parts, guards[0] if guards else None)
    most = sum(_most_bits(p.type) for p in parts) // 8 + 1
    if payload is None:
        room = g.allocate(ll.ArrayType(I8, most))
    else:  # the unused end of the output buffer is free for such use
        free = g.call(
            buffers.room,
            g.context,
            offset(SwitchMemory.out),
            g.word(SwitchMemory.out.used),
            g.b.add(payload[1], i64(most)),
        )
        room = g.b.inttoptr(free, g.memory.type)
    writer = codec.BitWriter(g, room)
    for part, header in zip(parts, guards, strict=True):
        if header is None:
            _append(g, writer, part)
        else:
            with g.when(lvalues.is_valid(g, lvalues.locate(g, header)[0])):
                _append(g, writer, part)
    size = writer.finish()
    if payload is not None:
        g.copy(g.at(room, size), *payload)
        size = g.b.add(size, payload[1])
    return ByteRange(room, size)


def _packed_at_once(g: Emitter, parts: list[ir.Expr], header: ir.Expr | None) -> ByteRange:
    bits = sum(scalar_bits(p.type).width for p in parts)
    room = g.allocate(ll.ArrayType(I8, bits // 8 + 1), 8)
    if header is None:
        return ByteRange(room, i64(codec.pack(g, _numbers(g, parts), room)))
    valid = lvalues.is_valid(g, lvalues.locate(g, header)[0])
    size = g.pick(valid, lambda: i64(codec.pack(g, _numbers(g, parts), room)), lambda: i64(0), I64)
    return ByteRange(room, size)


def _numbers(g: Emitter, parts: list[ir.Expr]) -> list[Value]:
    return [g.value(p) for p in parts if scalar_bits(p.type).width]


def _most_bits(t: Type) -> int:
    return codec.max_bits(list(codec.leaves(t)))


def _append(g: Emitter, writer: codec.BitWriter, part: ir.Expr) -> None:
    if is_scalar(part.type):
        writer.numbers(_numbers(g, [part]))
    else:
        at = lvalues.locate(g, part)[0] if is_lvalue(part) else g.temporary(part)
        writer.fields(list(codec.leaves(part.type)), at)


def _guard(g: Emitter, part: ir.Expr) -> ir.Expr | None:
    """The header whose validity decides whether ``part`` counts; the same object for the same header."""
    header = part
    if not isinstance(strip(part.type), Header):
        if not isinstance(part, ir.Member):
            return None
        header = part.base
        while isinstance(header, ir.Member) and not isinstance(strip(header.type), Header):
            header = header.base
    if not isinstance(strip(header.type), Header) or not is_lvalue(header):
        return None
    static = g.layout.static(header)
    if static is None:
        return header
    known: ir.Expr = g.memo.setdefault(("header at", static), header)
    return known
