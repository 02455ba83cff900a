# SPDX-License-Identifier: Apache-2.0
"""Conversions between types, implicit and explicit, and default values (P4-16 specification, section 8.11)."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.frontend.check import fold
from offramp_p4.frontend.check.newtypes import Newtypes
from offramp_p4.frontend.check.typing import deep_strip, same
from offramp_p4.source import P4Error, Pos
from offramp_p4.types import (
    BOOL,
    INT,
    STRING,
    VOID,
    Bits,
    Enum,
    Header,
    List,
    Stack,
    Struct,
    Structure,
    Tuple,
    Type,
    Union,
    Varbit,
    strip,
)  # fmt: skip

ANONYMOUS = "struct"  # the name of the type of a struct expression that nothing else names


class Conversions(Newtypes):
    """Converts expressions from one type to another."""

    def coerce(self, e: ir.Expr, to: Type, pos: Pos) -> ir.Expr:
        """Implicit conversion (section 8.11.2).

        Raises:
            P4Error: there is none.
        """
        to = deep_strip(to)
        if same(e.type, to):
            return e
        if e.type == INT and isinstance(e, ir.Const) and isinstance(e.value, int) and isinstance(to, Bits):
            return ir.Const(to.wrap(e.value), type=to, pos=e.pos)
        if isinstance(e.type, Enum) and e.type.base is not None and (same(e.type.base, to) or to == INT):
            return self.cast(e, to, pos)
        if isinstance(e.type, Bits) and to == INT and isinstance(e, ir.Const):
            return ir.Const(e.value, type=INT, pos=e.pos)
        if isinstance(e, ir.Compose) and isinstance(e.type, Tuple):
            return self._compose(e.parts, to, pos)
        if isinstance(e, ir.Compose) and isinstance(e.type, Struct) and e.type.name == ANONYMOUS:
            return self._renamed(e, to, pos)
        if isinstance(e, ir.InvalidHeader) and isinstance(to, Header | Union):
            return ir.InvalidHeader(type=to, pos=pos)
        raise P4Error(pos, f"expected {describe(to)}, found {describe(e.type)}")

    def _compose(self, parts: list[ir.Expr], to: Type, pos: Pos) -> ir.Expr:
        if isinstance(to, Structure) and not isinstance(to, Union):
            wanted = [strip(f.type) for f in to.fields]
        elif isinstance(to, Tuple):
            wanted = list(to.types)
        elif isinstance(to, Stack):
            wanted = [to.element] * to.size
            if to.first:
                parts = parts + [ir.InvalidHeader(type=to.element, pos=pos)] * (to.size - len(parts))
        elif isinstance(to, List):
            wanted = [to.element] * len(parts)
        else:
            raise P4Error(pos, f"expected {describe(to)}, found a list")
        if len(parts) != len(wanted):
            raise P4Error(pos, f"{describe(to)} has {len(wanted)} fields, {len(parts)} values given")
        return ir.Compose([self.coerce(p, w, p.pos) for p, w in zip(parts, wanted, strict=True)], type=to, pos=pos)

    def cast(self, e: ir.Expr, to: Type, pos: Pos) -> ir.Expr:
        """Explicit conversion (section 8.11.1)."""
        to = deep_strip(to)
        source = e.type
        if same(source, to):
            return e
        if isinstance(e, ir.Compose | ir.InvalidHeader):
            return self.coerce(e, to, pos)
        if not _castable(source, to):
            raise P4Error(pos, f"{describe(source)} cannot be cast to {describe(to)}")
        if isinstance(e, ir.Const) and isinstance(e.value, int):
            if to == BOOL and e.value not in (0, 1):
                raise P4Error(pos, f"only 0 and 1 can be cast to bool, not {e.value}")
            return ir.Const(fold.cast(to, e.value), type=to, pos=pos)
        if isinstance(to, Enum) and to.base is not None and isinstance(source, Bits) and source != to.base:
            raise P4Error(pos, f"{source} cannot be cast to {to}, whose base is {to.base}")
        return ir.Cast(e, type=to, pos=pos)

    def default(self, t: Type, pos: Pos) -> ir.Expr:
        """The value of ``...`` (section 8.26): zero, false, the first enum member, an invalid header."""
        t = deep_strip(t)
        if isinstance(t, Header | Union):
            return ir.InvalidHeader(type=t, pos=pos)
        if isinstance(t, Structure):
            return ir.Compose([self.default(f.type, pos) for f in t.fields], type=t, pos=pos)
        if isinstance(t, Tuple):
            return ir.Compose([self.default(x, pos) for x in t.types], type=t, pos=pos)
        if isinstance(t, Stack):
            return ir.Compose([self.default(t.element, pos)] * t.size, type=t, pos=pos)
        if isinstance(t, Varbit) or t in (STRING, VOID):
            raise P4Error(pos, f"{t} has no default value")
        return ir.Const(0, type=t, pos=pos)

    def _renamed(self, e: ir.Compose, to: Type, pos: Pos) -> ir.Expr:
        """A struct without a name as a value of a struct or header with the same fields."""
        assert isinstance(e.type, Struct)
        if not isinstance(to, Structure) or isinstance(to, Union) or to.index.keys() != e.type.index.keys():
            raise P4Error(pos, f"expected {describe(to)}, found a struct expression with other fields")
        parts = [self.coerce(e.parts[e.type.index[f.name]], f.type, pos) for f in to.fields]
        return ir.Compose(parts, type=to, pos=pos)


def is_constant(e: ir.Expr) -> bool:
    """Whether a value is known at compile time."""
    return isinstance(e, ir.Const | ir.InvalidHeader) or (
        isinstance(e, ir.Compose) and all(is_constant(p) for p in e.parts)
    )


def _castable(source: Type, to: Type) -> bool:
    number = isinstance(source, Bits) or source == INT
    if isinstance(to, Bits):
        if isinstance(source, Bits) and source.signed != to.signed:
            return source.width == to.width
        enum = isinstance(source, Enum) and source.base is not None
        boolean = source == BOOL and to.width == 1 and not to.signed
        return number or enum or boolean
    if to == BOOL:
        return (isinstance(source, Bits) and source.width == 1 and not source.signed) or source == INT
    if isinstance(to, Enum):
        return to.base is not None and (number or (isinstance(source, Enum) and source.base is not None))
    if to == INT:
        return number
    return False


def describe(t: Type) -> str:
    """A type as messages name it."""
    if t == INT:
        return "an integer of no fixed width"
    if isinstance(t, Tuple):
        return f"a list ({t})"
    kinds = {"Struct": "struct", "Header": "header", "Union": "header union", "Enum": "enum"}
    kind = kinds.get(type(t).__name__)
    return f"{kind} {t}" if kind else str(t)
