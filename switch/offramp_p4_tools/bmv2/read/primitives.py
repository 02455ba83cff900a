# SPDX-License-Identifier: Apache-2.0
"""Calls of bmv2's primitives as statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from offramp_p4 import ir
from offramp_p4.types import BOOL, VOID, Bits, Header, Stack, Struct, StructField, Tuple, Union, Varbit, strip
from offramp_p4_tools.bmv2.read.enums import call
from offramp_p4_tools.bmv2.read.expressions import unwrapped
from offramp_p4_tools.bmv2.read.nodes import MAX_SIZE, JsonNode
from offramp_p4_tools.bmv2.read.numbers import number

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.read.expressions import ExpressionReader

Rule = Callable[[Any, JsonNode], list[ir.Stmt]]
"""Translates a primitive's parameters to statements; the first argument is the reader of primitives."""


class Primitives:
    """Turns calls of the primitives of all architectures into statements.

    Attributes:
        rules: translations of primitives, by name.
        learn_lists: the lists of fields that digests take, by their numbers.
    """

    rules: ClassVar[Mapping[str, Rule]]

    def __init__(self, expressions: ExpressionReader, document: JsonNode) -> None:
        self.x = expressions
        self.learn_lists = {n["id"].number(0, MAX_SIZE): n for n in document.each("learn_lists")}
        self._digests: dict[int, Struct] = {}

    def statements(self, node: JsonNode) -> list[ir.Stmt]:
        """The statements of one call; jumps and exit are the caller's matter."""
        name = node["op"].text
        rule = self.rules.get(name)
        if rule is None:
            node["op"].fail(f"the primitive '{name[:80]}' is not supported")
        self.x.before = []
        own = rule(self, node["parameters"])
        return [*self.x.before, *own]

    # --- values and headers -------------------------------------------------------------------------------------

    def assign(self, p: JsonNode) -> list[ir.Stmt]:
        """``assign`` and ``modify_field``, with the latter's mask; ``$valid$`` makes its header valid or not."""
        if isinstance(place := self.x.place(p[0]), ir.Cast) and isinstance(place.operand, ir.IsValid):
            header = place.operand.base
            on, off = (ir.Eval(ir.HeaderOp(op, header, type=VOID)) for op in ("setValid", "setInvalid"))
            return [ir.If(ir.Cast(self.x.stored(p[1], Bits(1)), type=BOOL), on, off)]
        place = self.number_place(p[0])
        if len(p) > 2:
            mask = self.x.stored(p[2], place.type)
            kept = ir.Binary("&", place, ir.Unary("~", mask, type=place.type), type=place.type)
            new = ir.Binary("&", self.x.stored(p[1], place.type), mask, type=place.type)
            return [ir.Assign(place, ir.Binary("|", kept, new, type=place.type))]
        return [ir.Assign(place, self.x.stored(p[1], place.type))]

    def number_place(self, node: JsonNode) -> ir.Expr:
        """A field that holds a number."""
        place = self.x.place(node)
        if not isinstance(strip(place.type), Bits) or isinstance(place, ir.Cast):
            node.fail("expected a field that can be written")
        return place

    def copy(self, p: JsonNode) -> list[ir.Stmt]:
        """Assignment of whole headers, unions, stacks and fields of variable length."""
        to, start = self.x.place(p[0]), self.x.place(p[1])
        if strip(to.type) != strip(start.type) or not isinstance(
            strip(to.type), Header | Union | Stack | Varbit | Struct
        ):
            p.fail(f"a {start.type} assigned to a {to.type}")
        return [ir.Assign(to, start)]

    def header_op(self, p: JsonNode, op: str) -> list[ir.Stmt]:
        """``add_header`` and ``remove_header``; metadata is always valid."""
        place = self.x.place(p[0])
        if isinstance(strip(place.type), Struct):
            return []
        if not isinstance(strip(place.type), Header):
            p[0].fail("expected a header")
        return [ir.Eval(ir.HeaderOp(op, place, type=VOID))]  # type: ignore[arg-type]

    def shift(self, p: JsonNode, op: str) -> list[ir.Stmt]:
        """``push`` and ``pop``."""
        place = self.x.place(p[0])
        t = strip(place.type)
        if not isinstance(t, Stack):
            p[0].fail("expected a stack")
        count = self.x.exact(p[1]) if len(p) > 1 else number(1)
        if not isinstance(count, ir.Const) or int(count.value) < 0:
            p[1].fail("expected a constant")
        return [ir.Eval(ir.HeaderOp(op, place, min(int(count.value), t.size), type=VOID))]  # type: ignore[arg-type]

    def arithmetic(self, p: JsonNode, op: str) -> list[ir.Stmt]:
        """P4-14's primitives: ``add(to, a, b)`` and ``add_to_field(to, a)``."""
        place = self.number_place(p[0])
        left, right = (p[1], p[2]) if len(p) == 3 else (p[0], p[1])
        value = {"op": op, "left": left.value, "right": right.value}
        return [ir.Assign(place, self.x.stored(JsonNode({"type": "expression", "value": value}, p.path), place.type))]

    def learned(self, node: JsonNode) -> ir.Compose:
        """The fields of the learn list that a parameter names, as a struct of its name."""
        node = unwrapped(node)["value"]
        learn_list = self.learn_lists.get(node.hex) or node.fail(f"there is no learn list {node.hex}")
        parts = [self.x.exact(e) for e in learn_list["elements"]]
        if node.hex not in self._digests:
            words = [unwrapped(e)["value"][-1 + len(unwrapped(e)["value"])].text for e in learn_list["elements"]]
            names = [word if words.count(word) == 1 else f"{word}_{i}" for i, word in enumerate(words)]
            fields = [StructField(n, part.type) for n, part in zip(names, parts, strict=True)]
            self._digests[node.hex] = Struct(learn_list["name"].text, fields=fields)
        return ir.Compose(parts, type=self._digests[node.hex])

    def check(self, p: JsonNode, method: str) -> list[ir.Stmt]:
        """``assert`` and ``assume``, which take a number."""
        test = self.x.boolean(p[0]) if self.x.kind(p[0]) == "bool" else self.x.truth(p[0])
        return [call(method, ("in", test))]

    def nothing(self, p: JsonNode) -> list[ir.Stmt]:
        """``no_op``."""
        del p
        return []


