# SPDX-License-Identifier: Apache-2.0
"""Places in bmv2 of a program's variables: header instances, stacks, unions, and fields of one ``scalars`` header.

bmv2 has no variables, structs or tuples. A struct becomes its leaves; a leaf of a struct that is not a header lies in
``scalars``, which is metadata. A header variable becomes a header instance that is never emitted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.source import NOWHERE, Pos, Unsupported
from offramp_p4.types import BOOL, ERROR, Bits, Enum, Header, Stack, Structure, Tuple, Type, Union, Varbit, strip

if TYPE_CHECKING:
    from offramp_p4 import ir

Json = dict[str, Any]
ENUM_BITS: Final = 32
"""Width of a plain enum and of an error."""
SCALARS: Final = "scalars"


@dataclass(frozen=True, slots=True)
class FieldAt:
    """A field of a header instance."""

    header: str
    field: str
    type: Type

    @property
    def json(self) -> Json:
        """The field as a bmv2 value."""
        return {"type": "field", "value": [self.header, self.field]}


@dataclass(frozen=True, slots=True)
class ComputedField:
    """Field ``index`` of a header that is chosen at run time; ``header`` is the expression that chooses it."""

    header: Json
    index: int
    type: Type

    @property
    def json(self) -> Json:
        """The field as a bmv2 expression."""
        return operation("access_field", self.header, self.index)


@dataclass(frozen=True, slots=True)
class RuntimeData:
    """A parameter of an action that the entry supplies."""

    index: int
    type: Type

    @property
    def json(self) -> Json:
        """The parameter as an operand of an expression."""
        return {"type": "local", "value": self.index}


@dataclass(frozen=True, slots=True)
class HeaderAt:
    """A header; ``name`` is None where it is chosen at run time by the expression ``chosen``."""

    name: str | None
    type: Header
    chosen: Json | None = None

    @property
    def json(self) -> Json:
        """The header as a bmv2 value or expression."""
        return {"type": "header", "value": self.name} if self.name is not None else self.chosen or {}

    def member(self, index: int) -> Place:
        """Field ``index``; a struct in a header gives a :class:`ValueGroup`."""
        before = sum(len(leaves(f.type, f.name)) for f in self.type.fields[:index])
        f = self.type.fields[index]
        return self._part(f.type, f.name, before)

    def _part(self, t: Type, name: str, at: int) -> Place:
        t = strip(t)
        if isinstance(t, Structure):
            parts: list[Place] = []
            for f in t.fields:
                parts.append(self._part(f.type, f"{name}.{f.name}", at))
                at += len(leaves(f.type, ""))
            return ValueGroup(tuple(parts), t)
        return FieldAt(self.name, name, t) if self.name is not None else ComputedField(self.json, at, t)


@dataclass(frozen=True, slots=True)
class UnionAt:
    """A header union."""

    name: str | None
    members: tuple[HeaderAt, ...]
    type: Union
    chosen: Json | None = None

    @property
    def json(self) -> Json:
        """The union as a bmv2 value or expression."""
        return {"type": "header_union", "value": self.name} if self.name is not None else self.chosen or {}


@dataclass(frozen=True, slots=True)
class StackAt:
    """A stack of headers or unions."""

    name: str
    elements: tuple[HeaderAt | UnionAt, ...]
    type: Stack

    @property
    def json(self) -> Json:
        """The stack as a bmv2 value."""
        return {"type": "header_union_stack" if self.of_unions else "header_stack", "value": self.name}

    @property
    def of_unions(self) -> bool:
        """Whether the elements are unions."""
        return isinstance(strip(self.type.element), Union)

    def at(self, index: Json) -> HeaderAt | UnionAt:
        """The element that an expression chooses at run time."""
        element = strip(self.type.element)
        if isinstance(element, Union):
            chosen = operation("dereference_union_stack", self.json, index)
            members = tuple(
                HeaderAt(None, header_type(f.type), operation("access_union_header", chosen, i))
                for i, f in enumerate(element.fields)
            )
            return UnionAt(None, members, element, chosen)
        return HeaderAt(None, header_type(element), operation("dereference_header_stack", self.json, index))


@dataclass(frozen=True, slots=True)
class ValueGroup:
    """A struct, a tuple or an array of values: places side by side."""

    parts: tuple[Place, ...]
    type: Type


Leaf = FieldAt | ComputedField | RuntimeData
Place = Leaf | HeaderAt | UnionAt | StackAt | ValueGroup


def operation(op: str, left: Any, right: Any, **more: Any) -> Json:
    """An expression in bmv2's form; ``left`` is None for one operand."""
    return {"type": "expression", "value": {"op": op, "left": left, "right": right, **more}}


