# SPDX-License-Identifier: Apache-2.0
"""Calls of bmv2's primitives as statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.bmv2.read.enums import CLONES, algorithm, call, member
from offramp_p4.bmv2.read.expressions import unwrapped
from offramp_p4.bmv2.read.nodes import Node
from offramp_p4.bmv2.read.numbers import bits_of, convert, number
from offramp_p4.types import BOOL, STRING, VOID, Bits, Field, Header, Stack, Struct, Tuple, Union, Varbit, strip

if TYPE_CHECKING:
    from offramp_p4.bmv2.read.expressions import Expressions

Rule = Callable[["Primitives", Node], list[ir.Stmt]]


@dataclass
class Declared:
    """What primitives refer to by name or number."""

    externs: Mapping[tuple[str, str], ir.ExternInstance]
    calculations: Mapping[str, Node]
    field_lists: Mapping[int, Node]
    learn_lists: Mapping[int, Node]


class Primitives:
    """Turns calls of primitives into statements."""

    def __init__(self, expressions: Expressions, declared: Declared) -> None:
        self.x = expressions
        self.declared = declared
        self._digests: dict[int, Struct] = {}

    def statements(self, node: Node) -> list[ir.Stmt]:
        """What one call does; jumps and exit are the caller's."""
        name = node["op"].text
        rule = _RULES.get(name)
        if rule is None:
            node["op"].fail(f"the primitive '{name[:80]}' is not supported")
        self.x.before = []
        made = rule(self, node["parameters"])
        return [*self.x.before, *made]

    # --- values and headers -------------------------------------------------------------------------------------

    def assign(self, p: Node) -> list[ir.Stmt]:
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

    def number_place(self, node: Node) -> ir.Expr:
        """A field that holds a number."""
        place = self.x.place(node)
        if not isinstance(strip(place.type), Bits) or isinstance(place, ir.Cast):
            node.fail("expected a field that can be written")
        return place

    def copy(self, p: Node) -> list[ir.Stmt]:
        """Assignment of whole headers, unions, stacks and fields of variable length."""
        to, start = self.x.place(p[0]), self.x.place(p[1])
        if strip(to.type) != strip(start.type) or not isinstance(
            strip(to.type), Header | Union | Stack | Varbit | Struct
        ):
            p.fail(f"a {start.type} assigned to a {to.type}")
        return [ir.Assign(to, start)]

    def header_op(self, p: Node, op: str) -> list[ir.Stmt]:
        """``add_header`` and ``remove_header``; metadata is always valid."""
        place = self.x.place(p[0])
        if isinstance(strip(place.type), Struct):
            return []
        if not isinstance(strip(place.type), Header):
            p[0].fail("expected a header")
        return [ir.Eval(ir.HeaderOp(op, place, type=VOID))]  # type: ignore[arg-type]

    def shift(self, p: Node, op: str) -> list[ir.Stmt]:
        """``push`` and ``pop``."""
        place = self.x.place(p[0])
        t = strip(place.type)
        if not isinstance(t, Stack):
            p[0].fail("expected a stack")
        count = self.x.exact(p[1]) if len(p) > 1 else number(1)
        if not isinstance(count, ir.Const) or int(count.value) < 0:
            p[1].fail("expected a constant")
        return [ir.Eval(ir.HeaderOp(op, place, min(int(count.value), t.size), type=VOID))]  # type: ignore[arg-type]

    def arithmetic(self, p: Node, op: str) -> list[ir.Stmt]:
        """P4-14's primitives: ``add(to, a, b)`` and ``add_to_field(to, a)``."""
        place = self.number_place(p[0])
        left, right = (p[1], p[2]) if len(p) == 3 else (p[0], p[1])
        value = {"op": op, "left": left.value, "right": right.value}
        return [ir.Assign(place, self.x.stored(Node({"type": "expression", "value": value}, p.path), place.type))]

    # --- externs ------------------------------------------------------------------------------------------------

    def extern(self, node: Node, kind: str) -> ir.ExternInstance:
        """The counter, meter or register array of a parameter."""
        name = unwrapped(node)["value"].text
        return self.declared.externs.get((kind, name)) or node.fail(f"there is no {kind} array '{name[:80]}'")

    def count(self, p: Node) -> list[ir.Stmt]:
        """``count``."""
        return [call("count", ("in", self.x.unsigned(p[1], 32)), of=self.extern(p[0], "counter"), extern="counter")]

    def execute_meter(self, p: Node) -> list[ir.Stmt]:
        """``execute_meter``."""
        args: list[tuple[ir.Direction, ir.Expr]] = [("in", self.x.unsigned(p[1], 32)), ("out", self.number_place(p[2]))]
        return [call("execute_meter", *args, of=self.extern(p[0], "meter"), extern="meter")]

    def register_read(self, p: Node) -> list[ir.Stmt]:
        """``register_read``; a cell of another type than the field goes through a variable."""
        place, array, index = self.number_place(p[0]), self.extern(p[1], "register"), self.x.unsigned(p[2], 32)
        cell = array.type_args[0]
        if strip(place.type) == cell:
            return [call("read", ("out", place), ("in", index), of=array, extern="register")]
        between = ir.VarRef(ir.Var("cell", cell), type=cell)
        # An index out of range leaves the field as it is.
        keep = ir.Declare(between.var, convert(place, bits_of(between)))
        read = call("read", ("out", between), ("in", index), of=array, extern="register")
        return [keep, read, ir.Assign(place, convert(between, bits_of(place)))]

    def register_write(self, p: Node) -> list[ir.Stmt]:
        """``register_write``."""
        array = self.extern(p[0], "register")
        value = self.x.stored(p[2], array.type_args[0])
        return [call("write", ("in", self.x.unsigned(p[1], 32)), ("in", value), of=array, extern="register")]

    def random(self, p: Node) -> list[ir.Stmt]:
        """``modify_field_rng_uniform``."""
        place = self.number_place(p[0])
        low, high = (self.x.stored(p[i], place.type) for i in (1, 2))
        return [call("random", ("out", place), ("in", low), ("in", high))]

    def hash(self, p: Node) -> list[ir.Stmt]:
        """``modify_field_with_hash_based_offset``."""
        place = self.number_place(p[0])
        data, algo, payload = self.calculation(p[2])
        if payload:
            p[2].fail("a hash over the payload is not supported")
        base, size = self.x.unsigned(p[1], 64), self.x.unsigned(p[3], 64)
        wide = ir.VarRef(ir.Var("hash", Bits(64)), type=Bits(64))
        to = place if strip(place.type) == Bits(64) else wide
        args: list[tuple[ir.Direction, ir.Expr]] = [("out", to), ("in", algo), ("in", base), ("in", data), ("in", size)]
        made: list[ir.Stmt] = [call("hash", *args)]
        return (
            made
            if to is place
            else [ir.Declare(wide.var, None), *made, ir.Assign(place, convert(wide, bits_of(place)))]
        )

    def calculation(self, node: Node) -> tuple[ir.Expr, ir.Const, bool]:
        """Data and algorithm of a calculation, and whether the payload is part of it."""
        name = (node["value"] if isinstance(node.value, dict) else node).text
        found = self.declared.calculations.get(name) or node.fail(f"there is no calculation '{name[:80]}'")
        parts: list[ir.Expr] = []
        payload = False
        for item in found["input"]:
            word = item["type"].choice("field", "hexstr", "header", "payload")
            if word == "payload":
                payload = True
            elif word == "hexstr":
                parts.append(number(item["value"].hex, Bits(item["bitwidth"].number(1, 1 << 16))))
            else:
                parts.append(
                    self.x.layout.field(item["value"]) if word == "field" else self.x.layout.header(item["value"])
                )
        return compose(parts), algorithm(found["algo"]), payload

    # --- packets ------------------------------------------------------------------------------------------------

    def drop(self, p: Node) -> list[ir.Stmt]:
        """``drop`` and ``mark_to_drop``."""
        del p
        standard = self.x.layout.standard
        return [call("mark_to_drop", ("inout", ir.VarRef(standard, type=standard.type)))]

    def clone(self, p: Node, kind: str) -> list[ir.Stmt]:
        """The clones of ingress and egress."""
        args: list[tuple[ir.Direction, ir.Expr]] = [("in", member(CLONES, kind)), ("in", self.x.unsigned(p[0], 32))]
        fields = self.fields(p, 1)
        return [call("clone3", *args, ("in", compose(fields))) if fields else call("clone", *args)]

    def again(self, p: Node, method: str) -> list[ir.Stmt]:
        """``resubmit`` and ``recirculate``."""
        return [call(method, ("in", compose(self.fields(p, 0))))]

    def fields(self, p: Node, position: int) -> list[ir.Expr]:
        """The fields of the list that a parameter names; 0 is the empty one."""
        if len(p) <= position:
            return []
        node = unwrapped(p[position])["value"]
        number_ = node.hex
        if not number_:
            return []
        found = self.declared.field_lists.get(number_) or node.fail(f"there is no field list {number_}")
        return [self.x.place(e) for e in found["elements"] if e["type"].text != "hexstr"]

    def digest(self, p: Node) -> list[ir.Stmt]:
        """``generate_digest``."""
        node = unwrapped(p[1])["value"]
        found = self.declared.learn_lists.get(node.hex) or node.fail(f"there is no learn list {node.hex}")
        parts = [self.x.exact(e) for e in found["elements"]]
        if node.hex not in self._digests:
            words = [unwrapped(e)["value"][-1 + len(unwrapped(e)["value"])].text for e in found["elements"]]
            names = [word if words.count(word) == 1 else f"{word}_{i}" for i, word in enumerate(words)]
            fields = [Field(n, part.type) for n, part in zip(names, parts, strict=True)]
            self._digests[node.hex] = Struct(found["name"].text, fields=fields)
        data = ir.Compose(parts, type=self._digests[node.hex])
        receiver = self.x.unsigned(p[0], 32)
        return [call("digest", ("in", receiver), ("in", data), types=[data.type])]

    def truncate(self, p: Node) -> list[ir.Stmt]:
        """``truncate``."""
        return [call("truncate", ("in", self.x.unsigned(p[0], 32)))]

    def check(self, p: Node, method: str) -> list[ir.Stmt]:
        """``assert`` and ``assume``, which take a number."""
        test = self.x.boolean(p[0]) if self.x.kind(p[0]) == "bool" else self.x.truth(p[0])
        return [call(method, ("in", test))]

    def log(self, p: Node) -> list[ir.Stmt]:
        """``log_msg``."""
        text = ir.Const(p[0]["value"].text, type=STRING)
        values = [self.x.exact(v) for v in p[1]["value"]] if len(p) > 1 else []
        args: list[tuple[ir.Direction, ir.Expr]] = [("", text)]
        return [call("log_msg", *args, ("in", compose(values)))] if values else [call("log_msg", *args)]

    def nothing(self, p: Node) -> list[ir.Stmt]:
        """``no_op``."""
        del p
        return []


