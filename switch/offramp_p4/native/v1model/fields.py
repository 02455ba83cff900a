# SPDX-License-Identifier: Apache-2.0
"""Lists of fields: the data of hashes, checksums and digests, and the metadata that copies preserve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.native.llvm import I8, I64, Value, const, i64, ll
from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.engine.bits import scalar_bits
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.engine.packing import fields_of
from offramp_p4.native import codec, lvalues
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.layout import Layout, Span
from offramp_p4.native.runtime import buffers
from offramp_p4.native.runtime.context import Context
from offramp_p4.native.shape import is_scalar, offsets, shape
from offramp_p4.types import Header, Structure, Type, strip


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes in memory: address and size in bytes, a word."""

    address: Value
    size: Value


def packed(g: Emitter, data: ir.Expr, payload: tuple[Value, Value] | None = None) -> Data:
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
            offset(Context.out),
            g.word(Context.out.used),
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
    return Data(room, size)


def _packed_at_once(g: Emitter, parts: list[ir.Expr], header: ir.Expr | None) -> Data:
    bits = sum(scalar_bits(p.type).width for p in parts)
    room = g.allocate(ll.ArrayType(I8, bits // 8 + 1), 8)
    if header is None:
        return Data(room, i64(codec.pack(g, _numbers(g, parts), room)))
    valid = lvalues.is_valid(g, lvalues.locate(g, header)[0])
    size = g.pick(valid, lambda: i64(codec.pack(g, _numbers(g, parts), room)), lambda: i64(0), I64)
    return Data(room, size)


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


def field_lists(metadata: Type, base: int) -> dict[int, list[Span]]:
    """The bytes of user metadata that ``@field_list(n)`` marks, by n."""
    lists: dict[int, list[Span]] = {}
    t = strip(metadata)
    if not isinstance(t, Structure):
        return lists
    for f, start in zip(t.fields, offsets(t), strict=True):
        at = base + start
        marks = f.annotations.get("field_list")
        for number in marks.args if marks else ():
            if not isinstance(number, int):
                raise OfframpError(f"{t}.{f.name}: @field_list({number}) is not a number")
            lists.setdefault(number, []).append((at, at + shape(f.type).size))
        for number, spans in field_lists(f.type, at).items():
            lists.setdefault(number, []).extend(spans)
    return lists


def spans(layout: Layout, data: ir.Expr) -> list[Span]:
    """The bytes of the places in ``data`` (of ``clone3`` and its kin); what is no fixed place is not kept."""
    found = []
    for part in data.parts if isinstance(data, ir.Compose) else [data]:
        if isinstance(part, ir.Compose):
            found += spans(layout, part)
        elif (span := layout.span(part)) is not None:
            found.append(span)
    return found


def by_list(g: Emitter, lists: dict[int, list[Span]], number: Value, write: Callable[[list[Span]], Any]) -> None:
    """Write what is done for the field list with a number; nothing for unknown ones."""
    end = g.block("end")
    switch = g.b.switch(number, end)
    for known, kept in lists.items():
        case = g.block("list")
        switch.add_case(const(number.type, known), case)
        g.b.position_at_end(case)
        write(kept)
        g.jump(end)
    g.b.position_at_end(end)
