# SPDX-License-Identifier: Apache-2.0
"""Calls of the externs of PSA and PNA as the primitives of bmv2's psa_switch and pna_nic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Final

from offramp_p4 import constructor, ir
from offramp_p4.engine import walk
from offramp_p4.engine.core import argument, instance
from offramp_p4.portable.functions import RECIRCULATE
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, Bits, Structure, Varbit, strip
from offramp_p4_tools.bmv2.words import COLOURS
from offramp_p4_tools.bmv2.write.expressions import hexstr, is_place
from offramp_p4_tools.bmv2.write.externs import ExternWriter, Rule, packed_width
from offramp_p4_tools.bmv2.write.places import (
    ComputedField,
    FieldAt,
    HeaderAt,
    Json,
    Place,
    StackAt,
    UnionAt,
    ValueGroup,
    operation,
)

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.statements import StatementWriter

_WORD: Final = 16
"""Bits that an Internet checksum adds up at a time."""
_SUM: Final = "InternetChecksum"


class PortableExternWriter(ExternWriter):
    """Writes calls of the externs of PSA and PNA."""

    rules: ClassVar[Mapping[tuple[str, str], Rule]]

    # --- counters, meters, registers ------------------------------------------------------------------------

    def count(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``count`` of a counter."""
        _only(e, 1)
        s.primitive("_Counter_count", extern(instance(e)), s.expressions.value(s.pure(argument(e, 0))), pos=e.pos)

    def count_entry(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``count`` of a direct counter: bmv2 counts every hit unasked."""
        del s
        _only(e, 0)

    def execute(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr:
        """``execute`` of a meter; beyond the last one bmv2 leaves the colour as it is, which must be green then."""
        _only(e, 1)
        i, index = instance(e), s.pure(argument(e, 0))
        green = _member(e, "GREEN") if _may_miss(index, constructor.number(i, "n_meters")) else None
        return self._result(
            s, e, green, lambda to: s.primitive("_Meter_execute", extern(i), s.expressions.value(index), to, pos=e.pos)
        )

    def execute_entry(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr:
        """``execute`` of a direct meter: bmv2 has left a number for the colour in a field of ours."""
        _only(e, 0)
        result = s.variable(e.type, "color", e.pos)
        number = Bits(32)
        left = ir.VarRef(self.document.colour(instance(e)), type=number, pos=e.pos)
        colour: ir.Expr = _member(e, "RED")
        for name in ("YELLOW", "GREEN"):
            test = ir.Binary("==", left, ir.Const(COLOURS[name], type=number), type=BOOL, pos=e.pos)
            colour = ir.Mux(test, _member(e, name), colour, type=e.type, pos=e.pos)
        s.run(ir.Assign(result, colour, pos=e.pos))
        return result

    def read(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr:
        """``read`` of a register; a cell that is not there reads 0."""
        i, index = instance(e), s.pure(argument(e, 0))
        array: Json = {"type": "register_array", "value": i.name}
        nothing = ir.Const(0, type=e.type) if _may_miss(index, constructor.number(i, "size")) else None
        return self._result(
            s, e, nothing, lambda to: s.primitive("register_read", to, array, s.expressions.value(index), pos=e.pos)
        )

    def write(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``write`` of a register."""
        index_and_value = [s.pure(argument(e, i)) for i in range(2)]
        array: Json = {"type": "register_array", "value": instance(e).name}
        s.primitive("register_write", array, *(s.expressions.value(v) for v in index_and_value), pos=e.pos)

    def _result(
        self, s: StatementWriter, e: ir.ExternCall, first: ir.Expr | None, write: Callable[[Json], None]
    ) -> ir.Expr:
        """A variable that ``write`` fills; it holds ``first`` before."""
        result = s.variable(e.type, e.method, e.pos)
        place = s.expressions.place(result)
        if not isinstance(place, FieldAt):
            raise Unsupported(e.pos, f"{e.extern}.{e.method} of {e.type}, in bmv2's JSON")
        if first is not None:
            s.store(place, first, e.pos)
        write(place.json)
        return result

    # --- functions ------------------------------------------------------------------------------------------

    def get_hash(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr:
        """``get_hash``, of all that the algorithm gives or within a range."""
        name = extern(instance(e))
        if len(e.args) == 1:
            fields = self._field_list(s, argument(e, 0))
            return self._result(s, e, None, lambda to: s.primitive("_Hash_get_hash", name, to, fields, pos=e.pos))
        base, data, most = (s.pure(argument(e, i)) for i in range(3))
        fields = self._field_list(s, data)
        low, top = s.expressions.value(base), s.expressions.value(most)
        if not isinstance(most, ir.Const):
            top = operation("?", top, hexstr(1), cond=operation("!=", top, hexstr(0)))
        elif not most.value:
            top = hexstr(1)
        return self._result(
            s, e, None, lambda to: s.primitive("_Hash_get_hash_mod", name, to, low, fields, top, pos=e.pos)
        )

    def _field_list(self, s: StatementWriter, data: ir.Expr, unit: int = 1) -> Json:
        """Data as fields and nothing else, with zeros behind them up to a multiple of ``unit`` bits."""
        fields = [f for part in _leaves(s.pure(data)) for f in _fields(self._place(s, part), data)]
        more = -sum(packed_width(f.type) for f in fields) % unit
        if more:
            fields += _fields(self._place(s, ir.Const(0, type=Bits(more), pos=data.pos)), data)
        return {"type": "field_list", "value": [f.json for f in fields]}

    def _place(self, s: StatementWriter, part: ir.Expr) -> Place:
        """The place of a value; a value without a place, or with one known at run time only, is saved in a variable."""
        if is_place(part):
            place = s.expressions.place(s.pure_place(part))
            if not isinstance(place, ComputedField) and getattr(place, "name", "") is not None:
                return place
        return s.expressions.place(s.saved(part))

    def clear_sums(self, s: StatementWriter, block: ir.ParserInstance | ir.ControlInstance) -> None:
        """Set the checksums of a block to 0 first: bmv2 keeps their values from the packet before."""
        for i in self._sums(block):
            s.primitive("_InternetChecksum_clear", extern(i), pos=i.pos)

    def _sums(self, block: ir.ParserInstance | ir.ControlInstance) -> list[ir.ExternInstance]:
        nodes = chain.from_iterable(walk.nodes(each, into_declarations=True) for each in walk.applied(block))
        calls = (n for n in nodes if isinstance(n, ir.ExternCall))
        return list(dict.fromkeys(instance(e) for e in calls if e.extern == _SUM))

    def sum_up(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``add`` and ``subtract`` of an Internet checksum."""
        fields = self._field_list(s, argument(e, 0), _WORD)
        s.primitive(f"_InternetChecksum_{e.method}", extern(instance(e)), fields, pos=e.pos)

    def sum_state(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``clear`` and ``set_state`` of an Internet checksum."""
        arguments = [s.expressions.value(s.pure(argument(e, i))) for i in range(len(e.args))]
        s.primitive(f"_InternetChecksum_{e.method}", extern(instance(e)), *arguments, pos=e.pos)

    def sum_result(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr:
        """``get`` and ``get_state`` of an Internet checksum."""
        name = extern(instance(e))
        return self._result(s, e, None, lambda to: s.primitive(f"_InternetChecksum_{e.method}", name, to, pos=e.pos))

    def random(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr:
        """``read`` of random numbers."""
        low, high = (hexstr(constructor.number(instance(e), name)) for name in ("min", "max"))
        return self._result(s, e, None, lambda to: s.primitive("modify_field_rng_uniform", to, low, high, pos=e.pos))

    def select(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr:
        """``SelectByDirection``, given whether the packet comes from the network."""
        direction, from_net, from_host = (s.pure(argument(e, i)) for i in range(3))
        if strip(direction.type) != BOOL:
            raise Unsupported(e.pos, f"{e.method} by {direction.type}, in bmv2's JSON")
        return s.pure(ir.Mux(direction, from_net, from_host, type=e.type, pos=e.pos))

    # --- packets --------------------------------------------------------------------------------------------

    def digest(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``pack`` of a digest, for receiver 0: psa_switch does not load p4c's form, without a receiver."""
        number = self.learn_list(s, argument(e, 0), instance(e).name)
        s.primitive("generate_digest", hexstr(0), hexstr(number), pos=e.pos)

    def send(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``send_to_port`` of a card, and ``drop_packet``."""
        s.primitive(e.method, *(s.expressions.value(s.pure(a.expr)) for a in e.args if a.expr is not None), pos=e.pos)

    def flag(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr:
        """The value of a function by which a deparser asks for the packet's path, such as ``psa_clone_i2e``."""
        del s
        word = e.method.removeprefix("psa_")
        if word == "recirculate":
            port = _part(e, 1, "egress_port")
            loop = ir.Const(RECIRCULATE, type=port.type, pos=e.pos)
            return _and(_not(_part(e, 0, "drop")), ir.Binary("==", port, loop, type=BOOL, pos=e.pos))
        if word.startswith("clone"):
            return _part(e, 0, "clone")
        again = _part(e, 0, "resubmit")
        return _and(_not(_part(e, 0, "drop")), again if word == "resubmit" else _not(again))


def extern(i: ir.ExternInstance) -> Json:
    """An extern object as a parameter of a primitive."""
    return {"type": "extern", "value": i.name}


def _only(e: ir.ExternCall, count: int) -> None:
    if len(e.args) > count:
        raise Unsupported(e.pos, f"{e.extern}.{e.method} with {len(e.args)} arguments, in bmv2's JSON")


def _may_miss(index: ir.Expr, size: int) -> bool:
    t = strip(index.type)
    if isinstance(index, ir.Const) and isinstance(index.value, int):
        return index.value >= size
    return not isinstance(t, Bits) or t.mask >= size


def _member(e: ir.ExternCall, name: str) -> ir.Const:
    members: Mapping[str, int] = getattr(strip(e.type), "members", {})
    if name not in members:
        raise Unsupported(e.pos, f"{e.extern}.{e.method} of {e.type}, in bmv2's JSON")
    return ir.Const(members[name], type=e.type, pos=e.pos)


def _leaves(e: ir.Expr) -> list[ir.Expr]:
    return [leaf for part in e.parts for leaf in _leaves(part)] if isinstance(e, ir.Compose) else [e]


def _fields(place: Place, data: ir.Expr) -> list[FieldAt]:
    """The numbers of a place; plain enums and errors are none."""
    if isinstance(place, FieldAt):
        if isinstance(strip(place.type), Varbit):
            raise Unsupported(data.pos, "a field of variable length in a hash or checksum, in bmv2's JSON")
        return [place] if packed_width(place.type) else []
    parts: Sequence[Place] = ()
    if isinstance(place, HeaderAt):
        parts = [place.member(i) for i in range(len(place.type.fields))]
    elif isinstance(place, ValueGroup):
        parts = place.parts
    elif isinstance(place, StackAt):
        parts = place.elements
    elif isinstance(place, UnionAt):
        parts = place.members
    return [f for part in parts for f in _fields(part, data)]


def _part(e: ir.ExternCall, position: int, name: str) -> ir.Expr:
    arg = argument(e, position)
    t = strip(arg.type)
    if not isinstance(t, Structure) or name not in t.index:
        raise Unsupported(e.pos, f"{e.method} of {t}, which has no {name}")
    return ir.Member(arg, t.index[name], type=strip(t.fields[t.index[name]].type), pos=e.pos)


def _not(e: ir.Expr) -> ir.Expr:
    return ir.Unary("!", e, type=BOOL, pos=e.pos)


def _and(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Binary("&&", left, right, type=BOOL, pos=left.pos)


_OWN: Final[dict[tuple[str, str], Rule]] = {
    ("Counter", "count"): PortableExternWriter.count,
    ("DirectCounter", "count"): PortableExternWriter.count_entry,
    ("Meter", "execute"): PortableExternWriter.execute,
    ("DirectMeter", "execute"): PortableExternWriter.execute_entry,
    ("Register", "read"): PortableExternWriter.read,
    ("Register", "write"): PortableExternWriter.write,
    ("Hash", "get_hash"): PortableExternWriter.get_hash,
    (_SUM, "clear"): PortableExternWriter.sum_state,
    (_SUM, "set_state"): PortableExternWriter.sum_state,
    (_SUM, "add"): PortableExternWriter.sum_up,
    (_SUM, "subtract"): PortableExternWriter.sum_up,
    (_SUM, "get"): PortableExternWriter.sum_result,
    (_SUM, "get_state"): PortableExternWriter.sum_result,
    ("Random", "read"): PortableExternWriter.random,
    ("Digest", "pack"): PortableExternWriter.digest,
    ("", "send_to_port"): PortableExternWriter.send,
    ("", "drop_packet"): PortableExternWriter.send,
    ("", "SelectByDirection"): PortableExternWriter.select,
    **dict.fromkeys(
        [("", f"psa_{word}") for word in ("clone_i2e", "clone_e2e", "resubmit", "normal", "recirculate")],
        PortableExternWriter.flag,
    ),
}
PortableExternWriter.rules = {**ExternWriter.rules, **_OWN}