def compose(parts: list[ir.Expr]) -> ir.Expr:
    """Values side by side."""
    return ir.Compose(parts, type=Tuple(tuple(part.type for part in parts)))


def _with(rule: Callable[[Primitives, Node, str], list[ir.Stmt]], word: str) -> Rule:
    return lambda self, p: rule(self, p, word)


_RULES: Final[dict[str, Rule]] = {
    "assign": Primitives.assign,
    "modify_field": Primitives.assign,
    **dict.fromkeys(
        ("assign_VL", "assign_header", "copy_header", "assign_union", "assign_header_stack", "assign_union_stack"),
        Primitives.copy,
    ),
    "add_header": _with(Primitives.header_op, "setValid"),
    "add_header_fast": _with(Primitives.header_op, "setValid"),
    "remove_header": _with(Primitives.header_op, "setInvalid"),
    "push": _with(Primitives.shift, "push_front"),
    "pop": _with(Primitives.shift, "pop_front"),
    **{
        name: _with(Primitives.arithmetic, op)
        for name, op in {
            "add": "+", "add_to_field": "+", "subtract": "-", "subtract_from_field": "-", "bit_xor": "^", "bit_or": "|",
            "bit_and": "&", "shift_left": "<<", "shift_right": ">>",
        }.items()
    },
    "count": Primitives.count,
    "execute_meter": Primitives.execute_meter,
    "register_read": Primitives.register_read,
    "register_write": Primitives.register_write,
    "modify_field_rng_uniform": Primitives.random,
    "modify_field_with_hash_based_offset": Primitives.hash,
    "drop": Primitives.drop,
    "mark_to_drop": Primitives.drop,
    "clone_ingress_pkt_to_egress": _with(Primitives.clone, "I2E"),
    "clone_egress_pkt_to_egress": _with(Primitives.clone, "E2E"),
    "resubmit": _with(Primitives.again, "resubmit"),
    "recirculate": _with(Primitives.again, "recirculate"),
    "generate_digest": Primitives.digest,
    "truncate": Primitives.truncate,
    "assert": _with(Primitives.check, "assert"),
    "assume": _with(Primitives.check, "assume"),
    "log_msg": Primitives.log,
    "no_op": Primitives.nothing,
}  # fmt: skip