def compose(parts: list[ir.Expr]) -> ir.Expr:
    """Values side by side."""
    return ir.Compose(parts, type=Tuple(tuple(part.type for part in parts)))


def with_word(rule: Callable[[Any, JsonNode, str], list[ir.Stmt]], word: str) -> Rule:
    """A rule of several primitives, for one of them."""
    return lambda self, p: rule(self, p, word)


_SHARED: Final[dict[str, Rule]] = {
    "assign": Primitives.assign,
    "modify_field": Primitives.assign,
    **dict.fromkeys(
        ("assign_VL", "assign_header", "copy_header", "assign_union", "assign_header_stack", "assign_union_stack"),
        Primitives.copy,
    ),
    "add_header": with_word(Primitives.header_op, "setValid"),
    "add_header_fast": with_word(Primitives.header_op, "setValid"),
    "remove_header": with_word(Primitives.header_op, "setInvalid"),
    "push": with_word(Primitives.shift, "push_front"),
    "pop": with_word(Primitives.shift, "pop_front"),
    **{
        name: with_word(Primitives.arithmetic, op)
        for name, op in {
            "add": "+", "add_to_field": "+", "subtract": "-", "subtract_from_field": "-", "bit_xor": "^", "bit_or": "|",
            "bit_and": "&", "shift_left": "<<", "shift_right": ">>",
        }.items()
    },
    "assert": with_word(Primitives.check, "assert"),
    "assume": with_word(Primitives.check, "assume"),
    "no_op": Primitives.nothing,
}  # fmt: skip
Primitives.rules = _SHARED
