# SPDX-License-Identifier: Apache-2.0
"""L-values (P4-16 section 6.7): addresses in the flat memory, loads from them and stores to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.engine.arithmetic import wrap
from offramp_p4.engine.bits import scalar_bits
from offramp_p4.engine.generator import Generator, expression, is_scalar
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits, Header, Stack, Type, Union, strip

Address = int | str
"""A cell known when the program is loaded, or the text of an expression that gives it."""


@dataclass(frozen=True, slots=True)
class LValue:
    """Cells that can be read and written; with ``bits`` (high, low) only a slice of the one cell.

    ``rivals`` are the cells that become 0 when a header here becomes valid: the validity of the other headers
    of its union. ``header`` is the cell of that header's validity.
    """

    address: Address
    type: Type
    bits: tuple[int, int] | None = None
    header: Address | None = None
    rivals: tuple[Address, ...] = ()


def is_lvalue(expr: ir.Expr) -> bool:
    """Whether ``expr`` denotes cells rather than a computed value."""
    if isinstance(expr, ir.Member | ir.Element):
        return is_lvalue(expr.base)
    return isinstance(expr, ir.VarRef | ir.StackNext | ir.StackLast)


def plus(address: Address, cells: int) -> Address:
    """The address that many cells further."""
    if isinstance(address, int):
        return address + cells
    return f"{address} + {cells}" if cells else address


def address(g: Generator, expr: ir.Expr) -> Address:
    """Address of an l-value's first cell; elements of a stack out of range are at ``VOID``."""
    if expr in g.addresses:
        return g.addresses[expr]
    static = g.layout.static(expr)
    if static is not None:
        return static
    if isinstance(expr, ir.Member):
        return plus(address(g, expr.base), walk.offset(expr))
    if isinstance(expr, ir.Element):
        return _element(g, expr)
    if isinstance(expr, ir.StackNext):
        stack, base = _stack(expr.base), _fixed(g, expr.base)
        first, step, full = plus(base, 1), stack.element.slots, error_code(g, "StackOutOfBounds", expr)
        count = f"m[{base}]"
        return f"({first} + {step} * {count} if {count} < {stack.size} else fail({full}))"
    if isinstance(expr, ir.StackLast):
        stack, base = _stack(expr.base), _fixed(g, expr.base)
        first, step, empty = plus(base, 1), stack.element.slots, error_code(g, "StackOutOfBounds", expr)
        count = f"m[{base}]"
        return f"({first} + {step} * ({count} - 1) if 1 <= {count} <= {stack.size} else fail({empty}))"
    raise Unsupported(expr.pos, f"{type(expr).__name__} as an l-value")


def _element(g: Generator, expr: ir.Element) -> Address:
    stack = _stack(expr.base)
    g.layout.need_void(stack.element.slots)
    base = _fixed(g, expr.base)
    if isinstance(expr.index, ir.Const):
        index = expr.index.value
        inside = isinstance(index, int) and 0 <= index < stack.size
        return plus(base, stack.first + int(index) * stack.element.slots) if inside else "VOID"
    i = g.name("i")
    inside_text = f"0 <= ({i} := {g.value(expr.index)}) < {stack.size}"
    return f"({plus(base, stack.first)} + {stack.element.slots} * {i} if {inside_text} else VOID)"


def _stack(expr: ir.Expr) -> Stack:
    stack = strip(expr.type)
    if not isinstance(stack, Stack):
        raise Unsupported(expr.pos, f"{stack} as a header stack")
    return stack


def _fixed(g: Generator, expr: ir.Expr) -> Address:
    """The address of a stack, parenthesised if it is computed."""
    base = address(g, expr)
    return base if isinstance(base, int) else f"({base})"


def error_code(g: Generator, name: str, at: ir.Expr) -> int:
    """The number of a core.p4 error in this program."""
    if name not in g.program.errors:
        raise Unsupported(at.pos, f"a program without error.{name}")
    return g.program.errors.index(name)


def lvalue(g: Generator, expr: ir.Expr) -> LValue:
    """An l-value ready for use: what must be computed for it is computed now, in lines before the current one."""
    if isinstance(expr, ir.Slice):
        inner = lvalue(g, expr.base)
        low = inner.bits[1] if inner.bits else 0
        return replace(inner, type=expr.type, bits=(low + expr.high, low + expr.low))
    where = address(g, expr)
    if isinstance(where, str):
        where = g.temporary(where, "at")
    return LValue(where, expr.type, None, *_union(g, expr, where))


