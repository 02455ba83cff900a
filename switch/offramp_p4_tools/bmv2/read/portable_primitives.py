# SPDX-License-Identifier: Apache-2.0
"""The primitives of bmv2's psa_switch and pna_nic as the externs of PSA and PNA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from offramp_p4 import ir
from offramp_p4.types import BOOL, Bits
from offramp_p4_tools.bmv2.read.enums import call, called
from offramp_p4_tools.bmv2.read.expressions import unwrapped
from offramp_p4_tools.bmv2.read.nodes import JsonNode
from offramp_p4_tools.bmv2.read.numbers import bits_of, convert, number
from offramp_p4_tools.bmv2.read.portable_externs import INDEX, Objects
from offramp_p4_tools.bmv2.read.portable_types import enum
from offramp_p4_tools.bmv2.read.primitives import Primitives, Rule, compose, with_word
from offramp_p4_tools.bmv2.words import COLOURS

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.read.expressions import ExpressionReader

_SUM: Final = Bits(16)


class PortablePrimitives(Primitives):
    """Turns calls of psa_switch's and pna_nic's primitives into statements.

    Attributes:
        externs: the extern objects of the document, by kind and name.
        undeclared: objects that a document does not declare: digests, and random numbers that a call describes.
    """

    rules: ClassVar[Mapping[str, Rule]]

    def __init__(
        self, expressions: ExpressionReader, document: JsonNode, externs: Objects, kind: str, p4info: Any | None
    ) -> None:
        super().__init__(expressions, document)
        self.externs, self.undeclared = externs, Objects()
        self._colour = enum(kind, "MeterColor")
        self._digest_names = _digest_names(p4info)

    def extern(self, node: JsonNode, kind: str) -> ir.ExternInstance:
        """The object that a parameter names."""
        name = unwrapped(node)["value"]
        return self.externs.get((kind, name.text)) or name.fail(f"there is no {kind} '{name.text[:80]}'")

    def _set(self, place: ir.Expr, value: ir.Expr) -> ir.Stmt:
        return ir.Assign(place, convert(value, bits_of(place)))

    def _within(self, index: ir.Expr, i: ir.ExternInstance, statement: ir.Stmt) -> ir.Stmt:
        """The statement, guarded by a test of its index: past the end, bmv2 leaves the destination as it is."""
        last = i.args[0]
        assert isinstance(last, ir.Const)
        if int(last.value) > INDEX.mask:
            return statement
        test = ir.Binary("<", index, number(int(last.value), INDEX), type=BOOL)
        return ir.If(test, ir.Block([statement]), None)

    # --- counters, meters, registers ---------------------------------------------------------------------------

    def count(self, p: JsonNode) -> list[ir.Stmt]:
        """``count`` of a counter."""
        i = self.extern(p[0], "Counter")
        return [call("count", ("in", self.x.unsigned(p[1], INDEX.width)), of=i, extern="Counter")]

    def execute(self, p: JsonNode) -> list[ir.Stmt]:
        """``execute`` of a meter; its colours are those of P4's enum."""
        i, index, place = self.extern(p[0], "Meter"), self.x.unsigned(p[1], INDEX.width), self.number_place(p[2])
        return [self._within(index, i, self._set(place, self._coloured(i, self._colour.members, ("in", index))))]

    def colour(self, i: ir.ExternInstance) -> ir.Expr:
        """The colour of a direct meter as bmv2's number."""
        return self._coloured(i, COLOURS)

    def _coloured(
        self, i: ir.ExternInstance, numbers: Mapping[str, int], *args: tuple[ir.Direction, ir.Expr]
    ) -> ir.Expr:
        t = Bits(32)
        colour_call = called(self._colour, "execute", *args, of=i, extern=i.extern)
        ways = {n: ir.Const(value, type=self._colour) for n, value in self._colour.members.items()}
        variable = ir.VarRef(ir.Var("colour", self._colour), type=self._colour)
        self.x.before.append(ir.Declare(variable.var, colour_call))
        result: ir.Expr = number(numbers["RED"], t)
        for name in ("YELLOW", "GREEN"):
            test = ir.Binary("==", variable, ways[name], type=BOOL)
            result = ir.Mux(test, number(numbers[name], t), result, type=t)
        return result

    def read(self, p: JsonNode) -> list[ir.Stmt]:
        """``register_read``."""
        place, i, index = self.number_place(p[0]), self.extern(p[1], "register"), self.x.unsigned(p[2], INDEX.width)
        value = called(i.type_args[0], "read", ("in", index), of=i, extern="Register")
        return [self._within(index, i, self._set(place, value))]

    def write(self, p: JsonNode) -> list[ir.Stmt]:
        """``register_write``."""
        i = self.extern(p[0], "register")
        value = self.x.stored(p[2], i.type_args[0])
        return [call("write", ("in", self.x.unsigned(p[1], INDEX.width)), ("in", value), of=i, extern="Register")]

    # --- functions ---------------------------------------------------------------------------------------------

    def get_hash(self, p: JsonNode) -> list[ir.Stmt]:
        """``get_hash`` of all that an algorithm gives."""
        i, place, data = self.extern(p[0], "Hash"), self.number_place(p[1]), self._fields(p[2])
        return [self._set(place, self._hashed(i, place, ("in", data)))]

    def get_hash_mod(self, p: JsonNode) -> list[ir.Stmt]:
        """``get_hash`` within a range."""
        i, place, data = self.extern(p[0], "Hash"), self.number_place(p[1]), self._fields(p[3])
        base, most = (self.x.unsigned(p[at], 64) for at in (2, 4))
        return [self._set(place, self._hashed(i, place, ("in", base), ("in", data), ("in", most)))]

    def _hashed(self, i: ir.ExternInstance, place: ir.Expr, *args: tuple[ir.Direction, ir.Expr]) -> ir.Expr:
        return called(Bits(bits_of(place).width), "get_hash", *args, of=i, extern="Hash")

    def _fields(self, node: JsonNode) -> ir.Expr:
        node["type"].choice("field_list")
        value = node["value"]
        parts = [value] if isinstance(value.value, dict) else list(value)  # of one field p4c makes no list
        for part in parts:
            part["type"].choice("field")  # another has no width
        return compose([self.x.layout.field(part["value"]) for part in parts])

    def sum_up(self, p: JsonNode, method: str) -> list[ir.Stmt]:
        """``add`` and ``subtract`` of an Internet checksum."""
        i = self.extern(p[0], "InternetChecksum")
        return [call(method, ("in", self._fields(p[1])), of=i, extern="InternetChecksum")]

    def sum_state(self, p: JsonNode, method: str) -> list[ir.Stmt]:
        """``clear`` and ``set_state`` of an Internet checksum."""
        i = self.extern(p[0], "InternetChecksum")
        args: list[tuple[ir.Direction, ir.Expr]] = [("in", self.x.stored(p[1], _SUM))] if len(p) > 1 else []
        return [call(method, *args, of=i, extern="InternetChecksum", types=[])]

    def sum_result(self, p: JsonNode, method: str) -> list[ir.Stmt]:
        """``get`` and ``get_state`` of an Internet checksum."""
        return [self._set(self.number_place(p[1]), self._sum(p[0], method))]

    def sum_verify(self, p: JsonNode) -> list[ir.Stmt]:
        """``get_verify``: whether a field is what the checksum says."""
        same = ir.Binary("==", self._sum(p[0], "get"), self.x.unsigned(p[2], _SUM.width), type=BOOL)
        return [self._set(self.number_place(p[1]), ir.Cast(same, type=Bits(1)))]

    def _sum(self, node: JsonNode, method: str) -> ir.Expr:
        return called(_SUM, method, of=self.extern(node, "InternetChecksum"), extern="InternetChecksum", types=[])

    def random(self, p: JsonNode) -> list[ir.Stmt]:
        """``read`` of an object for random numbers."""
        return [self._drawn(self.extern(p[0], "Random"), self.number_place(p[1]))]

    def random_between(self, p: JsonNode) -> list[ir.Stmt]:
        """``modify_field_rng_uniform``, which compilers write for such an object."""
        place, bounds = self.number_place(p[0]), [self.x.exact(p[i]) for i in (1, 2)]
        low, high = (b if isinstance(b, ir.Const) else p.fail("random numbers with computed bounds") for b in bounds)
        if int(low.value) > int(high.value):
            p.fail(f"no random numbers of {low.value} to {high.value}")
        name = f"random_{low.value}_{high.value}"
        args: list[ir.Expr | ir.ExternInstance | None] = [low, high]
        source = self.undeclared.setdefault(
            ("Random", name), ir.ExternInstance("Random", name, [Bits(64)], args, ["min", "max"])
        )
        return [self._drawn(source, place)]

    def _drawn(self, i: ir.ExternInstance, place: ir.Expr) -> ir.Stmt:
        high = i.args[1]
        assert isinstance(high, ir.Const)
        t = Bits(max(1, int(high.value).bit_length()))
        return self._set(place, called(t, "read", of=i, extern="Random", types=[]))

    # --- packets -----------------------------------------------------------------------------------------------

    def digest(self, p: JsonNode) -> list[ir.Stmt]:
        """``generate_digest`` with a learn list, possibly preceded by a receiver; list 0 means none."""
        return self._digest(p[len(p) - 1])

    def _digest(self, node: JsonNode) -> list[ir.Stmt]:
        node = unwrapped(node)
        if node["type"].text == "expression" and node["value"]["op"].choice("?"):
            ways = [ir.Block(self._digest(node["value"][side])) for side in ("left", "right")]
            return [ir.If(self.x.boolean(node["value"]["cond"]), *ways)]
        if not node["value"].hex:
            return []
        data = self.learned(node)
        listed = str(data.type)
        name = self._digest_names.get(listed, listed)
        digest = self.undeclared.setdefault(("Digest", name), ir.ExternInstance("Digest", name, [data.type], [], []))
        return [call("pack", ("in", data), of=digest, extern="Digest", types=[])]

    def send(self, p: JsonNode) -> list[ir.Stmt]:
        """``send_to_port`` of a card."""
        return [call("send_to_port", ("in", self.x.unsigned(p[0], 32)), types=[])]

    def drop(self, p: JsonNode) -> list[ir.Stmt]:
        """``drop_packet`` of a card."""
        del p
        return [call("drop_packet", types=[])]


