# SPDX-License-Identifier: Apache-2.0
"""Calls of externs as bmv2's primitives: the common base of all architectures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, VOID, Enum, Structure, Type, Varbit, strip
from offramp_p4_tools.bmv2.write.expressions import hexstr, is_place
from offramp_p4_tools.bmv2.write.places import (
    FieldAt,
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
    from offramp_p4_tools.bmv2.write.document import Document
    from offramp_p4_tools.bmv2.write.statements import StatementWriter

Rule = Callable[[Any, "StatementWriter", ir.ExternCall], ir.Expr | None]
"""Writes a call of an extern for a writer of externs; returns the variable with its result, if there is one."""


class ExternWriter:
    """Writes calls of externs, and declares what they need: calculations, lists of fields.

    Attributes:
        rules: writers of calls, by extern and method.
        calls: the calls that compute each calculation, by its name.
    """

    rules: ClassVar[Mapping[tuple[str, str], Rule]]

    def __init__(self, document: Document) -> None:
        self.document = document
        self.calculations: list[Json] = []
        self.calls: dict[str, list[ir.ExternCall]] = {}
        self.learn_lists: list[Json] = []
        self.field_lists: list[Json] = []

    def call(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr | None:
        """Write a call; returns the variable with its result.

        Raises:
            Unsupported: bmv2 has no such extern.
        """
        rule = self.rules.get((e.extern, e.method))
        if rule is None:
            raise Unsupported(
                e.pos, f"extern {e.extern}.{e.method}" if e.extern else f"extern {e.method} in bmv2's JSON"
            )
        return rule(self, s, e)

    def into(self, s: StatementWriter, place: ir.Expr, write: Callable[[Json], None]) -> None:
        """Let ``write`` fill a field, then move it where bmv2's primitive could not write itself."""
        place = s.pure_place(place)
        at = None if isinstance(place, ir.Slice) else s.expressions.place(place)
        if isinstance(at, FieldAt):
            write(at.json)
            return
        variable = s.saved(place)
        at = s.expressions.place(variable)
        assert isinstance(at, FieldAt)
        write(at.json)
        s.run(ir.Assign(place, variable, pos=place.pos))

    def learn_list(self, s: StatementWriter, data: ir.Expr, name: str | None = None) -> int:
        """Declare a list of fields that a digest takes, with the values that they have now; returns its number."""
        data = s.saved(s.pure(data))
        t, number = strip(data.type), len(self.learn_lists) + 1
        name = name or (t.name if isinstance(t, Structure) else f"digest_{number - 1}")
        fields = [f.json for f in scalars(s.expressions.place(data))]
        self.learn_lists.append({"id": number, "name": name, "elements": fields})
        return number

    def inputs(self, s: StatementWriter, data: ir.Expr) -> list[Json]:
        """The input of a calculation: fields, headers and constants."""
        if isinstance(data, ir.Compose):
            return [item for part in data.parts for item in self.inputs(s, part)]
        if isinstance(data, ir.Const):
            width = packed_width(data.type)
            return [{**hexstr(int(data.value) & ((1 << width) - 1)), "bitwidth": width}] if width else []
        if is_place(data):
            return self._place_inputs(s, s.expressions.place(s.pure_place(data)), data)
        return self._place_inputs(s, s.expressions.place(s.saved(data)), data)

    def _place_inputs(self, s: StatementWriter, place: Place, data: ir.Expr) -> list[Json]:
        if isinstance(place, ValueGroup):
            return [item for part in place.parts for item in self._place_inputs(s, part, data)]
        if isinstance(place, StackAt):
            return [item for part in place.elements for item in self._place_inputs(s, part, data)]
        if isinstance(place, UnionAt):
            return [item for part in place.members for item in self._place_inputs(s, part, data)]
        if isinstance(place, HeaderAt) and place.name is not None:
            return [place.json]
        if isinstance(place, FieldAt):
            return [place.json] if packed_width(place.type) else []
        return self._place_inputs(s, s.expressions.place(s.saved(data)), data)

    def check(self, s: StatementWriter, e: ir.ExternCall) -> None:
        """``assert`` and ``assume``."""
        s.primitive(e.method, operation("b2d", None, s.expressions.boolean(s.pure(argument(e, 0)))), pos=e.pos)

    def static_assert(self, s: StatementWriter, e: ir.ExternCall) -> ir.Expr:
        """``static_assert``, which has held when the program was read."""
        del s
        return ir.Const(1, type=BOOL, pos=e.pos)


def scalars(place: Place) -> list[FieldAt]:
    """The fields of a place that lie in one."""
    if isinstance(place, ValueGroup):
        return [leaf for part in place.parts for leaf in scalars(part)]
    if isinstance(place, HeaderAt):
        return [leaf for i in range(len(place.type.fields)) for leaf in scalars(place.member(i))]
    return [place] if isinstance(place, FieldAt) else []


def packed_width(t: Type) -> int:
    """Bits of a field in data that is packed; plain enums and errors have none."""
    t = strip(t)
    if isinstance(t, Varbit):
        return t.width
    return 0 if t == VOID or (isinstance(t, Enum) and t.base is None) else bits_of(t).width


_SHARED: Final[dict[tuple[str, str], Rule]] = {
    ("", "assert"): ExternWriter.check,
    ("", "assume"): ExternWriter.check,
    ("", "static_assert"): ExternWriter.static_assert,
}
ExternWriter.rules = _SHARED
