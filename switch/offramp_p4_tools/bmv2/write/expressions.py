# SPDX-License-Identifier: Apache-2.0
"""Pure expressions as bmv2's: numbers of any size, which our operators wrap to their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, Bits, Stack, Type, strip
from offramp_p4_tools.bmv2.write.places import (
    HeaderAt,
    Json,
    Place,
    StackAt,
    UnionAt,
    ValueGroup,
    bits_of,
    operation,
)

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.places import Bindings

MAX_SHIFT_BITS: Final = 8
"""Widest amount in bits by which bmv2 may shift; wider ones would make numbers of unbounded size."""
_COMPARISONS: Final = {"==", "!=", "<", "<=", ">", ">="}


def hexstr(value: int, byte_count: int | None = None) -> Json:
    """A number as bmv2's ``hexstr``."""
    return {"type": "hexstr", "value": digits(value, byte_count)}


def digits(value: int, byte_count: int | None = None) -> str:
    """The text of a number, padded to ``byte_count`` bytes if given."""
    text = f"{abs(value):0{2 * (byte_count or 0)}x}"
    return f"{'-' if value < 0 else ''}0x{text}"


def is_place(e: ir.Expr) -> bool:
    """Whether ``e`` denotes something that is stored."""
    if isinstance(e, ir.Member | ir.Element):
        return is_place(e.base)
    return isinstance(e, ir.VarRef | ir.StackNext | ir.StackLast)


def within(e: ir.Expr) -> ir.Expr | None:
    """The condition that the index of an l-value lies in its stack; None where it always holds."""
    while isinstance(e, ir.Member):
        e = e.base
    if not isinstance(e, ir.Element) or isinstance(e.index, ir.Const):
        return None
    stack, index = strip(e.base.type), strip(e.index.type)
    assert isinstance(stack, Stack)
    assert isinstance(index, Bits)
    if index.mask < stack.size:
        return None
    return ir.Binary("<", e.index, ir.Const(stack.size, type=index), type=BOOL, pos=e.pos)


def parameter(value: Json) -> Json:
    """An operand as a parameter of a primitive."""
    if value["type"] == "local":
        return {"type": "runtime_data", "value": value["value"]}
    if value["type"] in {"expression", "bool"}:
        return {"type": "expression", "value": value}
    return value


