# SPDX-License-Identifier: Apache-2.0
"""Variables as an editor shows them: rows, and nodes that have more rows, which are read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_p4 import ir
from offramp_p4.types import Stack, strip
from offramp_p4_tools.debug import values
from offramp_p4_tools.debug.values import MemoryValue, shown

if TYPE_CHECKING:
    from offramp_p4.engine.layout import Memory
    from offramp_p4_tools.debug.code import DebugCode, Location

_T = TypeVar("_T")
MOST_ROWS: Final = 4096
"""Most rows in one answer."""


@dataclass(frozen=True, slots=True)
class VariableRow:
    """A line: ``node`` has the lines below it, ``put`` sets its value, ``path`` is an expression for the value."""

    name: str
    text: str
    type: str = ""
    node: RowSource | None = None
    put: Callable[[str], None] | None = None
    path: str = ""


class RowSource(Protocol):
    """Rows below a row; ``indexed`` where they are called ``[0]``, ``[1]`` and so on."""

    @property
    def size(self) -> int:
        """Number of rows."""

    @property
    def indexed(self) -> bool:
        """Whether rows are elements of an array, which clients ask for by pages."""

    def rows(self, start: int = 0, most: int = MOST_ROWS) -> list[VariableRow]:
        """At most ``most`` rows from number ``start`` on."""


class RowList:
    """Rows that are few, made when they are asked for."""

    indexed = False

    def __init__(self, make: Callable[[], Sequence[VariableRow]], size: int) -> None:
        self._make, self.size = make, size

    def rows(self, start: int = 0, most: int = MOST_ROWS) -> list[VariableRow]:
        """At most ``most`` rows from number ``start`` on."""
        return list(self._make())[start : start + most]


class Elements(Generic[_T]):
    """The rows of an array, made from those of its ``items`` that are asked for."""

    indexed = True

    def __init__(self, size: int, items: Callable[[], Iterable[_T]], make: Callable[[int, _T], VariableRow]) -> None:
        self.size, self._items, self._make = size, items, make

    def rows(self, start: int = 0, most: int = MOST_ROWS) -> list[VariableRow]:
        """At most ``most`` rows from number ``start`` on."""
        items = self._items()
        page = items[start : start + most] if isinstance(items, list | range) else islice(items, start, start + most)
        return [self._make(i, item) for i, item in enumerate(page, start)]


def find(node: RowSource, name: str) -> VariableRow:
    """The row of this name.

    Raises:
        OfframpError: there is none.
    """
    index = whole_number(name[1:-1]) if node.indexed and name.startswith("[") and name.endswith("]") else None
    rows = node.rows() if index is None else node.rows(index, 1)
    for row in rows:
        if row.name == name:
            return row
    raise OfframpError(f"no variable {name[:80]!r} here")


@dataclass(frozen=True)
class FrameView:
    """A frame of a packet that is held, in which expressions are evaluated."""

    code: DebugCode
    location: Location
    m: Memory

    def row(self, value: MemoryValue, path: str = "") -> VariableRow:
        """The row of a value."""
        path = path or value.name
        put = None if value.place is None else partial(self._assign, value.place)
        node = StructureRows(self, value, path) if values.count(value.type) else None
        return VariableRow(value.name, shown(value, self.code.program.errors), str(value.type), node, put, path)

    def _assign(self, place: ir.Expr, text: str) -> None:
        self.code.expressions.assign(self.location, place, text, self.m)

    def variables(self) -> dict[str, MemoryValue]:
        """The variables in scope, innermost last, without those that have no value."""
        layout = self.code.layout
        values = {}
        for var in self.location.variables:
            if var.type.slots:
                ref = ir.VarRef(var, type=strip(var.type))
                values[var.name] = MemoryValue(var.name, var.declared or var.type, self.m, layout.base(var), ref)
        return values

    def value(self, text: str) -> VariableRow:
        """The row of an expression.

        Raises:
            OfframpError: the text is not an expression, or has no value here.
        """
        return self.row(self.code.expressions.value(self.location, text, self.m), text)


class StructureRows:
    """The parts of a structure."""

    def __init__(self, view: FrameView, value: MemoryValue, path: str) -> None:
        self._view, self._value, self._path = view, value, path
        self.size = values.count(value.type)
        self.indexed = isinstance(strip(value.type), Stack)

    def rows(self, start: int = 0, most: int = MOST_ROWS) -> list[VariableRow]:
        """At most ``most`` rows from number ``start`` on."""
        parts = values.parts(self._value, start, most)
        return [self._view.row(p, self._path + (p.name if p.name[0] == "[" else f".{p.name}")) for p in parts]
