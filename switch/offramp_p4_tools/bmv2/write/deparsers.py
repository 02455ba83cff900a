# SPDX-License-Identifier: Apache-2.0
"""Deparsers with statements: primitives that bmv2 runs one by one before it emits the headers.

There are no jumps between these primitives, so what stands under a condition runs in any case: an assignment then keeps
the old value, an Internet checksum gets back what it was, and the number of a digest is 0, which is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.source import NOWHERE, Pos, Unsupported
from offramp_p4.types import BOOL, Bits
from offramp_p4_tools.bmv2.write.code import Jump, LabelPosition, Primitive
from offramp_p4_tools.bmv2.write.expressions import hexstr
from offramp_p4_tools.bmv2.write.places import FieldAt, Json, header_names, operation
from offramp_p4_tools.bmv2.write.statements import StatementWriter

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.document import Document
    from offramp_p4_tools.bmv2.write.portable_externs import PortableExternWriter

_HARMLESS: Final = frozenset({"_InternetChecksum_get", "_InternetChecksum_get_state", "_Hash_get_hash",
                              "_Hash_get_hash_mod", "register_read", "modify_field_rng_uniform"})  # fmt: skip
"""Primitives that only assign a variable of their own."""
_STATE: Final = frozenset({"_InternetChecksum_clear", "_InternetChecksum_add", "_InternetChecksum_subtract",
                           "_InternetChecksum_set_state"})  # fmt: skip
_VALIDITY: Final = frozenset({"add_header", "remove_header", "assign_header", "assign_union", "assign_header_stack",
                              "assign_union_stack", "push", "pop"})  # fmt: skip


def write_deparser(
    document: Document, externs: PortableExternWriter, control: ir.ControlInstance, name: str, number: int
) -> Json:
    """The JSON of a deparser."""
    s = DeparserStatements(document)
    externs.clear_sums(s, control)
    s.inlined(control, [])
    return {
        "name": name,
        "id": number,
        **document.source_info(control.pos),
        "order": s.order,
        "primitives": [
            {"op": p.op, "parameters": p.parameters, **document.source_info(p.pos)} for p in s.straight(control.pos)
        ],
    }


class DeparserStatements(StatementWriter):
    """Statements of a deparser.

    Attributes:
        order: the names of the headers that it emits.
    """

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self.order: list[str] = []
        self._when: ir.Expr | None = None

    # --- conditions ---------------------------------------------------------------------------------------------

    def _either(self, condition: ir.Expr, then: Any, otherwise: Any | None) -> None:
        outer, test = self._when, self.pure(condition)
        ways = [self._kept(outer, test), self._kept(outer, ir.Unary("!", test, type=BOOL, pos=test.pos))]
        self._when = ways[0]
        then()
        if otherwise is not None:
            self._when = ways[1]
            otherwise()
        self._when = outer

    def _kept(self, outer: ir.Expr | None, test: ir.Expr) -> ir.Expr:
        """A variable that says whether a branch is taken, unaffected by other branches."""
        self._when = None
        taken = self.saved(test if outer is None else ir.Binary("&&", outer, test, type=BOOL, pos=test.pos))
        self._when = outer
        return taken

    def primitive(self, op: str, *parameters: Json, pos: Pos = NOWHERE) -> None:
        """Append a primitive that has no effect unless its condition holds."""
        when, to_field = self._when, parameters[0]
        if to_field["type"] == "field" and to_field["value"][0] in self.order:
            raise Unsupported(pos, f"a field of {to_field['value'][0]} assigned behind its emit, in bmv2's JSON")
        if when is None or op in _HARMLESS:
            super().primitive(op, *parameters, pos=pos)
        elif op == "assign":
            to, value = parameters
            super().primitive(op, to, self._chosen(when, value, to), pos=pos)
        elif op == "generate_digest":
            receiver, number = parameters
            super().primitive(op, receiver, self._chosen(when, number, hexstr(0)), pos=pos)
        elif op in _STATE:
            before, after = (self.variable(Bits(16), "sum", pos) for _ in range(2))
            places = [self.expressions.place(v) for v in (before, after)]
            old, new = (p.json for p in places if isinstance(p, FieldAt))
            super().primitive("_InternetChecksum_get_state", parameters[0], old, pos=pos)
            super().primitive(op, *parameters, pos=pos)
            super().primitive("_InternetChecksum_get_state", parameters[0], new, pos=pos)
            chosen = self._chosen(when, new, old)
            super().primitive("_InternetChecksum_set_state", parameters[0], chosen, pos=pos)
        else:
            raise Unsupported(pos, f"{op} under a condition in a deparser, in bmv2's JSON")

    def _chosen(self, when: ir.Expr, then: Json, otherwise: Json) -> Json:
        return operation("?", then, otherwise, cond=self.expressions.boolean(when))

    def straight(self, pos: Pos) -> list[Primitive]:
        """The primitives in their order.

        Args:
            pos: the deparser's position in the source.
        """
        out: list[Primitive] = []
        body = self.code.body
        for i, instruction in enumerate(body):
            if isinstance(instruction, Primitive):
                self._check(instruction)
                out.append(instruction)
            elif isinstance(instruction, Jump):
                rest = body[i + 1 :]
                marks = [m.label for m in rest if isinstance(m, LabelPosition)]
                if len(marks) != len(rest) and marks[:1] != [instruction.label]:
                    raise Unsupported(pos, "a jump in a deparser, in bmv2's JSON")
            elif not isinstance(instruction, LabelPosition):
                raise Unsupported(pos, "a loop, a switch or an index known at run time in a deparser, in bmv2's JSON")
        return out

    def _check(self, p: Primitive) -> None:
        """Refuse changes of a header's validity: bmv2 has counted the bytes of emitted headers before."""
        header = p.parameters[0]
        if p.op in _VALIDITY and isinstance(header, dict) and header["value"] in self.order:
            raise Unsupported(p.pos, f"{p.op} of {header['value']}, which the deparser emits, in bmv2's JSON")

    # --- packet_out ---------------------------------------------------------------------------------------------

    def call(self, e: ir.Expr) -> ir.Expr | None:
        """Write a call."""
        if isinstance(e, ir.ExternCall) and (e.extern, e.method) == ("packet_out", "emit"):
            self._emit(e)
            return None
        return super().call(e)

    def _emit(self, e: ir.ExternCall) -> None:
        if self._when is not None:
            raise Unsupported(e.pos, "emit under a condition, in bmv2's JSON")
        data = self.pure(argument(e, 0))
        for part in data.parts if isinstance(data, ir.Compose) else [data]:
            self.order += header_names(self.expressions.place(part), e.pos)
