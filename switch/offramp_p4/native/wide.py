# SPDX-License-Identifier: Apache-2.0
"""Wide numbers as vectors of words, where no carry passes from one word to the next.

LLVM takes an integer of 2,048 bits apart into 32 words, one instruction each. What moves such numbers, combines them
bit by bit, reverses their bytes, or adds numbers whose highest bit is 0 in each word (lanes that are summed within one
number) is as right word by word, and so a few vector instructions. All else remains an integer (:mod:`arithmetic`).
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.llvm import I8, I64, Value, const, ll
from offramp_p4 import ir
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.native import lvalues
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.shape import bits_of
from offramp_p4.types import Type

_LEAST: Final = 256
"""Width in bits of the narrowest number for which a vector is better than its words."""
_BITWISE: Final = {"&": "and_", "|": "or_", "^": "xor"}
_WORD: Final = (1 << 64) - 1


def is_wide(width: int) -> bool:
    """Whether numbers of so many bits are vectors where that is possible."""
    return width >= _LEAST and width % 64 == 0


def is_vector(number: Value) -> bool:
    """Whether a number is a vector of words."""
    return isinstance(number.type, ll.VectorType)


def width_of(number: Value) -> int:
    """Bits of a number that is an integer or a vector of words."""
    return 64 * number.type.count if is_vector(number) else number.type.width  # type: ignore[no-any-return]


def value(g: Emitter, e: ir.Expr) -> Value:
    """The value of a scalar expression: a vector of its words, the lowest first, if it is wide and can be one."""
    return _vector(g, e) if _is_vector(e) else g.value(e)


def load(g: Emitter, address: Value, width: int, kind: str = "Memory") -> Value:
    """A number from its container, a vector if it is wide."""
    if not is_wide(width):
        return g.load_number(address, width, kind)
    return g.tags.mark(g.b.load(address, typ=ll.VectorType(I64, width // 64), align=8), kind)


def load_reversed(g: Emitter, address: Value, width: int) -> Value:
    """A wide number from the bytes of a packet, the highest first."""
    loaded = g.b.load(address, typ=ll.VectorType(I8, width // 8), align=1)
    return g.b.bitcast(_reversed(g, g.tags.mark(loaded, "Bytes")), ll.VectorType(I64, width // 64))


def store_reversed(g: Emitter, number: Value, address: Value) -> None:
    """Store a vector as bytes of a packet, the highest first."""
    turned = _reversed(g, g.b.bitcast(number, ll.VectorType(I8, 8 * number.type.count)))
    g.tags.mark(g.b.store(turned, address, align=1), "Bytes")


def _reversed(g: Emitter, octets: Value) -> Value:
    count = octets.type.count
    mask = ll.Constant(ll.VectorType(ll.IntType(32), count), [*reversed(range(count))])
    return g.b.shuffle_vector(octets, ll.Constant(octets.type, ll.Undefined), mask)


def _width(t: Type) -> int:
    bits = bits_of(t)
    return 0 if bits is None else bits.width


def _is_vector(e: ir.Expr) -> bool:
    if not is_wide(_width(e.type)):
        return False
    if isinstance(e, ir.Const):
        return isinstance(e.value, int)
    if isinstance(e, ir.VarRef | ir.Member | ir.Element):
        return is_lvalue(e)
    if isinstance(e, ir.Unary):
        return e.op == "~" and _is_vector(e.operand)
    if isinstance(e, ir.Binary) and _is_vector(e.left) and _is_vector(e.right):
        return e.op in _BITWISE or (e.op == "+" and _carries_nothing(e.left) and _carries_nothing(e.right))
    return False


def _vector(g: Emitter, e: ir.Expr) -> Value:
    if isinstance(e, ir.Const):
        return _constant(int(e.value), _width(e.type))
    if isinstance(e, ir.Unary):
        operand = _vector(g, e.operand)
        return g.b.xor(operand, _constant(-1, _width(e.type)))
    if isinstance(e, ir.Binary):
        left, right = _vector(g, e.left), _vector(g, e.right)
        return getattr(g.b, _BITWISE.get(e.op, "add"))(left, right)
    return load(g, lvalues.locate(g, e)[0], _width(e.type))


def _constant(number: int, width: int) -> Value:
    words = [const(I64, number >> at & _WORD) for at in range(0, width, 64)]
    return ll.Constant(ll.VectorType(I64, len(words)), words)


def _carries_nothing(e: ir.Expr) -> bool:
    """Whether the highest bit of each word is certainly 0: the sum of two such numbers has no carry between words."""
    highest = sum(1 << at + 63 for at in range(0, _width(e.type), 64))
    return _zeros(e) & highest == highest


def _zeros(e: ir.Expr) -> int:
    """The bits that are certainly 0."""
    if isinstance(e, ir.Const):
        return ~int(e.value)
    if isinstance(e, ir.Binary) and e.op in _BITWISE:
        left, right = _zeros(e.left), _zeros(e.right)
        return left | right if e.op == "&" else left & right
    return 0
