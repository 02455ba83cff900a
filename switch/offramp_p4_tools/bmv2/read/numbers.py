# SPDX-License-Identifier: Apache-2.0
"""Numbers of bmv2's expressions, which have any size, in types that are wide enough."""

from __future__ import annotations

from typing import Final

from offramp_p4 import ir
from offramp_p4.types import BOOL, Bits, Enum, strip

MAX_WIDTH: Final = 4096
"""Bits of a number that an expression needs exactly."""


def bits_of(e: ir.Expr) -> Bits:
    """The type of a number."""
    t = strip(e.type)
    if isinstance(t, Enum) and t.base is not None:
        return t.base
    return t if isinstance(t, Bits) else Bits(1) if t == BOOL else Bits(32)


def number(value: int, t: Bits | None = None) -> ir.Const:
    """A constant, in the smallest type that has it unless one is given."""
    if t is None:
        t = Bits(value.bit_length() + 1, signed=True) if value < 0 else Bits(max(1, value.bit_length()))
    return ir.Const(t.wrap(value), type=t)


def convert(e: ir.Expr, to: Bits) -> ir.Expr:
    """``e`` modulo 2^width of ``to``."""
    t = bits_of(e)
    if strip(e.type) == BOOL:
        e = ir.Cast(e, type=Bits(1))
    if t == to:
        return e
    if isinstance(e, ir.Const):
        return number(int(e.value), to)
    if t.width != to.width:
        e = ir.Cast(e, type=Bits(to.width, t.signed))
    return e if t.signed == to.signed else ir.Cast(e, type=to)


def join(*types: Bits) -> Bits:
    """A type that has every number of some types."""
    if not any(t.signed for t in types):
        return Bits(max(t.width for t in types))
    return Bits(max(t.width + (not t.signed) for t in types), signed=True)


def exact_type(op: str, left: Bits, right: Bits, amount: int | None) -> Bits:
    """A type that has every result of an operation; ``amount`` is a constant right operand."""
    common = join(left, right)
    if op in {"+", "-"}:
        signed = common.signed or op == "-"
        return Bits(common.width + 1 + (signed and not common.signed), signed)
    if op == "*":
        return Bits(left.width + right.width, common.signed)
    if op == "&":
        unsigned = [t.width for t in (left, right) if not t.signed]
        return Bits(min(unsigned)) if unsigned else common
    if op == "<<":
        more = amount if amount is not None else (1 << right.width) - 1 if right.width < 13 else MAX_WIDTH
        return Bits(left.width + more, left.signed)
    return left if op == ">>" else common
