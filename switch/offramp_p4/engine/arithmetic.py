# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of ``bit<N>``, ``int<N>`` and bool (P4-16 section 8): operators, casts, slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.engine.equality import equality
from offramp_p4.engine.generator import Generator, condition, expression, is_scalar
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, INT, Bits, Enum, Type, strip

if TYPE_CHECKING:
    from collections.abc import Callable


def numeric(t: Type, at: ir.Expr) -> Bits:
    """The bits that a scalar type computes with."""
    t = strip(t)
    if isinstance(t, Bits):
        return t
    if isinstance(t, Enum) and t.base is not None:
        return t.base
    if t == BOOL:
        return Bits(1)
    raise Unsupported(at.pos, f"arithmetic on {t}")


def wrap(text: str, t: Bits) -> str:
    """``text`` reduced to the range of ``t``."""
    if t.signed and t.width:
        half = 1 << t.width - 1
        return f"(({text} + {half} & {t.mask}) - {half})"
    return f"({text} & {t.mask})"


def clamp(text: str, t: Bits) -> str:
    """``text`` saturated to the range of ``t``."""
    if t.signed and t.width:
        return f"max({-(1 << t.width - 1)}, min({(1 << t.width - 1) - 1}, {text}))"
    return f"max(0, min({t.mask}, {text}))"


def shift_left(value: int, amount: int, width: int) -> int:
    """``value << amount`` without the cost of amounts that leave nothing."""
    return value << amount if amount < width else 0


def shift_right(value: int, amount: int) -> int:
    """``value >> amount``, arithmetic for negative values, for any amount."""
    return value >> min(amount, 1 << 20)


def divide(left: int, right: int) -> int:
    """Quotient; 0 by convention where P4 leaves the division by zero undefined."""
    return left // right if right else 0


def modulo(left: int, right: int) -> int:
    """Remainder; the left operand for a modulus of zero."""
    return left % right if right else left


_COMPARISONS: Final = frozenset({"<", "<=", ">", ">="})
_WRAPPING: Final = frozenset({"+", "-", "*"})
_BITWISE: Final = frozenset({"&", "|", "^"})
_SATURATING: Final = {"|+|": "+", "|-|": "-"}
_DIVISIONS: Final[dict[str, Callable[[int, int], int]]] = {"/": divide, "%": modulo}


def _is_condition(e: ir.Binary) -> bool:
    return e.op in _COMPARISONS or e.op in {"==", "!=", "&&", "||"}


@expression(ir.Const)
def _const(g: Generator, e: ir.Const) -> str:
    del g
    return repr(e.value) if isinstance(e.value, str) or e.value >= 0 else f"({e.value})"


@expression(ir.Binary)
def _binary(g: Generator, e: ir.Binary) -> str:
    if _is_condition(e):
        return f"(1 if {_compare(g, e)} else 0)"
    left, right = g.value(e.left), g.value(e.right)
    if strip(e.type) == INT and e.op in _WRAPPING | _BITWISE:
        return f"({left} {e.op} {right})"  # int has no bounds, and here no value that is known before
    t = numeric(e.type, e)
    if e.op in _WRAPPING:
        return wrap(f"{left} {e.op} {right}", t)
    if e.op in _BITWISE:
        return f"({left} {e.op} {right})"
    if e.op in _SATURATING:
        return clamp(f"{left} {_SATURATING[e.op]} {right}", t)
    if e.op == "++":
        low = numeric(e.right.type, e)
        return f"({left} << {low.width} | {wrap(right, Bits(low.width)) if low.signed else right})"
    if e.op == "<<":
        if isinstance(e.right, ir.Const):
            amount = int(e.right.value)
            return wrap(f"({left} << {amount})", t) if amount < t.width else f"({left} & 0)"
        return wrap(f"{g.bind(shift_left, 'shift_left')}({left}, {right}, {t.width})", t)
    if e.op == ">>":
        if isinstance(e.right, ir.Const):
            return f"({left} >> {min(int(e.right.value), t.width)})"
        return f"{g.bind(shift_right, 'shift_right')}({left}, {right})"
    if e.op in _DIVISIONS:
        function = g.bind(_DIVISIONS[e.op], "divide")
        if isinstance(e.right, ir.Const) and e.right.value:
            return f"({left} {'//' if e.op == '/' else '%'} {right})"
        return f"{function}({left}, {right})"
    raise Unsupported(e.pos, f"operator {e.op}")


@condition(ir.Binary)
def _compare(g: Generator, e: ir.Binary) -> str:
    if e.op in {"&&", "||"}:
        return f"({g.condition(e.left)} {'and' if e.op == '&&' else 'or'} {g.condition(e.right)})"
    left, right = g.value(e.left), g.value(e.right)
    if e.op in _COMPARISONS:
        return f"({left} {e.op} {right})"
    if is_scalar(e.left.type):
        return f"({left} {e.op} {right})"
    same = equality(g, e.left.type)
    return f"{'not ' if e.op == '!=' else ''}{same}({left}, {right})"


@expression(ir.Unary)
def _unary(g: Generator, e: ir.Unary) -> str:
    if e.op == "!":
        return f"(1 if {_not(g, e)} else 0)"
    operand, t = g.value(e.operand), numeric(e.type, e)
    if e.op == "-":
        return wrap(f"-{operand}", t)
    if e.op == "~":
        return f"(~{operand})" if t.signed else f"({operand} ^ {t.mask})"
    raise Unsupported(e.pos, f"operator {e.op}")


@condition(ir.Unary)
def _not(g: Generator, e: ir.Unary) -> str:
    return f"(not {g.condition(e.operand)})"


@expression(ir.Mux)
def _mux(g: Generator, e: ir.Mux) -> str:
    return f"({g.value(e.then)} if {g.condition(e.condition)} else {g.value(e.otherwise)})"


@expression(ir.Slice)
def _slice(g: Generator, e: ir.Slice) -> str:
    mask = (1 << e.high - e.low + 1) - 1
    base = g.value(e.base)
    return f"({base} >> {e.low} & {mask})" if e.low else f"({base} & {mask})"


@expression(ir.Cast)
def _cast(g: Generator, e: ir.Cast) -> str:
    operand = g.value(e.operand)
    source, target = _representation(e.operand.type), _representation(e.type)
    if target is None or (source is None and strip(e.operand.type) != INT):
        if not is_scalar(e.type) and e.type.slots != e.operand.type.slots:
            raise Unsupported(e.pos, f"a cast from {e.operand.type} to {e.type}")
        return operand
    if source is None:
        return wrap(operand, target)
    widens = target.width >= source.width and source.signed == target.signed
    return operand if widens else wrap(operand, target)


def _representation(t: Type) -> Bits | None:
    """The bits that a scalar is stored as; None for what has no width (error, plain enum, structures)."""
    t = strip(t)
    if isinstance(t, Enum):
        return t.base
    return Bits(1) if t == BOOL else t if isinstance(t, Bits) else None
