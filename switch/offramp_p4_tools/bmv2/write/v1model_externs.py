# SPDX-License-Identifier: Apache-2.0
"""Calls of v1model's externs as the primitives of bmv2's simple_switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.source import Unsupported
from offramp_p4.types import Enum
from offramp_p4.v1model.fields import field_lists
from offramp_p4.v1model.log_text import message_of, spread
from offramp_p4.v1model.objects import register_width
from offramp_p4_tools.bmv2.write.expressions import hexstr, is_place, parameter
from offramp_p4_tools.bmv2.write.externs import ExternWriter, Rule, scalars
from offramp_p4_tools.bmv2.write.places import FieldAt, Json, Place, ValueGroup

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.document import Document
    from offramp_p4_tools.bmv2.write.statements import StatementWriter

STANDARD: Final = "standard_metadata"
_ARRAYS: Final = {
    ("register", "read"): "register_read",
    ("register", "write"): "register_write",
    ("counter", "count"): "count",
    ("meter", "execute_meter"): "execute_meter",
}


class V1modelExterns(ExternWriter):
    """Writes calls of v1model's externs.

    Args:
        document: state that the blocks share.
        metadata: the user metadata.
    """

    rules: ClassVar[Mapping[tuple[str, str], Rule]]

    def __init__(self, document: Document, metadata: ValueGroup) -> None:
        super().__init__(document)
        self._metadata = metadata
        self._numbered: dict[int, int] = {}

    # --- arrays ---------------------------------------------------------------------------------------------

    def array(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """Registers, counters and meters."""
        assert isinstance(e.target, ir.ExternInstance)
        if e.extern == "register":
            register_width(e.target)  # refuses one of structures, at its declaration
        name: Json = {"type": f"{e.extern}_array", "value": e.target.name}
        x, op = s.expressions, _ARRAYS[e.extern, e.method]
        if e.method == "read":
            index = x.value(s.pure(argument(e, 1)))
            self.into(s, argument(e, 0), lambda to: s.primitive(op, to, name, index, pos=e.pos))
        elif e.method == "execute_meter":
            index = x.value(s.pure(argument(e, 0)))
            self.into(s, argument(e, 1), lambda to: s.primitive(op, name, index, to, pos=e.pos))
        else:
            arguments = [s.pure(argument(e, i)) for i in range(len(e.args))]
            s.primitive(op, name, *(x.value(v) for v in arguments), pos=e.pos)

    def direct_meter(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``direct_meter.read``: bmv2 has left the colour in a field of ours."""
        assert isinstance(e.target, ir.ExternInstance)
        result = argument(e, 0)
        colour = ir.VarRef(self.document.colour(e.target), type=result.type, pos=e.pos)
        s.run(ir.Assign(result, colour, pos=e.pos))

    def nothing(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """Writes nothing: bmv2 counts every hit by itself."""

    # --- packets --------------------------------------------------------------------------------------------

    def drop(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``mark_to_drop``, with or without the metadata."""
        s.primitive("mark_to_drop", {"type": "header", "value": STANDARD}, pos=e.pos)

    def clone(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``clone`` and its kin."""
        kind = argument(e, 0)
        if not isinstance(kind, ir.Const) or not isinstance(kind.type, Enum):
            raise Unsupported(e.pos, "a clone type that is not a constant")
        side = "ingress" if kind.type.member(int(kind.value)) == "I2E" else "egress"
        session = s.expressions.value(s.pure(argument(e, 1)))
        s.primitive(f"clone_{side}_pkt_to_egress", session, hexstr(self._fields(s, e, 2)), pos=e.pos)

    def again(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``resubmit`` and ``recirculate``."""
        op = e.method.removesuffix("_preserving_field_list")
        s.primitive(op, hexstr(self._fields(s, e, 0)), pos=e.pos)

    def _fields(self, s: StatementWriter, e: ir.ExternCall, position: int) -> int:
        """The number of the list of fields that a copy keeps; never 0, which bmv2 takes as "do not resubmit"."""
        if position >= len(e.args):
            return self._field_list([])
        data = argument(e, position)
        if not e.method.endswith("_preserving_field_list"):
            leaves = self._leaves(s, data)
            return self._field_list([{"type": "field", "value": [f.header, f.field]} for f in leaves])
        if not isinstance(data, ir.Const):
            raise Unsupported(e.pos, "a field list whose number is not a constant, in bmv2's JSON")
        number = int(data.value)
        if number not in self._numbered:
            self._numbered[number] = self._field_list([f.json for f in self._marked(number)])
        return self._numbered[number]

    def _marked(self, number: int) -> list[FieldAt]:
        """The fields of user metadata with ``@field_list(number)``."""
        out: list[FieldAt] = []
        metadata = self._metadata
        cells = {i for first, end in field_lists(metadata.type, 0).get(number, ()) for i in range(first, end)}

        def visit(place: Place, at: int) -> None:
            if isinstance(place, ValueGroup):
                for part in place.parts:
                    visit(part, at)
                    at += part.type.slots
            elif isinstance(place, FieldAt) and at in cells:
                out.append(place)

        visit(metadata, 0)
        return out

    def _leaves(self, s: StatementWriter, data: ir.Expr) -> list[FieldAt]:
        if isinstance(data, ir.Compose):
            return [leaf for part in data.parts for leaf in self._leaves(s, part)]
        return scalars(s.expressions.place(data)) if is_place(data) else []

    def _field_list(self, elements: list[Json]) -> int:
        known = next((f["id"] for f in self.field_lists if f["elements"] == elements), None)
        if known is not None:
            return int(known)
        number = len(self.field_lists) + 1
        self.field_lists.append({"id": number, "name": f"fl_{number}", "elements": elements})
        return number

    def truncate(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``truncate``."""
        s.primitive("truncate", s.expressions.value(s.pure(argument(e, 0))), pos=e.pos)

    def digest(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``digest``: copies of the present values, in variables that bmv2 reads at the end of ingress."""
        number = self.learn_list(s, argument(e, 1))
        receiver = s.expressions.value(s.pure(argument(e, 0)))
        s.primitive("generate_digest", receiver, hexstr(number), pos=e.pos)

    # --- functions ------------------------------------------------------------------------------------------

    def hash(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``hash``."""
        result, algorithm, base, data, top = (argument(e, i) for i in range(5))
        bounds = [s.pure(base), s.pure(top)]
        calculation: Json = {"type": "calculation", "value": self.calculation(s, e, algorithm, data)}
        start, size = (s.expressions.value(v) for v in bounds)
        op = "modify_field_with_hash_based_offset"
        self.into(s, result, lambda to: s.primitive(op, to, start, calculation, size, pos=e.pos))

    def calculation(
        self, s: StatementWriter, e: ir.ExternCall, algorithm: ir.Expr, data: ir.Expr, *, payload: bool = False
    ) -> str:
        """Declare the calculation of a call over ``data``; returns its name."""
        if not isinstance(algorithm, ir.Const) or not isinstance(algorithm.type, Enum):
            raise Unsupported(algorithm.pos, "a hash algorithm that is not a constant")
        name = f"calc_{len(self.calculations) - 1}" if self.calculations else "calc"
        inputs = self.inputs(s, s.pure(data))
        if payload:
            inputs.append({"type": "payload", "value": None})
        algo = algorithm.type.member(int(algorithm.value))
        self.calculations.append({"name": name, "id": len(self.calculations), "algo": algo, "input": inputs})
        self.calls[name] = [e]
        return name

    def random(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``random``."""
        low, high = (s.expressions.value(s.pure(argument(e, i))) for i in (1, 2))
        self.into(s, argument(e, 0), lambda to: s.primitive("modify_field_rng_uniform", to, low, high, pos=e.pos))

    def log(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``log_msg``."""
        data = s.pure(argument(e, 1)) if len(e.args) > 1 else None
        message, scalars = spread(message_of(e), data)
        values = [parameter(s.expressions.value(scalar)) for scalar in scalars]
        s.primitive(
            "log_msg",
            {"type": "string", "value": message},
            {"type": "parameters_vector", "value": values},
            pos=e.pos,
        )


_OWN: Final[dict[tuple[str, str], Rule]] = {
    **dict.fromkeys(_ARRAYS, V1modelExterns.array),
    ("direct_counter", "count"): V1modelExterns.nothing,
    ("direct_meter", "read"): V1modelExterns.direct_meter,
    ("", "mark_to_drop"): V1modelExterns.drop,
    ("", "clone"): V1modelExterns.clone,
    ("", "clone3"): V1modelExterns.clone,
    ("", "clone_preserving_field_list"): V1modelExterns.clone,
    ("", "resubmit"): V1modelExterns.again,
    ("", "resubmit_preserving_field_list"): V1modelExterns.again,
    ("", "recirculate"): V1modelExterns.again,
    ("", "recirculate_preserving_field_list"): V1modelExterns.again,
    ("", "truncate"): V1modelExterns.truncate,
    ("", "digest"): V1modelExterns.digest,
    ("", "hash"): V1modelExterns.hash,
    ("", "random"): V1modelExterns.random,
    ("", "log_msg"): V1modelExterns.log,
}
V1modelExterns.rules = {**ExternWriter.rules, **_OWN}
