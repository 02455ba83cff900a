# SPDX-License-Identifier: Apache-2.0
"""Arrays of extern objects: ``T(args) name[4]`` (P4-16 specification, section 11.3).

An element whose index is known is an object like any other. A call of one that is chosen at run time becomes a choice
among calls, one for each element; beyond the array nothing is called, and the result is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from offramp_p4 import ir
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, VOID, Bits, Type

MOST: Final = 1024
"""Objects in an array."""

Call = Callable[[ir.ExternInstance], ir.Expr]


def chosen(objects: list[ir.ExternInstance], index: ir.Expr, call: Call, nothing: Callable[[Type], ir.Expr]) -> ir.Expr:
    """The value of a call of ``objects[index]``; ``nothing`` gives the default value of its type."""
    if not _repeatable(index):
        raise Unsupported(index.pos, "a call in the index of an array of extern objects")
    calls = [call(o) for o in objects]
    t = calls[0].type
    if t == VOID:
        raise Unsupported(index.pos, "this call of an element that is chosen at run time")

    def between(low: int, high: int) -> ir.Expr:
        if high - low == 1:
            return calls[low]
        middle = (low + high) // 2
        return ir.Mux(_below(index, middle), between(low, middle), between(middle, high), type=t, pos=index.pos)

    return ir.Mux(_below(index, len(calls)), between(0, len(calls)), nothing(t), type=t, pos=index.pos)


def chosen_statement(objects: list[ir.ExternInstance], index: ir.Expr, call: Call) -> ir.Stmt:
    """A call of ``objects[index]`` without a result."""
    cases: list[tuple[list[ir.Const] | None, ir.Stmt]] = []
    for number, one in enumerate(objects):
        if isinstance(index.type, Bits) and number > Bits(index.type.width - index.type.signed).mask:
            break
        label = ir.Const(number, type=index.type, pos=index.pos)
        cases.append(([label], ir.Eval(call(one), pos=index.pos)))
    return ir.SwitchValue(index, cases, pos=index.pos)


def _below(index: ir.Expr, bound: int) -> ir.Expr:
    """``index < bound``; a negative index is below none."""
    assert isinstance(index.type, Bits)
    wide = Bits(max(index.type.width, bound.bit_length()))
    same_bits = index if not index.type.signed else ir.Cast(index, type=Bits(index.type.width), pos=index.pos)
    number = same_bits if wide == same_bits.type else ir.Cast(same_bits, type=wide, pos=index.pos)
    return ir.Binary("<", number, ir.Const(bound, type=wide, pos=index.pos), type=BOOL, pos=index.pos)


def _repeatable(e: ir.Expr) -> bool:
    """Whether evaluating an expression again changes nothing."""
    match e:
        case ir.Const() | ir.VarRef():
            return True
        case ir.Member() | ir.Slice():
            return _repeatable(e.base)
        case ir.Cast() | ir.Unary():
            return _repeatable(e.operand)
        case ir.Element():
            return _repeatable(e.base) and _repeatable(e.index)
        case ir.Binary():
            return _repeatable(e.left) and _repeatable(e.right)
    return False
