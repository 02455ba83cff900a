# SPDX-License-Identifier: Apache-2.0
"""Arithmetic at compile time (P4-16 specification, sections 8.5 to 8.11)."""

from __future__ import annotations

from offramp_p4.frontend.syntax.lexer import MAX_BITS
from offramp_p4.source import P4Error, Pos
from offramp_p4.types import BOOL, Bits, Enum, Type

_COMPARE = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def wrap(t: Type, value: int) -> int:
    """``value`` reduced to the range of ``t`` (unchanged for arbitrary precision and enums)."""
    return t.wrap(value) if isinstance(t, Bits) else value


def unary(op: str, t: Type, a: int) -> int:
    """``- ~ !``."""
    if op == "!":
        return int(not a)
    return wrap(t, -a if op == "-" else ~a)


def binary(op: str, t: Type, a: int, b: int, pos: Pos) -> int:
    """Value of ``a op b`` for operands of type ``t``; comparisons give 0 or 1.

    Raises:
        P4Error: division by zero or by a negative number, a negative or absurd shift.
    """
    if op in _COMPARE:
        return int(_COMPARE[op](a, b))
    match op:
        case "+" | "-" | "*":
            value = a + b if op == "+" else a - b if op == "-" else a * b
        case "/" | "%":
            if b == 0:
                raise P4Error(pos, "division by zero")
            if a < 0 or b < 0:
                raise P4Error(pos, f"'{op}' is not defined for negative numbers")
            value = a // b if op == "/" else a % b
        case "|+|" | "|-|":
            return saturate(t, a + b if op == "|+|" else a - b, pos)
        case "&" | "&&":
            value = a & b
        case "|" | "||":
            value = a | b
        case "^":
            value = a ^ b
        case "<<" | ">>":
            if b < 0:
                raise P4Error(pos, "a shift amount cannot be negative")
            if isinstance(t, Bits):
                b = min(b, t.width)
            elif b > MAX_BITS:
                raise P4Error(pos, f"shift by more than {MAX_BITS} at compile time")
            value = a << b if op == "<<" else a >> b
        case _:
            raise AssertionError(op)
    if value.bit_length() > MAX_BITS and not isinstance(t, Bits):
        raise P4Error(pos, f"a number of more than {MAX_BITS} bits at compile time")
    return wrap(t, value)


def saturate(t: Type, value: int, pos: Pos) -> int:
    """Clamp to the range of ``t`` (section 8.5, saturating arithmetic)."""
    if not isinstance(t, Bits):
        raise P4Error(pos, "saturating arithmetic needs operands of fixed width")
    low, high = (-(1 << (t.width - 1)), (1 << (t.width - 1)) - 1) if t.signed else (0, t.mask)
    return min(max(value, low), high)


def cast(to: Type, value: int) -> int:
    """Value of an explicit cast of a scalar constant to ``to``."""
    if isinstance(to, Bits):
        return to.wrap(int(value))
    if isinstance(to, Enum) and to.base is not None:
        return to.base.wrap(value)
    if to == BOOL:
        return int(value != 0)
    return value