def _digest_names(p4info: Any | None) -> dict[str, str]:
    """The names of digests by those of the structs that they are, which are the names of learn lists."""
    if p4info is None:
        return {}
    return {d.type_spec.struct.name: d.preamble.name for d in p4info.digests if d.type_spec.struct.name}


_OWN: Final[dict[str, Rule]] = {
    "set": Primitives.assign,
    "count": PortablePrimitives.count,
    "_Counter_count": PortablePrimitives.count,
    "_Meter_execute": PortablePrimitives.execute,
    "register_read": PortablePrimitives.read,
    "register_write": PortablePrimitives.write,
    "_Hash_get_hash": PortablePrimitives.get_hash,
    "_Hash_get_hash_mod": PortablePrimitives.get_hash_mod,
    "_InternetChecksum_clear": with_word(PortablePrimitives.sum_state, "clear"),
    "_InternetChecksum_set_state": with_word(PortablePrimitives.sum_state, "set_state"),
    "_InternetChecksum_add": with_word(PortablePrimitives.sum_up, "add"),
    "_InternetChecksum_subtract": with_word(PortablePrimitives.sum_up, "subtract"),
    "_InternetChecksum_get": with_word(PortablePrimitives.sum_result, "get"),
    "_InternetChecksum_get_state": with_word(PortablePrimitives.sum_result, "get_state"),
    "_InternetChecksum_get_verify": PortablePrimitives.sum_verify,
    "_Random_read": PortablePrimitives.random,
    "modify_field_rng_uniform": PortablePrimitives.random_between,
    "generate_digest": PortablePrimitives.digest,
}
PortablePrimitives.rules = {**Primitives.rules, **_OWN}
CARD_RULES: Final[dict[str, Rule]] = {
    "send_to_port": PortablePrimitives.send,
    "drop_packet": PortablePrimitives.drop,
}
"""Primitives of a card (PNA) alone."""