def _union(g: Generator, expr: ir.Expr, where: Address) -> tuple[Address | None, tuple[Address, ...]]:
    """Validity cells of the header and of its rivals, if ``expr`` lies in or is a header of a union."""
    del g
    back = 0
    while isinstance(expr, ir.Member):
        back += walk.offset(expr)
        union, header = strip(expr.base.type), strip(expr.type)
        if isinstance(union, Union) and isinstance(header, Header):
            base = plus(where, -back) if isinstance(where, int) else f"{where} - {back}"
            rivals = tuple(plus(base, o) for i, o in enumerate(union.offsets) if i != expr.index)
            return plus(base, union.offsets[expr.index]), rivals
        expr = expr.base
    return None, ()


def load(where: Address, t: Type) -> str:
    """Text of the cells at an address: an integer for a scalar, else a list."""
    if is_scalar(t):
        return f"m[{where}]"
    if isinstance(where, int):
        return f"m[{where}:{where + t.slots}]"
    return f"m[(w := {where}):w + {t.slots}]"


def read(at: LValue) -> str:
    """Text of the value at an l-value."""
    text = load(at.address, at.type)
    if at.bits is None:
        return text
    high, low = at.bits
    return f"({text} >> {low} & {(1 << high - low + 1) - 1})"


def write(g: Generator, at: LValue, value: str, whole: Type | None = None) -> None:
    """Write the lines that store ``value``; ``whole`` is the type of the cell that a slice lies in."""
    if isinstance(at.address, str):
        with g.indented(f"if {at.address} < VOID:"):
            _write(g, at, value, whole)
    else:
        _write(g, at, value, whole)


def _write(g: Generator, at: LValue, value: str, whole: Type | None) -> None:
    if at.bits is not None:
        high, low = at.bits
        kept = ~(((1 << high - low + 1) - 1) << low)
        cell = f"m[{at.address}]"
        # The value comes first: a call in it may change other bits of the cell.
        merged = f"{value} << {low} | {cell} & {kept}" if low else f"{value} | {cell} & {kept}"
        signed = isinstance(whole, Bits) and whole.signed
        g.line(f"{cell} = {wrap(f'({merged})', whole) if signed and isinstance(whole, Bits) else merged}")
    elif is_scalar(at.type):
        g.line(f"m[{at.address}] = {value}")
    elif at.type.slots:
        g.line(f"m[{at.address}:{plus(at.address, at.type.slots)}] = {value}")
        drop_rivals(g, at)


def drop_rivals(g: Generator, at: LValue) -> None:
    """After a store to a header of a union, invalidate its siblings if it is valid (section 8.20)."""
    if at.rivals and isinstance(strip(at.type), Header):
        with g.indented(f"if m[{at.header}]:"):
            g.line(" = ".join(f"m[{cell}]" for cell in at.rivals) + " = 0")


def unsliced(expr: ir.Expr) -> ir.Expr:
    """The l-value that a slice (of a slice) is of; other l-values themselves."""
    while isinstance(expr, ir.Slice):
        expr = expr.base
    return expr


def sliced_cell(expr: ir.Expr) -> Type | None:
    """The type of the cell that a slice lies in; None for other l-values."""
    return strip(unsliced(expr).type) if isinstance(expr, ir.Slice) else None


@expression(ir.VarRef, ir.StackNext, ir.StackLast)
def _load_lvalue(g: Generator, expr: ir.Expr) -> str:
    return load(address(g, expr), expr.type)


@expression(ir.Member)
def _member(g: Generator, expr: ir.Member) -> str:
    if is_lvalue(expr):
        return load(address(g, expr), expr.type)
    base, at = g.value(expr.base), walk.offset(expr)
    return f"{base}[{at}]" if is_scalar(expr.type) else f"{base}[{at}:{at + expr.type.slots}]"


@expression(ir.Element)
def _load_element(g: Generator, expr: ir.Element) -> str:
    if is_lvalue(expr):
        return load(address(g, expr), expr.type)
    stack = _stack(expr.base)
    cells = f"{g.value(expr.base)}, {g.value(expr.index)}, {stack.first}, {stack.element.slots}"
    picked = f"{g.bind(_pick, 'pick')}({cells})"
    return f"{picked}[0]" if is_scalar(stack.element) else picked


def _pick(stack: Sequence[int], index: int, first: int, slots: int) -> Sequence[int]:
    """Element of a stack that is a value and not an l-value."""
    at = first + index * slots
    return stack[at : at + slots] if 0 <= at < len(stack) else [0] * slots


@expression(ir.StackLastIndex)
def _last_index(g: Generator, expr: ir.StackLastIndex) -> str:
    return f"(m[{_fixed(g, expr.base)}] - 1 & 0xFFFFFFFF)"


def from_pattern(text: str, t: Type) -> str:
    """The value of ``t`` whose unsigned bit pattern is ``text``."""
    t = scalar_bits(t)
    return wrap(text, t) if t.signed else text


def pattern(text: str, t: Type) -> str:
    """The unsigned bit pattern of a value of ``t``."""
    t = scalar_bits(t)
    return f"({text} & {t.mask})" if t.signed else text
