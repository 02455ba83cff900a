# SPDX-License-Identifier: Apache-2.0
"""Random expressions that type-check, over all operators and widths (P4-16 section 8)."""

from __future__ import annotations

from typing import Final

from offramp_p4.types import BOOL, Bits, Type
from offramp_p4_tools.fuzz.scope import WIDTHS, ReachableNames

_SAME: Final = ("+", "-", "*", "&", "|", "^", "|+|", "|-|")
_COMPARE: Final = ("==", "!=", "<", "<=", ">", ">=")


def literal(scope: ReachableNames, t: Type) -> str:
    """A constant; often one at the edge of its type."""
    if not isinstance(t, Bits):
        return scope.pick(("true", "false"))
    if t.signed:
        top = (1 << t.width - 1) - 1
        value = scope.pick((0, 1, top, -top, scope.rng.randint(-top, top)))
        value = abs(value) if scope.portable else value  # bmv2 cannot read negative constants in its JSON
        return f"(-{t.width}s{-value})" if value < 0 else f"{t.width}s{value}"
    value = scope.pick((0, 1, t.mask, t.mask >> 1, scope.rng.randint(0, t.mask), scope.rng.randint(0, min(7, t.mask))))
    return f"{t.width}w{value:#x}" if scope.chance(0.5) else f"{t.width}w{value}"


def expression(scope: ReachableNames, t: Type, depth: int = 3) -> str:
    """An expression of type ``t``."""
    if depth <= 0 or scope.chance(0.2):
        return _leaf(scope, t)
    if isinstance(t, Bits):
        return _signed(scope, t, depth - 1) if t.signed else _unsigned(scope, t, depth - 1)
    return condition(scope, depth - 1)


def condition(scope: ReachableNames, depth: int = 2) -> str:
    """A boolean expression."""
    roll = scope.rng.randrange(10)
    if depth <= 0 or roll == 0:
        return _leaf(scope, BOOL)
    if roll == 1:
        return f"(!{condition(scope, depth - 1)})"
    if roll in (2, 3):
        return f"({condition(scope, depth - 1)} {scope.pick(('&&', '||'))} {condition(scope, depth - 1)})"
    if roll == 4 and scope.headers:
        return f"{scope.pick(scope.headers)[0]}.isValid()"
    if roll == 5 and len(scope.headers) > 1:
        name, kind = scope.pick(scope.headers)
        other = scope.pick([n for n, k in scope.headers if k == kind])
        return f"({name} {scope.pick(('==', '!='))} {other})"
    t = scope.pick([p.type for p in scope.operands if isinstance(p.type, Bits)] or [Bits(8)])
    operator = scope.pick(_COMPARE)
    return f"({expression(scope, t, depth - 1)} {operator} {expression(scope, t, depth - 1)})"


def _leaf(scope: ReachableNames, t: Type) -> str:
    operands = scope.of_type(lambda other: other == t)
    if operands and scope.chance(0.7):
        return scope.pick(operands).text
    if isinstance(t, Bits) and scope.chance(0.7):
        wider = scope.of_type(lambda other: isinstance(other, Bits) and other.width > t.width)
        if wider:
            place = scope.pick(wider)
            assert isinstance(place.type, Bits)
            low = scope.rng.randint(0, place.type.width - t.width)
            part = f"{place.text}[{low + t.width - 1}:{low}]"
            return f"((int<{t.width}>){part})" if t.signed else part
        narrower = scope.of_type(lambda other: isinstance(other, Bits) and other.signed == t.signed)
        if narrower:
            return f"(({t}){scope.pick(narrower).text})"
    return literal(scope, t)


def _unsigned(scope: ReachableNames, t: Bits, depth: int) -> str:
    roll = scope.rng.randrange(14)
    if roll < 5:
        operator = scope.pick(_SAME)
        return f"({expression(scope, t, depth)} {operator} {expression(scope, t, depth)})"
    if roll == 5:
        return f"({scope.pick(('~', '-'))}{expression(scope, t, depth)})"
    if roll == 6 and not scope.portable:
        divisor = scope.rng.randint(1, min(t.mask, 300))
        return f"({expression(scope, t, depth)} {scope.pick(('/', '%'))} {t.width}w{divisor})"
    if roll == 7:
        return _shift(scope, t, depth)
    if roll == 8 and t.width > 1:
        low = scope.rng.randint(1, t.width - 1)
        return f"({expression(scope, Bits(t.width - low), depth)} ++ {expression(scope, Bits(low), depth)})"
    if roll == 9:
        return _cast(scope, t, depth)
    if roll == 10:
        wider = Bits(t.width + scope.rng.randint(1, 40))
        low = scope.rng.randint(0, wider.width - t.width)
        return f"({expression(scope, wider, depth)})[{low + t.width - 1}:{low}]"
    if roll == 11 and t.width == 1:
        return f"((bit<1>){condition(scope, depth)})"
    if roll == 12 and (call := _call(scope, t, depth)):
        return call
    return _mux(scope, t, depth)


def _signed(scope: ReachableNames, t: Bits, depth: int) -> str:
    roll = scope.rng.randrange(9)
    if roll < 4:
        operator = scope.pick(_SAME)
        return f"({expression(scope, t, depth)} {operator} {expression(scope, t, depth)})"
    if roll == 4:
        return f"({scope.pick(('~', '-'))}{expression(scope, t, depth)})"
    if roll == 5:
        return _shift(scope, t, depth)
    if roll == 6:
        return _cast(scope, t, depth)
    if roll == 7 and (call := _call(scope, t, depth)):
        return call
    return _mux(scope, t, depth)


def _mux(scope: ReachableNames, t: Type, depth: int) -> str:
    return f"({condition(scope, depth)} ? {expression(scope, t, depth)} : {expression(scope, t, depth)})"


def _shift(scope: ReachableNames, t: Bits, depth: int) -> str:
    amount = str(scope.rng.randint(0, t.width + 2))
    if scope.chance(0.5):
        amount = expression(scope, Bits(scope.pick((3, 8))), depth)
    return f"({expression(scope, t, depth)} {scope.pick(('<<', '>>'))} {amount})"


def _cast(scope: ReachableNames, t: Bits, depth: int) -> str:
    """Widths change with the sign kept, signs with the width kept (section 8.11.1)."""
    other = Bits(scope.pick(WIDTHS), t.signed)
    if (scope.chance(0.4) and t.width > 1) or (t.signed and other.width == 1):
        other = Bits(t.width, not t.signed)
    return f"(({t}){expression(scope, other, depth)})"


def _call(scope: ReachableNames, t: Type, depth: int) -> str | None:
    callees = [f for f in scope.functions if f.returns == t and all(d in {"", "in"} for d, _ in f.params)]
    if not callees or scope.in_parser:
        return None
    callee = scope.pick(callees)
    return f"{callee.name}({', '.join(expression(scope, p, min(depth, 1)) for _, p in callee.params)})"
