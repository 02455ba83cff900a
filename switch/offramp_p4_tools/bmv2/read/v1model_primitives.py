# SPDX-License-Identifier: Apache-2.0
"""The primitives of bmv2's simple_switch as v1model's externs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from offramp_p4 import ir
from offramp_p4.types import STRING, Bits, strip
from offramp_p4_tools.bmv2.read.enums import CLONES, algorithm, call, member
from offramp_p4_tools.bmv2.read.expressions import unwrapped
from offramp_p4_tools.bmv2.read.nodes import MAX_SIZE, JsonNode
from offramp_p4_tools.bmv2.read.numbers import bits_of, convert, number
from offramp_p4_tools.bmv2.read.primitives import Primitives, Rule, compose, with_word
from offramp_p4_tools.bmv2.read.v1model_metadata import STANDARD

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.read.expressions import ExpressionReader


class V1modelPrimitives(Primitives):
    """Turns calls of simple_switch's primitives into statements.

    Attributes:
        externs: the arrays of the document, by kind and name.
        calls: the calls that compute each calculation, by its name.
    """

    rules: ClassVar[Mapping[str, Rule]]

    def __init__(
        self, expressions: ExpressionReader, document: JsonNode, externs: Mapping[tuple[str, str], ir.ExternInstance]
    ) -> None:
        super().__init__(expressions, document)
        self.externs = externs
        self.calls: dict[str, list[ir.ExternCall]] = {}
        self._calculations = {c["name"].text: c for c in document.each("calculations")}
        self._field_lists = {n["id"].number(0, MAX_SIZE): n for n in document.each("field_lists")}

    # --- externs ------------------------------------------------------------------------------------------------

    def extern(self, node: JsonNode, kind: str) -> ir.ExternInstance:
        """The counter, meter or register array of a parameter."""
        name = unwrapped(node)["value"].text
        return self.externs.get((kind, name)) or node.fail(f"there is no {kind} array '{name[:80]}'")

    def count(self, p: JsonNode) -> list[ir.Stmt]:
        """``count``."""
        return [call("count", ("in", self.x.unsigned(p[1], 32)), of=self.extern(p[0], "counter"), extern="counter")]

    def execute_meter(self, p: JsonNode) -> list[ir.Stmt]:
        """``execute_meter``."""
        args: list[tuple[ir.Direction, ir.Expr]] = [("in", self.x.unsigned(p[1], 32)), ("out", self.number_place(p[2]))]
        return [call("execute_meter", *args, of=self.extern(p[0], "meter"), extern="meter")]

    def register_read(self, p: JsonNode) -> list[ir.Stmt]:
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

    def register_write(self, p: JsonNode) -> list[ir.Stmt]:
        """``register_write``."""
        array = self.extern(p[0], "register")
        value = self.x.stored(p[2], array.type_args[0])
        return [call("write", ("in", self.x.unsigned(p[1], 32)), ("in", value), of=array, extern="register")]

    def random(self, p: JsonNode) -> list[ir.Stmt]:
        """``modify_field_rng_uniform``."""
        place = self.number_place(p[0])
        low, high = (self.x.stored(p[i], place.type) for i in (1, 2))
        return [call("random", ("out", place), ("in", low), ("in", high))]

    def hash(self, p: JsonNode) -> list[ir.Stmt]:
        """``modify_field_with_hash_based_offset``."""
        place = self.number_place(p[0])
        data, algo, payload = self.calculation(p[2])
        if payload:
            p[2].fail("a hash over the payload is not supported")
        base, size = self.x.unsigned(p[1], 64), self.x.unsigned(p[3], 64)
        wide = ir.VarRef(ir.Var("hash", Bits(64)), type=Bits(64))
        to = place if strip(place.type) == Bits(64) else wide
        args: list[tuple[ir.Direction, ir.Expr]] = [("out", to), ("in", algo), ("in", base), ("in", data), ("in", size)]
        statements: list[ir.Stmt] = [self.calculated(p[2], call("hash", *args))]
        return (
            statements
            if to is place
            else [ir.Declare(wide.var, None), *statements, ir.Assign(place, convert(wide, bits_of(place)))]
        )

    def calculated(self, node: JsonNode, statement: ir.Eval) -> ir.Stmt:
        """Note that a statement computes the calculation that ``node`` names."""
        if isinstance(statement.expr, ir.ExternCall):
            self.calls.setdefault(_name(node), []).append(statement.expr)
        return statement

    def calculation(self, node: JsonNode) -> tuple[ir.Expr, ir.Const, bool]:
        """Data and algorithm of a calculation, and whether the payload is part of it."""
        name = _name(node)
        entry = self._calculations.get(name) or node.fail(f"there is no calculation '{name[:80]}'")
        parts: list[ir.Expr] = []
        payload = False
        for item in entry["input"]:
            word = item["type"].choice("field", "hexstr", "header", "payload")
            if word == "payload":
                payload = True
            elif word == "hexstr":
                parts.append(number(item["value"].hex, Bits(item["bitwidth"].number(1, 1 << 16))))
            else:
                parts.append(
                    self.x.layout.field(item["value"]) if word == "field" else self.x.layout.header(item["value"])
                )
        return compose(parts), algorithm(entry["algo"]), payload

    # --- packets ------------------------------------------------------------------------------------------------

    def drop(self, p: JsonNode) -> list[ir.Stmt]:
        """``drop`` and ``mark_to_drop``."""
        del p
        standard = self.x.layout.standard[STANDARD]
        return [call("mark_to_drop", ("inout", ir.VarRef(standard, type=standard.type)))]

    def clone(self, p: JsonNode, kind: str) -> list[ir.Stmt]:
        """The clones of ingress and egress."""
        args: list[tuple[ir.Direction, ir.Expr]] = [("in", member(CLONES, kind)), ("in", self.x.unsigned(p[0], 32))]
        fields = self.fields(p, 1)
        return [call("clone3", *args, ("in", compose(fields))) if fields else call("clone", *args)]

    def again(self, p: JsonNode, method: str) -> list[ir.Stmt]:
        """``resubmit`` and ``recirculate``."""
        return [call(method, ("in", compose(self.fields(p, 0))))]

    def fields(self, p: JsonNode, position: int) -> list[ir.Expr]:
        """The fields of the list that a parameter names; 0 is the empty one."""
        if len(p) <= position:
            return []
        node = unwrapped(p[position])["value"]
        number_ = node.hex
        if not number_:
            return []
        field_list = self._field_lists.get(number_) or node.fail(f"there is no field list {number_}")
        return [self.x.place(e) for e in field_list["elements"] if e["type"].text != "hexstr"]

    def digest(self, p: JsonNode) -> list[ir.Stmt]:
        """``generate_digest``."""
        data = self.learned(p[1])
        receiver = self.x.unsigned(p[0], 32)
        return [call("digest", ("in", receiver), ("in", data), types=[data.type])]

    def truncate(self, p: JsonNode) -> list[ir.Stmt]:
        """``truncate``."""
        return [call("truncate", ("in", self.x.unsigned(p[0], 32)))]

    def log(self, p: JsonNode) -> list[ir.Stmt]:
        """``log_msg``."""
        text = ir.Const(p[0]["value"].text, type=STRING)
        listed = len(p) > 1 and p[1]["value"].value != {}  # p4c writes an object where there is nothing to say
        values = [self._logged(v) for v in p[1]["value"]] if listed else []
        args: list[tuple[ir.Direction, ir.Expr]] = [("", text)]
        return [call("log_msg", *args, ("in", compose(values)))] if values else [call("log_msg", *args)]

    def _logged(self, node: JsonNode) -> ir.Expr:
        """A number, or what p4c passes whole: headers, and standard metadata as one of them."""
        if self.x.kind(node) in {"number", "bool"}:
            return self.x.exact(node)
        standard = self.x.layout.standard[STANDARD]
        if node["type"].text == "header" and node["value"].value == STANDARD:
            return ir.VarRef(standard, type=standard.type)
        return self.x.place(node)


def _name(node: JsonNode) -> str:
    """The name of the calculation that a primitive or a checksum refers to."""
    return (node["value"] if isinstance(node.value, dict) else node).text


_OWN: Final[dict[str, Rule]] = {
    "count": V1modelPrimitives.count,
    "execute_meter": V1modelPrimitives.execute_meter,
    "register_read": V1modelPrimitives.register_read,
    "register_write": V1modelPrimitives.register_write,
    "modify_field_rng_uniform": V1modelPrimitives.random,
    "modify_field_with_hash_based_offset": V1modelPrimitives.hash,
    "drop": V1modelPrimitives.drop,
    "mark_to_drop": V1modelPrimitives.drop,
    "clone_ingress_pkt_to_egress": with_word(V1modelPrimitives.clone, "I2E"),
    "clone_egress_pkt_to_egress": with_word(V1modelPrimitives.clone, "E2E"),
    "resubmit": with_word(V1modelPrimitives.again, "resubmit"),
    "recirculate": with_word(V1modelPrimitives.again, "recirculate"),
    "generate_digest": V1modelPrimitives.digest,
    "truncate": V1modelPrimitives.truncate,
    "log_msg": V1modelPrimitives.log,
}  # fmt: skip
V1modelPrimitives.rules = {**Primitives.rules, **_OWN}
