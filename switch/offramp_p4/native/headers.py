# SPDX-License-Identifier: Apache-2.0
"""Headers, unions and stacks as values: composition, validity, ``push_front`` and ``pop_front``."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from offramp_base.native.llvm import I32, Value, const, i64
from offramp_p4 import ir
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.native import lvalues
from offramp_p4.native.emitter import Emitter, aggregate, value
from offramp_p4.native.runtime.program import GROWTH
from offramp_p4.native.shape import bits_of, components, element_offset, offsets, shape
from offramp_p4.source import Unsupported
from offramp_p4.types import Header, Stack, Structure, Tuple, Type, Union, Varbit, strip


@aggregate(ir.Compose)
def _compose(g: Emitter, e: ir.Compose, into: Value) -> None:
    t = strip(e.type)
    g.clear(into, shape(t).size)
    if isinstance(t, Header):
        lvalues.set_validity(g, into, 1)
    if isinstance(t, Stack):
        at = tuple(element_offset(t, i) for i in range(t.size))
    else:
        assert isinstance(t, Structure | Tuple), t
        at = offsets(t)
    for part, offset in zip(e.parts, at, strict=True):
        g.into(part, g.at(into, offset))


@aggregate(ir.InvalidHeader)
def _invalid(g: Emitter, e: ir.InvalidHeader, into: Value) -> None:
    g.clear(into, shape(e.type).size)


@aggregate(ir.Mux)
def _mux(g: Emitter, e: ir.Mux, into: Value) -> None:
    g.choose(g.value(e.condition), lambda: g.into(e.then, into), lambda: g.into(e.otherwise, into))


@aggregate(ir.Cast)
def _cast(g: Emitter, e: ir.Cast, into: Value) -> None:
    if e.operand.type.slots != e.type.slots:
        raise Unsupported(e.pos, f"a cast from {e.operand.type} to {e.type}")
    _convert(g, e, g.temporary(e.operand), e.operand.type, into, e.type)


def _convert(g: Emitter, e: ir.Expr, source: Value, old: Type, into: Value, new: Type) -> None:
    """Copy a value between types with the same components."""
    old, new = strip(old), strip(new)
    a, b = bits_of(old), bits_of(new)
    if a is not None and b is not None:
        g.store(g.resize(g.load(source, old), b.width, signed=a.signed), into, new)
    elif old == new:
        g.copy(into, source, shape(new).size)
    elif isinstance(old, Structure | Tuple) and isinstance(new, Structure | Tuple):
        parts = zip(components(old), offsets(old), components(new), offsets(new), strict=True)
        for was, from_, becomes, to in parts:
            _convert(g, e, g.at(source, from_), was, g.at(into, to), becomes)
    else:
        raise Unsupported(e.pos, f"a cast from {old} to {new}")


@value(ir.IsValid)
def _is_valid(g: Emitter, e: ir.IsValid) -> Value:
    t = strip(e.base.type)
    base = lvalues.locate(g, e.base)[0] if is_lvalue(e.base) else g.temporary(e.base)
    if isinstance(t, Union):
        return reduce(g.b.or_, [lvalues.is_valid(g, g.at(base, at)) for at in offsets(t)])
    return lvalues.is_valid(g, base)


def byte_count(g: Emitter, header: Header, at: Value) -> Value:
    """The bytes that the header at an address takes in a packet, as a word."""
    varbits = [
        g.resize(g.load_number(g.at(at, offset), 32), 64)
        for f, offset in zip(header.fields, offsets(header), strict=True)
        if isinstance(strip(f.type), Varbit)
    ]
    bits = reduce(g.b.add, varbits, i64(header.fixed_width))
    return g.b.lshr(bits, i64(3))


def grow(g: Emitter, operation: Callable[[Value, Value], Value], amount: Value) -> None:
    """Count bytes of headers that have become valid or invalid."""
    at, size = g.library.fields[GROWTH.name]
    address = g.cell(at)
    g.store_number(operation(g.load_number(address, 8 * size), amount), address, 8 * size)


def header_op(g: Emitter, e: ir.HeaderOp) -> None:
    """Write ``setValid``, ``setInvalid``, ``push_front`` or ``pop_front``."""
    at, t = lvalues.lvalue(g, e.base), strip(e.base.type)
    if at.inside is not None:
        with g.when(at.inside):
            _header_op(g, e, at, t)
    else:
        _header_op(g, e, at, t)


def _header_op(g: Emitter, e: ir.HeaderOp, at: lvalues.MemoryLValue, t: Type) -> None:
    if isinstance(t, Stack):
        _shift(g, e, at.address, t)
    elif not isinstance(t, Header):
        raise Unsupported(e.pos, f"{e.op} on {t}")
    elif e.op == "setValid":
        # As in bmv2, a header that becomes valid has all fields 0; a Tofino leaves them unchanged.
        with g.when(g.b.not_(lvalues.is_valid(g, at.address))):
            if g.target.clears_headers:
                g.clear(at.address, shape(t).size)
            lvalues.set_validity(g, at.address, 1)
            grow(g, g.b.add, byte_count(g, t, at.address))
            lvalues.drop_rivals(g, at)
    else:
        with g.when(lvalues.is_valid(g, at.address)):
            lvalues.set_validity(g, at.address, 0)
            grow(g, g.b.sub, byte_count(g, t, at.address))


def _shift(g: Emitter, e: ir.HeaderOp, stack: Value, t: Stack) -> None:
    size, count = shape(t.element).size, min(e.count, t.size)
    first = g.at(stack, element_offset(t, 0))
    kept, moved = (t.size - count) * size, count * size
    number = lvalues.count_of(g, stack)
    amount = const(I32, count)
    if e.op == "push_front":
        g.copy(g.at(first, moved), first, kept)
        g.clear(first, moved)
        pushed, top = g.b.add(number, amount), const(I32, t.size)
        number = g.b.select(g.b.icmp_unsigned("<", pushed, top), pushed, top)
    else:
        g.copy(first, g.at(first, moved), kept)
        g.clear(g.at(first, kept), moved)
        enough = g.b.icmp_unsigned(">=", number, amount)
        number = g.b.select(enough, g.b.sub(number, amount), const(I32, 0))
    g.store_number(number, stack, 32)
