# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of ``bit<N>``, ``int<N>`` and bool (P4-16 section 8): operators, casts, slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from offramp_base.native.llvm import I1, Value, const, ll
from offramp_p4 import ir
from offramp_p4.native.emitter import BOOL_FALSE, BOOL_TRUE, Emitter, value
from offramp_p4.native.equality import equal
from offramp_p4.native.runtime.division import divide as divide_words
from offramp_p4.native.shape import bits_of, is_scalar, value_type
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits

_COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!="})
_PLAIN: Final = {"+": "add", "-": "sub", "*": "mul", "&": "and_", "|": "or_", "^": "xor"}
_SATURATING: Final = {"|+|": "add", "|-|": "sub"}


def numeric(e: ir.Expr) -> Bits:
    """The bits that a scalar expression computes with."""
    bits = bits_of(e.type)
    if bits is None:
        raise Unsupported(e.pos, f"arithmetic on {e.type}")
    return bits


@value(ir.Const)
def _const(g: Emitter, e: ir.Const) -> Value:
    del g
    if isinstance(e.value, str):
        raise Unsupported(e.pos, "a string as a value")
    bits = bits_of(e.type)
    assert bits is not None
    if e.value.bit_length() > bits.width:
        raise Unsupported(e.pos, f"the constant {e.value}, of more than {bits.width} bits,")
    return const(value_type(e.type), e.value & bits.mask)


@value(ir.Binary)
def _binary(g: Emitter, e: ir.Binary) -> Value:
    if e.op in {"&&", "||"}:
        return _short_circuit(g, e)
    if e.op in _COMPARISONS:
        return _compare(g, e)
    if e.op in {"<<", ">>"}:
        return _shift(g, e)
    t = numeric(e)
    left, right = g.value(e.left), g.value(e.right)
    if t.width == 0:
        return left
    if e.op in _PLAIN:
        return getattr(g.b, _PLAIN[e.op])(left, right)
    if e.op in _SATURATING:
        return _intrinsic(g, f"llvm.{'s' if t.signed else 'u'}{_SATURATING[e.op]}.sat", left, right)
    if e.op == "++":
        return _concatenate(g, e, left, right)
    if e.op in {"/", "%"}:
        return _divide(g, t, e.op, left, right)
    raise Unsupported(e.pos, f"operator {e.op}")


def _intrinsic(g: Emitter, name: str, *args: Value) -> Value:
    t = args[0].type
    return g.b.call(g.module.declare_intrinsic(name, [t], ll.FunctionType(t, [t] * len(args))), args)


def _short_circuit(g: Emitter, e: ir.Binary) -> Value:
    left = g.value(e.left)
    if e.op == "&&":
        return g.pick(left, lambda: g.value(e.right), lambda: BOOL_FALSE, I1)
    return g.pick(left, lambda: BOOL_TRUE, lambda: g.value(e.right), I1)


def _compare(g: Emitter, e: ir.Binary) -> Value:
    if not is_scalar(e.left.type):
        same = equal(g, e.left.type, g.temporary(e.left), g.temporary(e.right))
        return g.b.not_(same) if e.op == "!=" else same
    left, right = g.value(e.left), g.value(e.right)
    bits = bits_of(e.left.type)
    compare = g.b.icmp_signed if bits is not None and bits.signed else g.b.icmp_unsigned
    return compare(e.op, left, right)


def _shift(g: Emitter, e: ir.Binary) -> Value:
    t = numeric(e)
    number = g.value(e.left)
    arithmetic = t.signed and e.op == ">>"
    shift = {"<<": g.b.shl, ">>": g.b.ashr if arithmetic else g.b.lshr}[e.op]
    if isinstance(e.right, ir.Const):
        amount = int(e.right.value)
        if amount >= t.width:
            return g.b.ashr(number, const(number.type, max(t.width - 1, 0))) if arithmetic else g.zero(e.type)
        return shift(number, const(number.type, amount))
    amount_bits = numeric(e.right)
    raw = g.value(e.right)
    if t.width == 0:
        return number
    if amount_bits.mask < t.width:
        return shift(number, g.resize(raw, t.width))
    inside = g.b.icmp_unsigned("<", raw, const(raw.type, t.width))
    shifted = shift(number, g.resize(raw, t.width))
    if arithmetic:
        return g.b.select(inside, shifted, g.b.ashr(number, const(number.type, t.width - 1)))
    return g.b.select(inside, shifted, const(number.type, 0))


