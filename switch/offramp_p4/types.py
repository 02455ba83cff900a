# SPDX-License-Identifier: Apache-2.0
"""P4 types as the front end resolves them: every IR expression carries one (P4-16 specification, section 7).

Types are immutable and compare structurally, except that nominal types (struct, header, enum, extern, …)
compare by identity of their declaration. ``slots`` is the number of scalar cells a value takes in the flat
memory of an engine:

========================  =======================================================================
bit, int, bool, error,    1
enum, string
varbit                    2: value, then the current width in bits
struct, tuple             the cells of the fields, in order
header                    1 cell for validity (0 or 1), then the fields
header union              the cells of its headers, in order
stack                     1 cell for nextIndex, then the elements
array                     the cells of the elements, in order
========================  =======================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property


class Type:
    """Base of all types."""

    @property
    def slots(self) -> int:
        """Cells in flat memory; 0 for types that have no run-time value."""
        return 0


@dataclass(frozen=True)
class Bits(Type):
    """``bit<width>`` or, if signed, ``int<width>``."""

    width: int
    signed: bool = False

    @property
    def slots(self) -> int:
        """Cells in flat memory."""
        return 1

    @property
    def mask(self) -> int:
        """All ones."""
        return (1 << self.width) - 1

    def wrap(self, value: int) -> int:
        """Reduce an integer to this type's range: modulo 2^width, two's complement if signed."""
        value &= self.mask
        if self.signed and self.width and value >> (self.width - 1):
            value -= 1 << self.width
        return value

    def __str__(self) -> str:
        return f"{'int' if self.signed else 'bit'}<{self.width}>"


@dataclass(frozen=True)
class Varbit(Type):
    """``varbit<width>``, width being the maximum."""

    width: int

    @property
    def slots(self) -> int:
        """Cells in flat memory."""
        return 2

    def __str__(self) -> str:
        return f"varbit<{self.width}>"


@dataclass(frozen=True)
class _Simple(Type):
    name: str
    cells: int

    @property
    def slots(self) -> int:
        """Cells in flat memory."""
        return self.cells

    def __str__(self) -> str:
        return self.name


BOOL = _Simple("bool", 1)
INT = _Simple("int", 1)  # arbitrary precision: known at compile time only
STRING = _Simple("string", 1)
ERROR = _Simple("error", 1)  # value: index into Program.errors
MATCH_KIND = _Simple("match_kind", 0)
VOID = _Simple("void", 0)
DONTCARE = _Simple("_", 0)
STATE = _Simple("state", 0)
PACKET = _Simple("packet", 0)


@dataclass(eq=False)
class Nominal(Type):
    """A type that equals only itself."""

    name: str
    annotations: dict[str, Annotation] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Annotation:
    """``@name(args)``, args being literals or token texts; or structured: ``@name[args]``, ``@name[k=v]`` (kv).

    ``others`` are those of the same name before it.
    """

    name: str
    args: tuple[object, ...] = ()
    kv: tuple[tuple[str, object], ...] = ()
    structured: bool = False
    others: tuple[Annotation, ...] = ()


@dataclass(eq=False)
class Enum(Nominal):
    """``enum``; a value is the member's index. With ``base``, a serialisable enum: a value is the number."""

    members: dict[str, int] = field(default_factory=dict)
    base: Bits | None = None

    @property
    def slots(self) -> int:
        """Cells in flat memory."""
        return 1

    def member(self, value: int) -> str | None:
        """Name of the member that has this value, or None (possible for a serialisable enum)."""
        return next((n for n, v in self.members.items() if v == value), None)


@dataclass(eq=False)
class StructField:
    """A field of a struct-like type."""

    name: str
    type: Type
    annotations: dict[str, Annotation] = field(default_factory=dict, repr=False)


@dataclass(eq=False)
class Structure(Nominal):
    """Struct, header or header union: named fields in order."""

    fields: list[StructField] = field(default_factory=list)

    @cached_property
    def index(self) -> dict[str, int]:
        """Field name to position."""
        return {f.name: i for i, f in enumerate(self.fields)}

    @cached_property
    def slots(self) -> int:
        """Cells in flat memory."""
        return self.first + sum(f.type.slots for f in self.fields)

    @property
    def first(self) -> int:
        """Cells before the first field."""
        return 0

    @cached_property
    def offsets(self) -> list[int]:
        """Cell offset of each field."""
        at, out = self.first, []
        for f in self.fields:
            out.append(at)
            at += f.type.slots
        return out