class ExpressionWriter:
    """Turns expressions without effects into bmv2's."""

    def __init__(self, variables: Bindings) -> None:
        self.variables = variables

    # --- places -------------------------------------------------------------------------------------------

    def place(self, e: ir.Expr) -> Place:
        """The place at which bmv2 keeps an l-value."""
        if isinstance(e, ir.VarRef):
            return self.variables[e.var]
        if isinstance(e, ir.Member):
            return self._member(e)
        if isinstance(e, ir.Element):
            return self._element(e)
        if isinstance(e, ir.StackLast):
            stack = self.place(e.base)
            assert isinstance(stack, StackAt)
            return stack.at(operation("last_stack_index", None, stack.json))
        if isinstance(e, ir.StackNext):
            raise Unsupported(e.pos, "stack.next other than in extract, in bmv2's JSON")
        raise Unsupported(e.pos, f"{type(e).__name__} as an l-value in bmv2's JSON")

    def _member(self, e: ir.Member) -> Place:
        base = self.place(e.base)
        if isinstance(base, HeaderAt):
            return base.member(e.index)
        if isinstance(base, UnionAt):
            return base.members[e.index]
        assert isinstance(base, ValueGroup)
        return base.parts[e.index]

    def _element(self, e: ir.Element) -> Place:
        base = self.place(e.base)
        if isinstance(e.index, ir.Const) and isinstance(e.index.value, int):
            parts = base.elements if isinstance(base, StackAt) else base.parts if isinstance(base, ValueGroup) else ()
            if not 0 <= e.index.value < len(parts):
                raise Unsupported(e.pos, "an index out of range in bmv2's JSON")
            return parts[e.index.value]
        if not isinstance(base, StackAt):
            raise Unsupported(e.pos, f"an index of {e.base.type} that is known at run time only, in bmv2's JSON")
        return base.at(self.data(e.index))

    def _read(self, e: ir.Expr) -> Json:
        """The value of an l-value; 0 beyond the end of a stack, where bmv2 would read whatever is there."""
        value: Json = self.place(e).json  # type: ignore[union-attr]
        inside = within(e)
        return value if inside is None else operation("?", value, hexstr(0), cond=self.boolean(inside))

    # --- values -------------------------------------------------------------------------------------------

    def value(self, e: ir.Expr) -> Json:
        """A scalar as data, bool as 0 or 1; a header, union or stack as itself."""
        if strip(e.type) == BOOL:
            if isinstance(e, ir.Const):
                return hexstr(int(e.value))
            return self._read(e) if is_place(e) else operation("b2d", None, self.boolean(e))
        return self.data(e)

    def condition(self, e: ir.Expr) -> Json:
        """A bool as the condition of a node, which bmv2 takes as an expression only."""
        value = self.boolean(e)
        return value if value["type"] == "expression" else {"type": "expression", "value": value}

    def boolean(self, e: ir.Expr) -> Json:
        """A bool as bmv2's conditions take it."""
        if isinstance(e, ir.Const):
            return {"type": "bool", "value": bool(e.value)}
        if is_place(e):
            return operation("d2b", None, self._read(e))
        if isinstance(e, ir.Unary):
            return operation("not", None, self.boolean(e.operand))
        if isinstance(e, ir.Binary):
            return self._test(e)
        if isinstance(e, ir.IsValid):
            return self._valid(self.place(e.base))
        if isinstance(e, ir.Mux):
            then, otherwise = self.value(e.then), self.value(e.otherwise)
            return operation("d2b", None, operation("?", then, otherwise, cond=self.boolean(e.condition)))
        if isinstance(e, ir.Cast):
            if strip(e.operand.type) == BOOL:
                return self.boolean(e.operand)
            return operation("!=", self.data(e.operand), hexstr(0))
        raise Unsupported(e.pos, f"{type(e).__name__} as a condition in bmv2's JSON")

    def _test(self, e: ir.Binary) -> Json:
        if e.op in {"&&", "||"}:
            return operation({"&&": "and", "||": "or"}[e.op], self.boolean(e.left), self.boolean(e.right))
        if e.op in {"==", "!="}:
            return self._equality(e)
        return operation(e.op, self.data(e.left), self.data(e.right))

    def _equality(self, e: ir.Binary) -> Json:
        if strip(e.left.type) == BOOL:
            return operation(e.op, self.value(e.left), self.value(e.right))
        parts = zip(self._leaves(e.left), self._leaves(e.right), strict=True)
        tests = [self._same(left, right) for left, right in parts]
        if not tests:
            return {"type": "bool", "value": e.op == "=="}
        result = tests[0]
        for test in tests[1:]:
            result = operation("and", result, test)
        return result if e.op == "==" else operation("not", None, result)

    def _same(self, left: Json | HeaderAt | UnionAt, right: Json | HeaderAt | UnionAt) -> Json:
        """Whether two leaves are equal; for bmv2, headers that are not valid equal nothing."""
        if isinstance(left, dict) or isinstance(right, dict):
            return operation("==", left, right)
        absent = [operation("not", None, self._valid(side)) for side in (left, right)]
        return operation("or", operation("==", left.json, right.json), operation("and", *absent))

    def _leaves(self, e: ir.Expr) -> list[Json | HeaderAt | UnionAt]:
        """The numbers, headers and unions of a value: two values are equal if all these are."""
        if isinstance(e, ir.Compose):
            return [leaf for part in e.parts for leaf in self._leaves(part)]
        return self._place_leaves(self.place(e)) if is_place(e) else [self.value(e)]

    def _place_leaves(self, place: Place) -> list[Json | HeaderAt | UnionAt]:
        if isinstance(place, ValueGroup):
            return [leaf for part in place.parts for leaf in self._place_leaves(part)]
        if isinstance(place, StackAt):
            return list(place.elements)
        return [place if isinstance(place, HeaderAt | UnionAt) else place.json]

    def _valid(self, place: Place) -> Json:
        if isinstance(place, UnionAt):
            return operation("valid_union", None, place.json)
        assert isinstance(place, HeaderAt)
        if place.name is None:
            return operation("valid", None, place.json)
        return operation("d2b", None, valid_field(place))

    def data(self, e: ir.Expr) -> Json:
        """A number."""
        if isinstance(e, ir.Const):
            return hexstr(int(e.value))
        if is_place(e):
            return self._read(e)
        if strip(e.type) == BOOL:
            return self.value(e)
        if isinstance(e, ir.Slice):
            base = self.data(e.base)
            shifted = operation(">>", base, hexstr(e.low)) if e.low else base
            return operation("&", shifted, hexstr((1 << e.high - e.low + 1) - 1))
        if isinstance(e, ir.Unary):
            operand = self.data(e.operand)
            inner = operation("~", None, operand) if e.op == "~" else operation("-", hexstr(0), operand)
            return wrapped(inner, e.type)
        if isinstance(e, ir.Binary):
            return self._arithmetic(e)
        if isinstance(e, ir.Mux):
            return operation("?", self.data(e.then), self.data(e.otherwise), cond=self.boolean(e.condition))
        if isinstance(e, ir.Cast):
            return self._cast(e)
        if isinstance(e, ir.StackLastIndex):
            stack = self.place(e.base)
            return wrapped(operation("last_stack_index", None, stack.json), e.type)  # type: ignore[union-attr]
        raise Unsupported(e.pos, f"{type(e).__name__} as a value in bmv2's JSON")

    def _arithmetic(self, e: ir.Binary) -> Json:
        if e.op == "++":
            return self._concatenation(e)
        left, right = self.data(e.left), self.data(e.right)
        bits = bits_of(e.type)
        if e.op in {"|+|", "|-|"}:
            inner = operation(e.op[1], left, right)
            return operation("sat_cast" if bits.signed else "usat_cast", inner, hexstr(bits.width))
        if e.op == "<<":
            return self._shift_left(e, left, right)
        if e.op == ">>":
            return self._shift_right(e, left, right)
        if e.op in {"/", "%"} or (e.op in {"&", "|", "^"} and not bits.signed):
            return operation(e.op, left, right)
        return wrapped(operation(e.op, left, right), e.type)

    def _shift_left(self, e: ir.Binary, left: Json, right: Json) -> Json:
        bits = bits_of(e.type)
        if isinstance(e.right, ir.Const):
            return hexstr(0) if int(e.right.value) >= bits.width else wrapped(operation("<<", left, right), e.type)
        shifted = wrapped(operation("<<", left, right), e.type)
        if bits_of(e.right.type).width <= MAX_SHIFT_BITS:
            return shifted
        return operation("?", hexstr(0), shifted, cond=operation(">=", right, hexstr(bits.width)))

    def _shift_right(self, e: ir.Binary, left: Json, right: Json) -> Json:
        bits = bits_of(e.type)
        all_gone = (
            hexstr(0)
            if not bits.signed
            else operation("?", hexstr(-1), hexstr(0), cond=operation("<", left, hexstr(0)))
        )
        if isinstance(e.right, ir.Const):
            return all_gone if int(e.right.value) >= bits.width else operation(">>", left, right)
        if bits_of(e.right.type).width <= MAX_SHIFT_BITS:
            return operation(">>", left, right)
        return operation("?", all_gone, operation(">>", left, right), cond=operation(">=", right, hexstr(bits.width)))

    def _concatenation(self, e: ir.Binary) -> Json:
        low, high = bits_of(e.right.type), bits_of(e.left.type)
        left, right = pattern(self.value(e.left), high), pattern(self.value(e.right), low)
        return wrapped(operation("|", operation("<<", left, hexstr(low.width)), right), e.type)

    def _cast(self, e: ir.Cast) -> Json:
        operand = self.value(e.operand)
        to, start = bits_of(e.type), bits_of(e.operand.type)
        if to.signed:
            fits = to.width > start.width or (to.width == start.width and start.signed)
        else:
            fits = to.width >= start.width and not start.signed
        return operand if fits else wrapped(operand, e.type)


def valid_field(header: HeaderAt) -> Json:
    """The hidden field that says whether a header is valid."""
    return {"type": "field", "value": [header.name, "$valid$"]}


def pattern(value: Json, bits: Bits) -> Json:
    """The bits of a number, which may be negative."""
    return operation("&", value, hexstr(bits.mask)) if bits.signed else value


def wrapped(value: Json, t: Type) -> Json:
    """A number of any size reduced to a type."""
    bits = bits_of(t)
    if bits.signed:
        return operation("two_comp_mod", value, hexstr(bits.width))
    return operation("&", value, hexstr(bits.mask))
