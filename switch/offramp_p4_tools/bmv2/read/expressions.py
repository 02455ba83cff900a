# SPDX-License-Identifier: Apache-2.0
"""Translation of bmv2's expressions into the IR.

bmv2 computes with numbers of any size and truncates them when they are stored. So an expression is translated either
modulo a power of two (if it is stored, or an operand of what can be computed that way) or exactly (if it is compared,
divided or shifted right); exact types are wide enough for every result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from offramp_p4 import ir
from offramp_p4.types import BOOL, VOID, Bits, Header, Stack, Type, Union, Varbit, strip
from offramp_p4_tools.bmv2.read.layout import member
from offramp_p4_tools.bmv2.read.nodes import JsonNode
from offramp_p4_tools.bmv2.read.numbers import MAX_WIDTH, bits_of, convert, exact_type, join, number

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.read.layout import DocumentLayout

Kind = Literal["number", "bool", "header", "union", "stack", "varbit"]
_MODULAR: Final = {"+", "-", "*", "&", "|", "^"}
_NUMERIC: Final = {*_MODULAR, "/", "%", "<<", ">>", "~", "two_comp_mod", "usat_cast", "sat_cast", "b2d", "access_field",
                   "last_stack_index", "size_stack"}  # fmt: skip
_BOOLEAN: Final = {"==", "!=", "<", "<=", ">", ">=", "and", "or", "not", "valid", "valid_union", "d2b"}
_HEADERS: Final = {"dereference_stack", "dereference_header_stack", "access_union_header"}


class ExpressionReader:
    """Translates the expressions of one document.

    Attributes:
        locals: values that ``runtime_data`` stands for.
        before: statements that must run first, for what is a statement in the IR.
        packet: the parser's packet, for ``lookahead``.
    """

    def __init__(self, layout: DocumentLayout, registers: dict[str, ir.ExternInstance]) -> None:
        self.layout = layout
        self.registers = registers
        self.locals: list[ir.Var] = []
        self.before: list[ir.Stmt] = []
        self.packet: ir.Var | None = None

    # --- kinds --------------------------------------------------------------------------------------------------

    def kind(self, node: JsonNode) -> Kind:
        """The kind of an expression's value."""
        node = unwrapped(node)
        word = node["type"].text
        if word == "field":
            return "varbit" if isinstance(strip(self.layout.field(node["value"]).type), Varbit) else "number"
        if word != "expression":
            plain: dict[str, Kind] = {"bool": "bool", "header": "header", "header_union": "union"}
            return "stack" if word in {"header_stack", "header_union_stack"} else plain.get(word, "number")
        op = node["value"]["op"].text
        if op == "?":
            return self.kind(node["value"]["left"])
        if op == "dereference_union_stack":
            return "union"
        return "bool" if op in _BOOLEAN else "header" if op in _HEADERS else "number"

    # --- places -------------------------------------------------------------------------------------------------

    def place(self, node: JsonNode) -> ir.Expr:
        """The l-value of an expression: a field, or a whole header, union or stack."""
        node = unwrapped(node)
        word, value = node["type"].text, node["value"]
        if word == "field":
            return self.layout.field(value)
        if word == "header":
            return self.layout.header(value)
        if word == "header_union":
            return self.layout.union(value)
        if word in {"header_stack", "header_union_stack"}:
            return self.layout.stack(value)
        if word in {"stack_field", "union_stack_field"}:
            return self._last(value)
        if word == "expression":
            return self._computed_place(value)
        return node.fail(f"a {word[:80]} cannot be stored to")

    def _last(self, names: JsonNode) -> ir.Expr:
        """A field of the last element of a stack."""
        stack = self.layout.stack(names[0])
        t = strip(stack.type)
        assert isinstance(t, Stack)
        place: ir.Expr = ir.StackLast(stack, type=t.element)
        for i in range(1, len(names)):
            kind = strip(place.type)
            if not isinstance(kind, Header | Union) or names[i].text not in kind.index:
                names[i].fail(f"there is no '{names[i].text[:80]}' in {kind}")
            place = member(place, kind.index[names[i].text])
        return place

    def _computed_place(self, value: JsonNode) -> ir.Expr:
        op = value["op"].text
        if op in {"dereference_stack", "dereference_header_stack", "dereference_union_stack"}:
            stack = self.place(value["left"])
            t = strip(stack.type)
            if not isinstance(t, Stack):
                value["left"].fail("expected a stack")
            return ir.Element(stack, self.unsigned(value["right"], 32), type=t.element)
        if op in {"access_field", "access_union_header"}:
            base = self.place(value["left"])
            kind = strip(base.type)
            if not isinstance(kind, Header if op == "access_field" else Union):
                value["left"].fail("expected a header" if op == "access_field" else "expected a union")
            return member(base, value["right"].number(0, len(kind.fields) - 1))
        return value.fail(f"'{op[:80]}' gives nothing that can be stored to")

    # --- numbers ------------------------------------------------------------------------------------------------

    def stored(self, node: JsonNode, t: Type) -> ir.Expr:
        """A value for a field of type ``t``."""
        t = strip(t)
        assert isinstance(t, Bits)
        return convert(self.modulo(node, t.width), t)

    def unsigned(self, node: JsonNode, width: int) -> ir.Expr:
        """The value modulo 2^width, converted to ``bit<width>``."""
        return convert(self.modulo(node, width), Bits(width))

    def modulo(self, node: JsonNode, width: int) -> ir.Expr:
        """The value modulo 2^width, as ``bit<width>``."""
        node, to = unwrapped(node), Bits(width)
        if node["type"].text != "expression":
            return convert(self.exact(node), to)
        value = node["value"]
        op = value["op"].text
        if op == "&" and (mask := _all_ones(value["right"])):
            return convert(self.modulo(value["left"], min(mask, width)), to)
        if op in _MODULAR:
            left = number(0, to) if op in {"+", "-"} and "left" not in value else self.modulo(value["left"], width)
            return ir.Binary(op, left, self.modulo(value["right"], width), type=to)
        if op == "~":
            return ir.Unary("~", self.modulo(value["right"], width), type=to)
        if op == "<<":
            return ir.Binary("<<", self.modulo(value["left"], width), self._amount(value["right"]), type=to)
        if op == "two_comp_mod" and self._width(value["right"]) >= width:
            return self.modulo(value["left"], width)
        if op == "?":
            ways = self.modulo(value["left"], width), self.modulo(value["right"], width)
            return ir.Mux(self.boolean(value["cond"]), *ways, type=to)
        return convert(self.exact(node), to)

    def exact(self, node: JsonNode) -> ir.Expr:
        """The exact value, in a type that is wide enough for it."""
        node = unwrapped(node)
        word, value = node["type"].text, node["value"]
        if word == "hexstr":
            return number(value.hex)
        if word in {"local", "runtime_data"}:
            var = self.locals[value.number(0, len(self.locals) - 1)]
            return ir.VarRef(var, type=var.type)
        if word == "lookahead":
            return self.lookahead(value)
        if word == "register":
            return self._register(value)
        if word == "expression":
            result = self._operation(value)
            if bits_of(result).width > MAX_WIDTH:
                node.fail(f"a number of more than {MAX_WIDTH} bits")
            return result
        if word == "bool":
            return number(int(value.flag))
        if word not in {"field", "stack_field", "union_stack_field"}:
            node.fail(f"a {word[:80]} is not a number")
        return self._field(node)

    def _field(self, node: JsonNode) -> ir.Expr:
        place = self.place(node) if node["type"].text != "field" else self.layout.field(node["value"])
        if not isinstance(strip(place.type), Bits):
            node.fail(f"a {place.type} is not a number")
        return place

    def _operation(self, value: JsonNode) -> ir.Expr:
        op = value["op"].text
        if op == "b2d":
            return ir.Cast(self.boolean(value["right"]), type=Bits(1))
        if op == "access_field":
            return self._computed_place(value)
        if op == "last_stack_index":
            return ir.StackLastIndex(self.place(value["right"]), type=Bits(32))
        if op == "size_stack":
            last = ir.StackLastIndex(self.place(value["right"]), type=Bits(32))
            return ir.Binary("+", last, number(1, Bits(32)), type=Bits(32))
        if op == "two_comp_mod":
            return convert(
                self.modulo(value["left"], self._width(value["right"])), Bits(self._width(value["right"]), signed=True)
            )
        if op in {"usat_cast", "sat_cast"}:
            return self._saturated(value, signed=op == "sat_cast")
        if op == "?":
            ways = self.exact(value["left"]), self.exact(value["right"])
            t = join(*(bits_of(way) for way in ways))
            return ir.Mux(self.boolean(value["cond"]), *(convert(way, t) for way in ways), type=t)
        if op == "~":
            operand = self.exact(value["right"])
            t = Bits(bits_of(operand).width + 1, signed=True)
            return ir.Unary("~", convert(operand, t), type=t)
        if op not in _NUMERIC:
            value["op"].fail(f"'{op[:80]}' gives no number")
        return self._binary(op, value)

    def _binary(self, op: str, value: JsonNode) -> ir.Expr:
        left = number(0) if op in {"+", "-"} and "left" not in value else self.exact(value["left"])
        if op in {"<<", ">>"}:
            amount = self._amount(value["right"])
            known = int(amount.value) if isinstance(amount, ir.Const) else None
            t = exact_type(op, bits_of(left), bits_of(amount), known)
            if t.width > MAX_WIDTH:
                value.fail(f"a number of more than {MAX_WIDTH} bits")
            return ir.Binary(op, convert(left, t), amount, type=t)
        right = self.exact(value["right"])
        t = exact_type(op, bits_of(left), bits_of(right), None)
        if t.width > MAX_WIDTH:
            value.fail(f"a number of more than {MAX_WIDTH} bits")
        return ir.Binary(op, convert(left, t), convert(right, t), type=t)

    def _amount(self, node: JsonNode) -> ir.Expr:
        amount = self.exact(node)
        if bits_of(amount).signed:
            node.fail("a shift by a signed number")
        return amount

    def _width(self, node: JsonNode) -> int:
        width = unwrapped(node)["value"].hex
        return width if 1 <= width <= MAX_WIDTH else node.fail(f"a width of {width} bits")

    def _saturated(self, value: JsonNode, *, signed: bool) -> ir.Expr:
        width = self._width(value["right"])
        to, inner = Bits(width, signed), unwrapped(value["left"])
        if inner["type"].text == "expression" and inner["value"]["op"].text in {"+", "-"}:
            sides = [self.exact(inner["value"][side]) for side in ("left", "right")]
            if all(join(to, bits_of(side)) == to for side in sides):
                left, right = (convert(side, to) for side in sides)
                return ir.Binary(f"|{inner['value']['op'].text}|", left, right, type=to)
        exact = self.exact(value["left"])
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, to.mask)
        t = join(bits_of(exact), bits_of(number(low)), bits_of(number(high)))
        exact = convert(exact, t)
        above = ir.Binary(">", exact, number(high, t), type=BOOL)
        below = ir.Binary("<", exact, number(low, t), type=BOOL)
        return convert(ir.Mux(above, number(high, t), ir.Mux(below, number(low, t), exact, type=t), type=t), to)

    def lookahead(self, value: JsonNode) -> ir.Expr:
        """Bits of the packet that come ``value[0]`` bits later."""
        offset, width = value[0].number(0, MAX_WIDTH), value[1].number(1, MAX_WIDTH)
        if self.packet is None:
            value.fail("lookahead outside of a parser")
        whole = Bits(offset + width)
        looked = ir.ExternCall("packet_in", "lookahead", self.packet, [whole], [], type=whole)
        return ir.Slice(looked, width - 1, 0, type=Bits(width)) if offset else looked

    def _register(self, value: JsonNode) -> ir.Expr:
        array = self.registers.get(value[0].text) or value[0].fail(f"there is no register array '{value[0].text[:80]}'")
        t = array.type_args[0]
        result = ir.VarRef(ir.Var("cell", t), type=t)
        args = [ir.Arg("out", result), ir.Arg("in", self.unsigned(value[1], 32))]
        self.before.append(ir.Declare(result.var, None))
        self.before.append(ir.Eval(ir.ExternCall("register", "read", array, [], args, ["result", "index"], type=VOID)))
        return result

    # --- conditions ---------------------------------------------------------------------------------------------

    def boolean(self, node: JsonNode) -> ir.Expr:
        """A condition."""
        node = unwrapped(node)
        if node["type"].text == "bool":
            return ir.Const(int(node["value"].flag), type=BOOL)
        if node["type"].text != "expression" or self.kind(node) != "bool":
            node.fail("expected a condition")
        value = node["value"]
        op = value["op"].text
        if op == "not":
            return ir.Unary("!", self.boolean(value["right"]), type=BOOL)
        if op in {"and", "or"}:
            word = {"and": "&&", "or": "||"}[op]
            return ir.Binary(word, self.boolean(value["left"]), self.boolean(value["right"]), type=BOOL)
        if op in {"valid", "valid_union"}:
            place = self.place(value["right"])
            if not isinstance(strip(place.type), Header | Union):
                value["right"].fail("expected a header or a union")
            return ir.IsValid(place, type=BOOL)
        if op == "?":
            return ir.Mux(
                self.boolean(value["cond"]), self.boolean(value["left"]), self.boolean(value["right"]), type=BOOL
            )
        return self.truth(value["right"]) if op == "d2b" else self._comparison(op, value)

    def truth(self, node: JsonNode) -> ir.Expr:
        """Whether a number is not 0."""
        e = self.exact(node)
        if isinstance(e, ir.Cast) and e.operand.type == BOOL:
            return e.operand
        t = bits_of(e)
        return ir.Cast(e, type=BOOL) if t == Bits(1) else ir.Binary("!=", e, number(0, t), type=BOOL)

    def _comparison(self, op: str, value: JsonNode) -> ir.Expr:
        kinds = {self.kind(value["left"]), self.kind(value["right"])}
        if len(kinds) != 1:
            value.fail(f"compares a {' with a '.join(sorted(kinds))}")
        if kinds == {"bool"}:
            return ir.Binary(op, self.boolean(value["left"]), self.boolean(value["right"]), type=BOOL)
        if kinds != {"number"}:
            sides = [self.place(value["left"]), self.place(value["right"])]
            if op not in {"==", "!="} or sides[0].type != sides[1].type or kinds == {"stack"}:
                value.fail("compares what cannot be compared")
            same: ir.Expr = ir.Binary("==", *sides, type=BOOL)
            if kinds != {"varbit"}:  # for bmv2, headers that are not valid equal nothing
                same = ir.Binary("&&", ir.IsValid(sides[0], type=BOOL), same, type=BOOL)
            return same if op == "==" else ir.Unary("!", same, type=BOOL)
        left, right = self.exact(value["left"]), self.exact(value["right"])
        t = join(bits_of(left), bits_of(right))
        return ir.Binary(op, convert(left, t), convert(right, t), type=BOOL)


def unwrapped(node: JsonNode) -> JsonNode:
    """The innermost expression, without wrappers that have no operator."""
    while node["type"].text == "expression" and "op" not in node["value"]:
        node = node["value"]
    return node


def _all_ones(node: JsonNode) -> int | None:
    """Number of bits of a mask such as 0xFF; None if the node is no such constant."""
    node = unwrapped(node)
    if node["type"].text != "hexstr":
        return None
    value = node["value"].hex
    return value.bit_length() if value > 0 and value & (value + 1) == 0 else None
