# SPDX-License-Identifier: Apache-2.0
"""Fields of the packet header vector that an expression reads, or that an l-value stands for."""

from __future__ import annotations

from dataclasses import dataclass, field

from offramp_p4 import ir
from offramp_p4.types import Bits, Enum, Header, Stack, Structure, Type, strip


@dataclass(frozen=True, slots=True)
class VariableField:
    """A scalar of a variable, by its path in it; ``name`` and ``bits`` describe it."""

    root: int
    path: tuple[int, ...]
    name: str = field(compare=False)
    bits: int = field(compare=False)
    header: str = field(compare=False, default="")  # the header it lies in, if any

    def __str__(self) -> str:
        return self.name


Fields = frozenset[VariableField]
NONE: Fields = frozenset()


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A variable or a part of it."""

    root: int
    path: tuple[int, ...]
    name: str
    type: Type
    header: str = ""

    def part(self, index: int, name: str, t: Type) -> FieldPath:
        """A component."""
        inside = self.name if isinstance(strip(self.type), Header) else self.header
        return FieldPath(self.root, (*self.path, index), f"{self.name}.{name}", t, inside)

    def leaves(self) -> Fields:
        """The scalars of the value; a header has a validity too."""
        t = strip(self.type)
        if isinstance(t, Structure):
            parts = frozenset(x for i, f in enumerate(t.fields) for x in self.part(i, f.name, f.type).leaves())
            return parts | {self.validity()} if isinstance(t, Header) else parts
        if isinstance(t, Stack):
            return frozenset(x for i in range(t.size) for x in self.part(i, str(i), t.element).leaves())
        return frozenset({VariableField(self.root, self.path, self.name, _width(t), self.header)}) if t.slots else NONE

    def validity(self) -> VariableField:
        """Whether a header is there."""
        return VariableField(self.root, (*self.path, -1), f"{self.name}.$valid", 1)


def _width(t: Type) -> int:
    if isinstance(t, Enum):
        return t.base.width if t.base is not None else 8
    return t.width if isinstance(t, Bits) else 1


class InlineScope:
    """The fields that parameters stand for where a control or an action is inlined."""

    def __init__(
        self, paths: dict[ir.Var, FieldPath] | None = None, values: dict[ir.Var, Fields] | None = None
    ) -> None:
        self._paths, self._values = paths or {}, values or {}

    def bind(self, params: list[ir.Var], args: list[ir.Arg]) -> InlineScope:
        """The scope inside a call."""
        paths, values = dict(self._paths), dict(self._values)
        for param, arg in zip(params, args, strict=False):
            place = self.place(arg.expr) if arg.expr is not None else None
            if place is not None:
                paths[param] = place
            elif arg.expr is not None:
                values[param] = self.reads(arg.expr)
        return InlineScope(paths, values)

    def data(self, params: list[ir.Var]) -> InlineScope:
        """The scope inside an action whose parameters come from the entry: they are no fields."""
        return InlineScope(self._paths, {**self._values, **dict.fromkeys(params, NONE)})

    def place(self, e: ir.Expr) -> FieldPath | None:
        """The place that an expression is, or None."""
        match e:
            case ir.VarRef(var=var):
                if var in self._values:
                    return None
                return self._paths.get(var) or FieldPath(id(var), (), var.name, var.type)
            case ir.Member(base=base, index=index):
                outer, t = self.place(base), strip(base.type)
                if outer is None or not isinstance(t, Structure):
                    return None
                return outer.part(index, t.fields[index].name, t.fields[index].type)
            case ir.Element(base=base, index=ir.Const(value=int(index))):
                outer, t = self.place(base), strip(base.type)
                return outer.part(index, str(index), t.element) if outer is not None and isinstance(t, Stack) else None
            case ir.Slice(base=base) | ir.Element(base=base) | ir.StackNext(base=base) | ir.StackLast(base=base):
                return self.place(base)
        return None

    def reads(self, e: object) -> Fields:
        """The fields that an expression reads; calls of externs in it are not looked into."""
        match e:
            case ir.VarRef(var=var) if var in self._values:
                return self._values[var]
            case ir.IsValid(base=base):
                place = self.place(base)
                return frozenset({place.validity()}) if place is not None else NONE
            case ir.VarRef() | ir.Member() | ir.Element():
                place = self.place(e)
                index = self.reads(e.index) if isinstance(e, ir.Element) else NONE
                return (place.leaves() if place is not None else self.reads(getattr(e, "base", None))) | index
            case ir.ExternCall() | ir.TableApply():
                return NONE
            case ir.Unary(operand=x) | ir.Cast(operand=x) | ir.Slice(base=x):
                return self.reads(x)
            case ir.Binary(left=x, right=y):
                return self.reads(x) | self.reads(y)
            case ir.Mux(condition=c, then=x, otherwise=y):
                return self.reads(c) | self.reads(x) | self.reads(y)
            case ir.Compose(parts=parts):
                return frozenset(f for p in parts for f in self.reads(p))
            case ir.FunctionCall(args=args):
                return frozenset(f for a in args for f in self.reads(a.expr))
        return NONE
