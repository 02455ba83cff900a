# SPDX-License-Identifier: Apache-2.0
"""VerifyChecksum, ComputeChecksum and the deparser, which bmv2 has as lists rather than as code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.source import Pos, Unsupported
from offramp_p4.types import BOOL
from offramp_p4_tools.bmv2.write.places import FieldAt, Json, header_names
from offramp_p4_tools.bmv2.write.statements import StatementWriter

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.document import Document
    from offramp_p4_tools.bmv2.write.v1model_externs import V1modelExterns


class _Lists(StatementWriter):
    """Statements of a control that bmv2 has no code for."""

    what: str
    pos: Pos

    def flat(self, control: ir.ControlInstance) -> list[tuple[ir.ExternCall, list[ir.Expr]]]:
        """The extern calls of a control in order, each with the conditions that it stands under."""
        out: list[tuple[ir.ExternCall, list[ir.Expr]]] = []
        self._visit(ir.Block([*control.locals, control.body]), [], out)
        return out

    def _visit(self, s: ir.Stmt, under: list[ir.Expr], out: list[tuple[ir.ExternCall, list[ir.Expr]]]) -> None:
        if isinstance(s, ir.Block):
            for inner in s.body:
                self._visit(inner, under, out)
        elif isinstance(s, ir.If):
            self._visit(s.then, [*under, s.condition], out)
            if s.otherwise is not None:
                self._visit(s.otherwise, [*under, ir.Unary("!", s.condition, type=BOOL, pos=s.pos)], out)
        elif isinstance(s, ir.Eval) and isinstance(s.expr, ir.ExternCall):
            out.append((s.expr, under))
        elif (
            isinstance(s, ir.Eval)
            and isinstance(s.expr, ir.ApplyCall)
            and isinstance(s.expr.target, ir.ControlInstance)
        ):
            self._inner(s.expr, s.expr.target, under, out)
        elif not (isinstance(s, ir.Declare) and s.value is None):
            raise Unsupported(s.pos, f"{type(s).__name__} in the {self.what}, in bmv2's JSON")

    def _inner(
        self,
        e: ir.ApplyCall,
        target: ir.ControlInstance,
        under: list[ir.Expr],
        out: list[tuple[ir.ExternCall, list[ir.Expr]]],
    ) -> None:
        if not self.document.shares(target, e.args):
            raise Unsupported(e.pos, f"{target.name} applied here more than once, in bmv2's JSON")
        for param, arg in zip(target.params, e.args, strict=True):
            if param.type.slots and arg.expr is not None:
                self.document.variables.bind(param, self.expressions.place(arg.expr))
        self._visit(ir.Block([*target.locals, target.body]), under, out)

    def no_code(self) -> None:
        """Refuse expressions that needed statements of their own."""
        if self.code.body:
            raise Unsupported(self.pos, f"an expression that is not a field in the {self.what}, in bmv2's JSON")


class Checksums(_Lists):
    """Writes checksums."""

    what = "checksums"

    def __init__(self, document: Document, externs: V1modelExterns) -> None:
        super().__init__(document)
        self.json: list[Json] = []
        self._externs = externs

    def write(self, control: ir.ControlInstance, *, update: bool) -> None:
        """Append the checksums of VerifyChecksum or ComputeChecksum."""
        self.pos = control.pos
        for e, under in self.flat(control):
            word = "update" if update else "verify"
            if e.extern or not e.method.startswith(f"{word}_checksum"):
                raise Unsupported(e.pos, f"{e.method} in the checksums, in bmv2's JSON")
            condition, data, target, algorithm = (argument(e, i) for i in range(4))
            for outer in reversed(under):
                condition = ir.Binary("&&", outer, condition, type=BOOL, pos=outer.pos)
            place = self.expressions.place(target)
            if not isinstance(place, FieldAt):
                raise Unsupported(e.pos, "a checksum that is not a field, in bmv2's JSON")
            payload = e.method.endswith("_with_payload")
            calculation = self._externs.calculation(self, e, algorithm, data, payload=payload)
            test = self.expressions.boolean(self.pure(condition))
            self.no_code()
            name = f"cksum_{len(self.json) - 1}" if self.json else "cksum"
            entry = {"name": name, "id": len(self.json), **self.document.source_info(e.pos)}
            entry |= {"target": place.json["value"], "type": "generic", "calculation": calculation}
            self.json.append(entry | {"verify": not update, "update": update, "if_cond": test})


class Deparser(_Lists):
    """Writes the order in which headers are emitted."""

    what = "deparser"

    def write(self, control: ir.ControlInstance) -> list[str]:
        """The names of headers in the order of the deparser."""
        self.pos = control.pos
        order: list[str] = []
        for e, under in self.flat(control):
            if (e.extern, e.method) != ("packet_out", "emit"):
                raise Unsupported(e.pos, f"{e.method} in the deparser, in bmv2's JSON")
            if under:
                raise Unsupported(e.pos, "emit under a condition, in bmv2's JSON")
            data = self.pure(argument(e, 0))
            parts = data.parts if isinstance(data, ir.Compose) else [data]
            for part in parts:
                order += header_names(self.expressions.place(part), e.pos)
        self.no_code()
        return order