def header_type(t: Type) -> Header:
    """``t`` as a header type."""
    t = strip(t)
    assert isinstance(t, Header), f"{t} is not a header"
    return t


def bits_of(t: Type) -> Bits:
    """The type of the field that keeps a scalar."""
    t = strip(t)
    if isinstance(t, Enum):
        return t.base or Bits(ENUM_BITS)
    return Bits(1) if t == BOOL else Bits(ENUM_BITS) if t == ERROR else t if isinstance(t, Bits) else Bits(0)


def leaves(t: Type, name: str) -> list[tuple[str, Type]]:
    """The scalars of a field of a header, with their names."""
    t = strip(t)
    if isinstance(t, Structure):
        return [leaf for f in t.fields for leaf in leaves(f.type, f"{name}.{f.name}")]
    return [(name, t)]


class VariablePlaces:
    """Gives every variable its place, and collects what the JSON must declare for it.

    Args:
        reserved: names of header types that are the architecture's.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.types: dict[Header, str] = {}
        self.headers: list[Json] = []
        self.stacks: list[Json] = []
        self.unions: list[Json] = []
        self.union_types: dict[Union, str] = {}
        self.union_stacks: list[Json] = []
        self.scalars: list[list[Any]] = []
        self._names: Counter[str] = Counter()
        self._type_names: set[str] = {SCALARS, *reserved}

    def make(self, t: Type, name: str, pos: Pos = NOWHERE) -> Place:
        """Places for a value of type ``t``."""
        t = strip(t)
        if isinstance(t, Header):
            return self._header(t, name)
        if isinstance(t, Union):
            return self._union(t, name)
        if isinstance(t, Structure):
            return ValueGroup(
                tuple(self.make(f.type, f"{name}.{f.name}" if name else f.name, pos) for f in t.fields), t
            )
        if isinstance(t, Tuple):
            return ValueGroup(tuple(self.make(x, f"{name}.{i}", pos) for i, x in enumerate(t.types)), t)
        if isinstance(t, Stack) and not t.first:
            return ValueGroup(tuple(self.make(t.element, f"{name}.{i}", pos) for i in range(t.size)), t)
        if isinstance(t, Stack):
            return self._stack(t, name)
        return self._scalar(t, name, pos)

    def temporary(self, t: Type, name: str, pos: Pos = NOWHERE) -> Place:
        """Places for a variable of the program or of ours, under a unique name."""
        return self.make(t, self._unique(name), pos)

    def _unique(self, name: str) -> str:
        self._names[name] += 1
        return f"{name}_{self._names[name] - 1}"

    def _scalar(self, t: Type, name: str, pos: Pos) -> FieldAt:
        if isinstance(t, Varbit):
            raise Unsupported(pos, f"a variable of type {t} in bmv2's JSON")
        bits = bits_of(t)
        if bits.width == 0:
            raise Unsupported(pos, f"a variable of type {t} in bmv2's JSON")
        self.scalars.append([name, bits.width, bits.signed and bits.width > 1])
        return FieldAt(SCALARS, name, t)

    def _header(self, t: Header, name: str) -> HeaderAt:
        self.headers.append(
            {"name": name, "id": len(self.headers), "header_type": self.type_name(t), "metadata": False}
        )
        return HeaderAt(name, t)

    def _union(self, t: Union, name: str) -> UnionAt:
        members = tuple(self._header(header_type(f.type), f"{name}.{f.name}") for f in t.fields)
        if t not in self.union_types:
            self.union_types[t] = self._type_name(t.name)
        first = len(self.headers) - len(members)
        self.unions.append(
            {
                "name": name,
                "id": len(self.unions),
                "union_type": self.union_types[t],
                "header_ids": list(range(first, first + len(members))),
            }
        )
        return UnionAt(name, members, t)

    def _stack(self, t: Stack, name: str) -> StackAt:
        element = strip(t.element)
        first = len(self.unions) if isinstance(element, Union) else len(self.headers)
        ids = list(range(first, first + t.size))
        elements: list[HeaderAt | UnionAt] = []
        for i in range(t.size):
            at = f"{name}[{i}]"
            elements.append(
                self._union(element, at) if isinstance(element, Union) else self._header(header_type(element), at)
            )
        if isinstance(element, Union):
            kind = self.union_types[element]
            entry = {"name": name, "id": len(self.union_stacks), "union_type": kind, "header_union_ids": ids}
            self.union_stacks.append(entry)
        else:
            kind = self.type_name(header_type(element))
            self.stacks.append({"name": name, "id": len(self.stacks), "header_type": kind, "header_ids": ids})
        return StackAt(name, tuple(elements), t)

    def type_name(self, t: Header) -> str:
        """The name of a header type in the JSON."""
        if t not in self.types:
            self.types[t] = self._type_name(t.name)
        return self.types[t]

    def _type_name(self, name: str) -> str:
        unique, number = name, 0
        while unique in self._type_names:
            unique, number = f"{name}_{number}", number + 1
        self._type_names.add(unique)
        return unique


def header_fields(t: Header, pos: Pos = NOWHERE) -> Json:
    """The JSON of a header type, without its name and id."""
    fields: list[list[Any]] = []
    width, variable = 0, 0
    for name, leaf in (leaf for f in t.fields for leaf in leaves(f.type, f.name)):
        if isinstance(leaf, Varbit):
            fields.append([name, "*"])
            variable += leaf.width
            continue
        bits = bits_of(leaf)
        fields.append([name, bits.width, bits.signed and bits.width > 1])
        width += bits.width
    if width % 8:
        fields.append(["_padding_0", 8 - width % 8, False])
    out: Json = {"fields": fields}
    if variable:
        if sum(len(f) == 2 for f in fields) > 1:
            raise Unsupported(pos, f"header {t} with more than one varbit field")
        out |= {"length_exp": None, "max_length": (width + variable + 7) // 8}
    return out


class Bindings:
    """The place of each variable: given ones, and new ones for the rest."""

    def __init__(self, places: VariablePlaces) -> None:
        self._places = places
        self._of: dict[ir.Var, Place] = {}

    def bind(self, var: ir.Var, place: Place) -> None:
        """Let ``var`` stand for ``place`` from now on."""
        self._of[var] = place

    def unbind(self, var: ir.Var) -> None:
        """Forget the place of ``var``."""
        self._of.pop(var, None)

    def __getitem__(self, var: ir.Var) -> Place:
        if var not in self._of:
            self._of[var] = self._places.temporary(var.type, var.name, var.pos)
        return self._of[var]


def header_names(place: Place, pos: Pos) -> list[str]:
    """The names of the headers in a place that a deparser emits."""
    if isinstance(place, HeaderAt) and place.name is not None:
        return [place.name]
    parts: tuple[Place, ...] | None = None
    if isinstance(place, ValueGroup):
        parts = place.parts
    elif isinstance(place, StackAt):
        parts = place.elements
    elif isinstance(place, UnionAt):
        parts = place.members
    if parts is None:
        raise Unsupported(pos, "emit of what is not a header with a place of its own, in bmv2's JSON")
    return [name for part in parts for name in header_names(part, pos)]
