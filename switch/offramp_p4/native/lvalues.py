# SPDX-License-Identifier: Apache-2.0
"""L-values (P4-16 section 6.7): addresses in the packet's memory, loads from them and stores to them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from offramp_base.native.llvm import I1, I8, I32, I64, Value, const, i64
from offramp_p4 import ir
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.native.arithmetic import put_bits, take_bits
from offramp_p4.native.emitter import Emitter, aggregate, value
from offramp_p4.native.layout import component_offset
from offramp_p4.native.runtime.program import FAULT, FAULTED
from offramp_p4.native.shape import bits_of, element_offset, offsets, shape
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits, Header, Stack, Type, Union, strip


@dataclass(frozen=True, slots=True)
class MemoryLValue:
    """Memory that can be read and written; with ``bits`` (high, low) only a slice of the scalar of type ``whole``.

    ``inside`` is false when an index was out of range: then the address is that of zeros, not to be written.
    ``rivals`` are the validities that become 0 when a header here becomes valid: those of the other headers of
    its union. ``header`` is the address of that header's validity.
    """

    address: Value
    type: Type
    inside: Value | None = None
    bits: tuple[int, int] | None = None
    whole: Type | None = None
    header: Value | None = None
    rivals: tuple[Value, ...] = ()


Located = tuple[Value, Value | None]
"""An address, and whether an index in it was in range (None: certainly)."""


def locate(g: Emitter, expr: ir.Expr) -> Located:
    """Address of an l-value."""
    if expr in g.f.addresses:
        located: Located = g.f.addresses[expr]
        return located
    static = g.layout.static(expr)
    if static is not None:
        return g.cell(static), None
    if isinstance(expr, ir.Member):
        base, inside = locate(g, expr.base)
        return g.at(base, component_offset(expr)), inside
    if isinstance(expr, ir.Element):
        return _element(g, expr)
    if isinstance(expr, ir.StackNext | ir.StackLast):
        return _end_of_stack(g, expr)
    raise Unsupported(expr.pos, f"{type(expr).__name__} as an l-value")


def stack_of(expr: ir.Expr) -> Stack:
    """The type of an expression that is a stack."""
    stack = strip(expr.type)
    if not isinstance(stack, Stack):
        raise Unsupported(expr.pos, f"{stack} as a header stack")
    return stack


def _element(g: Emitter, expr: ir.Element) -> Located:
    stack = stack_of(expr.base)
    base, inside = locate(g, expr.base)
    index, fits = index_of(g, expr.index, stack.size)
    if fits is None:
        return _nth(g, base, stack, index), inside
    valid = fits if inside is None else g.b.and_(inside, fits)
    return g.b.select(valid, _nth(g, base, stack, index), nothing(g, stack.element)), valid


def _nth(g: Emitter, base: Value, stack: Stack, index: Value) -> Value:
    step = g.b.mul(index, i64(shape(stack.element).size))
    return g.at(base, g.b.add(step, i64(element_offset(stack, 0))))


def index_of(g: Emitter, expr: ir.Expr, size: int) -> tuple[Value, Value | None]:
    """An index as a word, and whether it is one of ``size`` (None: certainly)."""
    if isinstance(expr, ir.Const):
        number = int(expr.value)
        return i64(number), None if 0 <= number < size else const(I1, 0)
    bits = bits_of(expr.type)
    assert bits is not None
    number = g.value(expr)
    wide = g.resize(number, max(64, bits.width), signed=bits.signed)
    word = g.resize(wide, 64)
    if not bits.signed and bits.mask < size:
        return word, None
    return word, g.b.icmp_unsigned("<", wide, const(wide.type, size))


def nothing(g: Emitter, t: Type) -> Value:
    """Address of zeros that are never written."""
    at = g.room(t)
    g.clear(at, shape(t).size)
    return at


def count_of(g: Emitter, stack: Value) -> Value:
    """The nextIndex of the stack at an address."""
    return g.load_number(stack, 32)


def error_code(g: Emitter, name: str, at: ir.Expr) -> int:
    """The number of a core.p4 error in this program."""
    if name not in g.program.errors:
        raise Unsupported(at.pos, f"a program without error.{name}")
    return g.program.errors.index(name)


def fault(g: Emitter, condition: Value, code: Value | int) -> None:
    """End the parser with an error if ``condition`` holds."""
    with g.when(condition, likely=False):
        at, size = g.library.fields[FAULT.name]
        number = const(I32, code) if isinstance(code, int) else g.resize(code, 32)
        g.store_number(number, g.cell(at), 8 * size)
        g.leave(FAULTED)


def _end_of_stack(g: Emitter, expr: ir.StackNext | ir.StackLast) -> Located:
    stack = stack_of(expr.base)
    base, inside = locate(g, expr.base)
    count = count_of(g, base)
    if isinstance(expr, ir.StackLast):
        count = g.b.sub(count, const(I32, 1))
    outside = g.b.icmp_unsigned(">=", count, const(I32, stack.size))
    fault(g, outside, error_code(g, "StackOutOfBounds", expr))
    return _nth(g, base, stack, g.b.zext(count, I64)), inside


def lvalue(g: Emitter, expr: ir.Expr) -> MemoryLValue:
    """An l-value ready for use: what must be computed for it is computed now."""
    if isinstance(expr, ir.Slice):
        inner = lvalue(g, expr.base)
        low = inner.bits[1] if inner.bits else 0
        whole = inner.whole or inner.type
        return replace(inner, type=expr.type, bits=(low + expr.high, low + expr.low), whole=whole)
    address, inside = locate(g, expr)
    g.note_write(_variable(expr))
    return MemoryLValue(address, expr.type, inside, None, None, *_union(g, expr, address))


def _variable(expr: ir.Expr) -> ir.Var:
    """The variable that a place lies in."""
    while not isinstance(expr, ir.VarRef):
        assert isinstance(expr, ir.Member | ir.Element | ir.StackNext | ir.StackLast), expr
        expr = expr.base
    return expr.var


def _union(g: Emitter, expr: ir.Expr, address: Value) -> tuple[Value | None, tuple[Value, ...]]:
    """Validities of the header and of its rivals, if ``expr`` lies in or is a header of a union."""
    back = 0
    while isinstance(expr, ir.Member):
        back += component_offset(expr)
        union, header = strip(expr.base.type), strip(expr.type)
        if isinstance(union, Union) and isinstance(header, Header):
            lvalues = [g.at(address, at - back) for at in offsets(union)]
            return lvalues[expr.index], tuple(p for i, p in enumerate(lvalues) if i != expr.index)
        expr = expr.base
    return None, ()


def read(g: Emitter, at: MemoryLValue) -> Value:
    """The scalar at an l-value."""
    if at.bits is None:
        return g.load(at.address, at.type)
    assert at.whole is not None
    return take_bits(g, g.load(at.address, at.whole), *at.bits)


def write(g: Emitter, at: MemoryLValue, number: Value) -> None:
    """Store a scalar."""
    if at.inside is not None:
        with g.when(at.inside):
            write(g, replace(at, inside=None), number)
    elif at.bits is None:
        g.store(number, at.address, at.type)
    else:
        assert at.whole is not None
        g.store(put_bits(g, g.load(at.address, at.whole), number, *at.bits), at.address, at.whole)


def write_copy(g: Emitter, at: MemoryLValue, source: Value) -> None:
    """Store the value, of any type, that is at ``source``."""
    if at.bits is not None:
        write(g, at, g.load(source, at.type))
    elif at.inside is not None:
        with g.when(at.inside):
            write_copy(g, replace(at, inside=None), source)
    else:
        g.copy_value(at.address, source, at.type)
        drop_rivals(g, at)


def drop_rivals(g: Emitter, at: MemoryLValue) -> None:
    """After a store to a header of a union, invalidate its siblings if it is valid (section 8.20)."""
    if at.rivals and isinstance(strip(at.type), Header):
        with g.when(is_valid(g, at.header)):
            for rival in at.rivals:
                set_validity(g, rival, 0)


def is_valid(g: Emitter, header: Value) -> Value:
    """The validity of the header at an address."""
    return g.b.icmp_unsigned("!=", g.load(header, BOOL_BYTE), const(I8, 0))


def set_validity(g: Emitter, header: Value, valid: int) -> None:
    """Set the validity of the header at an address."""
    g.store(const(I8, valid), header, BOOL_BYTE)


BOOL_BYTE = Bits(8)


@value(ir.VarRef, ir.StackNext, ir.StackLast)
def _load_lvalue(g: Emitter, expr: ir.Expr) -> Value:
    return g.load(locate(g, expr)[0], expr.type)


@value(ir.Member)
def _member(g: Emitter, expr: ir.Member) -> Value:
    if is_lvalue(expr):
        return _load_lvalue(g, expr)
    return g.load(g.at(g.temporary(expr.base), component_offset(expr)), expr.type)


@value(ir.StackLastIndex)
def _last_index(g: Emitter, expr: ir.StackLastIndex) -> Value:
    return g.b.sub(count_of(g, locate(g, expr.base)[0]), const(I32, 1))


@aggregate(ir.VarRef, ir.StackNext, ir.StackLast)
def _copy_lvalue(g: Emitter, expr: ir.Expr, into: Value) -> None:
    g.copy(into, locate(g, expr)[0], shape(expr.type).size)


@aggregate(ir.Member)
def _copy_member(g: Emitter, expr: ir.Member, into: Value) -> None:
    base = locate(g, expr.base)[0] if is_lvalue(expr) else g.temporary(expr.base)
    g.copy(into, g.at(base, component_offset(expr)), shape(expr.type).size)


@value(ir.Element)
def _element_value(g: Emitter, expr: ir.Element) -> Value:
    return _load_lvalue(g, expr) if is_lvalue(expr) else g.load(_element_of_value(g, expr), expr.type)


@aggregate(ir.Element)
def _copy_element(g: Emitter, expr: ir.Element, into: Value) -> None:
    if is_lvalue(expr):
        _copy_lvalue(g, expr, into)
    else:
        g.copy(into, _element_of_value(g, expr), shape(expr.type).size)


def _element_of_value(g: Emitter, expr: ir.Element) -> Value:
    """Address of an element in a stack that is a value and not an l-value."""
    stack, base = stack_of(expr.base), g.temporary(expr.base)
    index, fits = index_of(g, expr.index, stack.size)
    at = _nth(g, base, stack, index)
    if fits is not None:
        at = g.b.select(fits, at, nothing(g, stack.element))
    return at