class Struct(Structure):
    """A ``struct`` with named fields."""


class Header(Structure):
    """``header``: its first cell is the validity bit."""

    @property
    def first(self) -> int:
        """Cells before the first field."""
        return 1

    @cached_property
    def flexible(self) -> bool:
        """Whether the target lays out its fields, in whole bytes: ``@flexible`` on the header or any part of it."""
        return _flexible(self)

    @cached_property
    def fixed_width(self) -> int:
        """Bits of all fields, varbits counted as 0."""
        return sum(_width(f.type) for f in self.fields)


class Union(Structure):
    """``header_union``: at most one of its headers is valid."""


@dataclass(frozen=True)
class Stack(Type):
    """``element[size]``: a stack of headers or header unions, or an array of values of another type."""

    element: Type
    size: int

    @property
    def first(self) -> int:
        """Cells before the first element: a stack has a nextIndex, an array has nothing."""
        return int(isinstance(strip(self.element), Header | Union))

    @property
    def slots(self) -> int:
        """Cells in flat memory."""
        return self.first + self.size * self.element.slots

    def __str__(self) -> str:
        return f"{self.element}[{self.size}]"


@dataclass(frozen=True)
class Tuple(Type):
    """``tuple<...>``; also the type of a list expression that no context converts."""

    types: tuple[Type, ...]

    @property
    def slots(self) -> int:
        """Cells in flat memory."""
        return sum(t.slots for t in self.types)

    @property
    def offsets(self) -> list[int]:
        """Cell offset of each component."""
        at, out = 0, []
        for t in self.types:
            out.append(at)
            at += t.slots
        return out

    def __str__(self) -> str:
        return f"tuple<{', '.join(map(str, self.types))}>"


@dataclass(frozen=True)
class List(Type):
    """``list<T>``: only as an argument of extern constructors."""

    element: Type

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True)
class Set(Type):
    """The type of a key set expression over ``element``."""

    element: Type

    def __str__(self) -> str:
        return f"set<{self.element}>"


@dataclass(eq=False)
class Newtype(Nominal):
    """``type T name``: distinct from its base when checked, the same when executed."""

    base: Type = VOID

    @property
    def slots(self) -> int:
        """Cells in flat memory."""
        return self.base.slots


@dataclass(frozen=True)
class ExternType(Type):
    """An extern type with its type arguments; parameters such as ``packet_in`` have one."""

    name: str
    args: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}<{', '.join(map(str, self.args))}>" if self.args else self.name


@dataclass(eq=False)
class TypeVar(Nominal):
    """A type parameter of a generic declaration."""


def strip(t: Type) -> Type:
    """The type that executes: newtypes replaced by what they stand for (not inside structures)."""
    while isinstance(t, Newtype):
        t = t.base
    return t


def _flexible(t: Type) -> bool:
    t = strip(t)
    return isinstance(t, Structure) and (
        "flexible" in t.annotations or any("flexible" in f.annotations or _flexible(f.type) for f in t.fields)
    )


def _width(t: Type) -> int:
    t = strip(t)
    if isinstance(t, Bits):
        return t.width
    if isinstance(t, Enum) and t.base is not None:
        return t.base.width
    if t == BOOL:
        return 1
    if isinstance(t, Struct):
        return sum(_width(f.type) for f in t.fields)
    if isinstance(t, Stack):
        return t.size * bit_width(t.element)
    return 0


def bit_width(t: Type) -> int:
    """Serialised bits of a scalar, struct or header type (varbits count 0)."""
    if isinstance(t, Header):
        return t.fixed_width
    if isinstance(t, Tuple):
        return sum(bit_width(x) for x in t.types)
    if isinstance(t, Stack):
        return t.size * bit_width(t.element)
    return _width(t)


def scalars(t: Type) -> Sequence[Type]:
    """The scalar types of the cells of ``t``, in order (a validity or nextIndex cell counts as ``bit<32>``)."""
    t = strip(t)
    if isinstance(t, Header):
        return [Bits(32), *(s for f in t.fields for s in scalars(f.type))]
    if isinstance(t, Structure):
        return [s for f in t.fields for s in scalars(f.type)]
    if isinstance(t, Tuple):
        return [s for x in t.types for s in scalars(x)]
    if isinstance(t, Stack):
        return [Bits(32)] * t.first + list(scalars(t.element)) * t.size
    if isinstance(t, Varbit):
        return [t, Bits(32)]
    return [t] if t.slots else []
