# SPDX-License-Identifier: Apache-2.0
"""The meaning of names: symbols, and the places that use them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offramp_p4.frontend.syntax import ast
    from offramp_p4.source import Pos


@dataclass(eq=False, slots=True)
class Symbol:
    """Something that has a name.

    Attributes:
        kind: ``header``, ``struct``, ``field``, ``table``, ``action`` …, as people call it.
        pos: position of the name in its declaration.
        shown: the declaration's head in one line.
        kept: the type of what it names; None for types, actions and other names without one.
        inside: names that a dot or the block's own scope leads to.
        uses: positions of its uses, without its declaration.
        within: the block or type that declares it.
    """

    name: str
    kind: str
    pos: Pos
    shown: str
    kept: Kept | None = None
    inside: SymbolScope | None = None
    uses: list[Pos] = field(default_factory=list)
    within: Symbol | None = None
    written: bool = True


@dataclass(frozen=True, slots=True)
class Kept:
    """A type as it is written, and what its names mean there.

    ``given`` are the types that stand for type parameters.
    """

    type: ast.TypeNode
    scope: SymbolScope
    given: dict[str, Kept] = field(default_factory=dict)


class SymbolScope:
    """Names at a place; functions and blocks may share one."""

    def __init__(self, parent: SymbolScope | None = None) -> None:
        self.parent = parent
        self.own: dict[str, list[Symbol]] = {}

    def add(self, symbol: Symbol) -> None:
        """Give a name another meaning."""
        self.own.setdefault(symbol.name, []).append(symbol)

    def find(self, name: str, *, absolute: bool = False) -> Symbol | None:
        """The innermost meaning of a name, the first of several; the outermost scope's when ``absolute``."""
        symbols = self.find_all(name, absolute=absolute)
        return symbols[0] if symbols else None

    def find_all(self, name: str, *, absolute: bool = False) -> list[Symbol]:
        """All meanings of a name in the innermost scope that has any: functions of one name."""
        scope: SymbolScope | None = self
        while scope is not None:
            if name in scope.own and not (absolute and scope.parent):
                return scope.own[name]
            scope = scope.parent
        return []

    def visible(self) -> Iterator[Symbol]:
        """Every symbol that has a meaning here, the innermost first, each name once."""
        seen: set[str] = set()
        scope: SymbolScope | None = self
        while scope is not None:
            for name, symbols in scope.own.items():
                if name not in seen:
                    seen.add(name)
                    yield symbols[0]
            scope = scope.parent
