# SPDX-License-Identifier: Apache-2.0
"""Hashes, random numbers and the functions of TNA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.native.llvm import I8, Value, const, i64, ll
from offramp_p4 import ir
from offramp_p4.engine import bits as widths
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.engine.packing import fields_of
from offramp_p4.native import codec, lvalues, wide
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.runtime.randomness import draw_bits
from offramp_p4.native.runtime.tna.functions import linear_hash
from offramp_p4.native.shape import bits_of, is_scalar, number_type
from offramp_p4.source import Unsupported
from offramp_p4.tna.functions import selector_keys
from offramp_p4.tna.hashing import width_of
from offramp_p4.tna.metadata import UNSET_PORT
from offramp_p4.tna.symmetric import pairs_of
from offramp_p4.types import Bits, Header, Varbit, strip

if TYPE_CHECKING:
    from offramp_p4.native.tna.target import NativeTnaTarget


def builders(target: NativeTnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Hash", "get"): lambda g, e: _get(target, g, e),
        ("Random", "get"): _random,
        ("", "max"): _extreme,
        ("", "min"): _extreme,
        ("", "funnel_shift_right"): _funnel_shift,
        ("", "invalidate"): lambda g, e: _invalidate(target, g, e),
        ("", "is_validated"): lambda g, e: _is_validated(target, g, e),
        ("", "sizeInBits"): lambda _, e: _size(e, 1),
        ("", "sizeInBytes"): lambda _, e: _size(e, 8),
    }


def numbers(g: Emitter, data: ir.Expr) -> list[Value]:
    """The fields of ``data``. Headers count whether or not they are valid: in hardware, a field is a register."""
    values: list[Value] = []
    for part in fields_of(data):
        if is_scalar(part.type):
            if widths.width(part.type):
                values.append(g.value(part))
        elif isinstance(part, ir.Compose):
            values += numbers(g, part)
        else:
            fields = list(codec.leaves(part.type))
            if any(isinstance(f.type, Varbit) for f in fields):
                raise Unsupported(part.pos, f"{part.type}, which has a varbit, as data of fixed size")
            at = lvalues.locate(g, part)[0] if is_lvalue(part) else g.temporary(part)
            values += codec.numbers_at(g, fields, at)
    return values


def _get(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    i = instance(e)
    return g.resize(_hash(target, g, i, argument(e, 0)), width_of(i))


def _hash(
    target: NativeTnaTarget, g: Emitter, i: ir.ExternInstance, data: ir.Expr, *owners: ir.ExternInstance
) -> Value:
    """The hash of data as a word."""
    if width_of(i) > 64:
        raise Unsupported(i.pos, f"Hash {i.name} with results of more than 64 bits")
    parts = numbers(g, data)
    size: int = sum(map(wide.width_of, parts))
    front = -size % 8
    if front:
        parts = [const(number_type(front), 0), *parts]
    room = g.allocate(ll.ArrayType(I8, (size + 7) // 8 + 1), 8)
    codec.pack(g, parts, room)
    table = target.plan.hash(i, size, pairs_of(i, data, *owners))
    return g.call(linear_hash, g.pointer(table), room, (size + 7) // 8)


def selector_hash(target: NativeTnaTarget, g: Emitter, table: ir.MatchTable) -> Value:
    """The hash over the ``selector`` keys of a table; 0 without an action selector."""
    selection = selector_keys(table)
    return i64(0) if selection is None else _hash(target, g, *selection)


def _random(g: Emitter, e: ir.ExternCall) -> Value:
    width = width_of(instance(e))
    if not 0 < width <= 64:
        raise Unsupported(e.pos, f"random numbers of {width} bits")
    return g.resize(g.call(draw_bits, g.context, width), width)


def _extreme(g: Emitter, e: ir.ExternCall) -> Value:
    bits = bits_of(e.type)
    assert bits is not None
    left, right = (g.resize(g.value(argument(e, i)), bits.width, signed=bits.signed) for i in (0, 1))
    compare = g.b.icmp_signed if bits.signed else g.b.icmp_unsigned
    return g.b.select(compare("<" if e.method == "min" else ">", left, right), left, right)


def _funnel_shift(g: Emitter, e: ir.ExternCall) -> Value:
    into = argument(e, 0)
    at, t = lvalues.lvalue(g, into), strip(into.type)
    if not isinstance(t, Bits):
        raise Unsupported(e.pos, f"funnel_shift_right of {t}")
    high, low = (g.resize(g.resize(g.value(argument(e, i)), t.width), 2 * t.width) for i in (1, 2))
    joined = g.b.or_(g.b.shl(high, const(high.type, t.width)), low)
    amount = g.word_of(argument(e, 3))
    inside = g.b.icmp_unsigned("<", amount, i64(2 * t.width))
    by = g.resize(g.b.select(inside, amount, i64(0)), joined.type.width)
    shifted = g.b.select(inside, g.b.lshr(joined, by), const(joined.type, 0))
    lvalues.write(g, at, g.resize(shifted, t.width))
    return None


def _port(target: NativeTnaTarget, expr: ir.Expr) -> bool:
    """Whether ``expr`` is ucast_egress_port."""
    cells = target.cells
    return "tm" in cells.bases and target.layout.static(expr) == cells.field("tm", "ucast_egress_port")[0]


def _invalidate(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    """A field without a value reads 0; the unicast port without one means no unicast copy."""
    field = argument(e, 0)
    header = isinstance(strip(field.type), Header)
    if not is_lvalue(field) or not (header or is_scalar(field.type)):
        raise Unsupported(e.pos, f"invalidate of {field.type} that is not a header or field")
    at = lvalues.lvalue(g, field)
    if header:
        lvalues.set_validity(g, at.address, 0)
    else:
        number = g.zero(field.type)
        lvalues.write(g, at, const(number.type, UNSET_PORT) if _port(target, field) else number)
    return None


def _is_validated(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    field = argument(e, 0)
    if _port(target, field):
        number = g.value(field)
        return g.b.icmp_unsigned("!=", number, const(number.type, UNSET_PORT))
    header = field
    while not isinstance(strip(header.type), Header) and isinstance(header, ir.Member):
        header = header.base
    if not isinstance(strip(header.type), Header) or not is_lvalue(header):
        raise Unsupported(e.pos, "is_validated of what is neither a header, nor a field of one, nor the egress port")
    return lvalues.is_valid(g, lvalues.locate(g, header)[0])


def _size(e: ir.ExternCall, unit: int) -> Value:
    bits = bits_of(e.type)
    assert bits is not None
    return const(number_type(bits.width), widths.width(argument(e, 0).type) // unit)
