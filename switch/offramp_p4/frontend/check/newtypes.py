# SPDX-License-Identifier: Apache-2.0
"""Checks that a type declared by ``type T name`` is distinct from ``T`` (P4-16 specification, section 7.2.9)."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.frontend.check.typing import TypeResolver, deep_strip, same
from offramp_p4.source import P4Error, Pos
from offramp_p4.types import INT, Bits, Newtype, Structure, Type, strip


class Newtypes(TypeResolver):
    """New types of expressions. The IR has the types that execute, so what was declared is found beside it."""

    def __init__(self) -> None:
        super().__init__()
        self._newtypes: dict[ir.Expr, Newtype] = {}  # of casts and calls

    def note(self, e: ir.Expr, declared: Type) -> ir.Expr:
        """``e`` as a value of its declared type."""
        if isinstance(declared, Newtype):
            self._newtypes[e] = declared
        return e

    def newtype(self, e: ir.Expr) -> Newtype | None:
        """The new type of an expression, if it has one."""
        declared: Type | None = None
        if e in self._newtypes:
            return self._newtypes[e]
        if isinstance(e, ir.VarRef):
            declared = e.var.declared
        elif isinstance(e, ir.Member) and isinstance(e.base.type, Structure):
            declared = e.base.type.fields[e.index].type
        elif isinstance(e, ir.Mux):
            return self.newtype(e.then)
        return declared if isinstance(declared, Newtype) else None

    def check_newtype(self, e: ir.Expr, declared: Type, pos: Pos, *, literal: bool) -> None:
        """No implicit conversion from or to a new type, save of a ``literal`` without width."""
        wanted = declared if isinstance(declared, Newtype) else None
        actual = self.newtype(e)
        if actual is not wanted and not literal:
            raise P4Error(pos, f"expected {wanted or e.type}, found {actual or e.type}; cast it")

    def check_cast(self, e: ir.Expr, to: Type, pos: Pos) -> None:
        """Check that a new type is cast only from and to the type that it stands for."""
        for name, other in ((self.newtype(e), to), (to, e.type)):
            if isinstance(name, Newtype) and isinstance(deep_strip(other), Bits) and not same(name, other):
                raise P4Error(pos, f"{name} can be cast from and to {strip(name)} only, not {other}")

    def no_newtype(self, op: str, *operands: ir.Expr) -> None:
        """Operators other than ``==`` and ``!=`` are not defined for new types."""
        for e in operands:
            newtype = self.newtype(e)
            if newtype is not None:
                raise P4Error(e.pos, f"'{op}' is not defined for the new type {newtype}; cast it")

    def check_comparable(self, left: ir.Expr, right: ir.Expr, pos: Pos) -> None:
        """``==`` compares values of one new type."""
        a, b = self.newtype(left), self.newtype(right)
        if a is not b:
            raise P4Error(pos, f"'==' needs operands of one type, not {a or _plain(left)} and {b or _plain(right)}")


def _plain(e: ir.Expr) -> str:
    return "an integer of no fixed width" if e.type == INT else str(e.type)