def _concatenate(g: Emitter, e: ir.Binary, left: Value, right: Value) -> Value:
    low, whole = numeric(e.right), numeric(e)
    if low.width == 0:
        return g.resize(left, whole.width)
    if low.width == whole.width:
        return right
    high = g.b.shl(g.resize(left, whole.width), const(value_type(whole), low.width))
    return g.b.or_(high, g.resize(right, whole.width))


def _divide(g: Emitter, t: Bits, op: str, left: Value, right: Value) -> Value:
    """Quotient or remainder; dividing by zero gives 0, the remainder by zero is the left operand."""
    zero = const(left.type, 0)
    by_zero = g.b.icmp_unsigned("==", right, zero)
    divisor = g.b.select(by_zero, const(left.type, 1), right)
    quotient, remainder = (_floor_divide if t.signed else divide)(g, left, divisor)
    return g.b.select(by_zero, *((zero, quotient) if op == "/" else (left, remainder)))


def divide(g: Emitter, number: Value, divisor: Value) -> tuple[Value, Value]:
    """Quotient and remainder of unsigned numbers; the divisor is not 0."""
    if number.type.width <= 64:
        return g.b.udiv(number, divisor), g.b.urem(number, divisor)
    words = (number.type.width + 63) // 64
    whole = ll.IntType(64 * words)
    slots = [g.allocate(whole, 8) for _ in range(3)]
    for slot, initial in zip(slots, (number, divisor, const(whole, 0)), strict=True):
        g.tags.mark(g.b.store(g.resize(initial, whole.width), slot, align=8), "Words")
    g.call(divide_words, *slots, words)
    loaded = (g.tags.mark(g.b.load(slot, typ=whole, align=8), "Words") for slot in (slots[0], slots[2]))
    quotient, remainder = (g.resize(n, number.type.width) for n in loaded)
    return quotient, remainder


def _floor_divide(g: Emitter, left: Value, divisor: Value) -> tuple[Value, Value]:
    """Quotient and remainder of signed numbers, rounded towards minus infinity as the engine does."""
    zero = const(left.type, 0)
    negative = [g.b.icmp_signed("<", n, zero) for n in (left, divisor)]
    sizes = [g.b.select(sign, g.b.neg(n), n) for sign, n in zip(negative, (left, divisor), strict=True)]
    quotient, remainder = divide(g, *sizes)
    up = g.resize(g.b.icmp_unsigned("!=", remainder, zero), left.type.width)
    opposite = g.b.xor(*negative)
    quotient = g.b.select(opposite, g.b.neg(g.b.add(quotient, up)), quotient)
    return quotient, g.b.sub(left, g.b.mul(quotient, divisor))


@value(ir.Unary)
def _unary(g: Emitter, e: ir.Unary) -> Value:
    operations: dict[str, Callable[[Value], Value]] = {"!": g.b.not_, "~": g.b.not_, "-": g.b.neg}
    if e.op not in operations:
        raise Unsupported(e.pos, f"operator {e.op}")
    operand = g.value(e.operand)
    bits = bits_of(e.type)
    return operand if bits is not None and bits.width == 0 else operations[e.op](operand)


@value(ir.Mux)
def _mux(g: Emitter, e: ir.Mux) -> Value:
    condition = g.value(e.condition)
    return g.pick(condition, lambda: g.value(e.then), lambda: g.value(e.otherwise), value_type(e.type))


@value(ir.Slice)
def _slice(g: Emitter, e: ir.Slice) -> Value:
    return take_bits(g, g.value(e.base), e.high, e.low)


def take_bits(g: Emitter, number: Value, high: int, low: int) -> Value:
    """Bits ``high`` to ``low`` of a number."""
    shifted = g.b.lshr(number, const(number.type, low)) if low else number
    return g.resize(shifted, high - low + 1)


def put_bits(g: Emitter, number: Value, bits: Value, high: int, low: int) -> Value:
    """``number`` with bits ``high`` to ``low`` replaced."""
    hole = const(number.type, ~(((1 << high - low + 1) - 1) << low))
    placed = g.resize(bits, number.type.width)
    if low:
        placed = g.b.shl(placed, const(number.type, low))
    return g.b.or_(g.b.and_(number, hole), placed)


@value(ir.Cast)
def _cast(g: Emitter, e: ir.Cast) -> Value:
    source, into = bits_of(e.operand.type), bits_of(e.type)
    if source is None or into is None:
        raise Unsupported(e.pos, f"a cast from {e.operand.type} to {e.type}")
    if into.width == 0 or source.width == 0:
        g.value(e.operand)
        return g.zero(e.type)
    return g.resize(g.value(e.operand), into.width, signed=source.signed)
