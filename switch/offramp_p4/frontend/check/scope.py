# SPDX-License-Identifier: Apache-2.0
"""The meaning of names while a program is elaborated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.types import Type

if TYPE_CHECKING:
    from offramp_p4.frontend.syntax import ast


@dataclass(eq=False, slots=True)
class Template:
    """A declaration that needs arguments: a generic struct, an extern, a parser, a control, a package.

    ``others`` are those of the same name and kind, which take other arguments.
    """

    decl: ast.StructDecl | ast.ExternDecl | ast.ParserDecl | ast.ControlDecl | ast.PackageDecl
    scope: Scope
    cache: dict[tuple[Type, ...], Type] = field(default_factory=dict)
    others: list[Template] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Overloads:
    """Functions of one name; externs have no body."""

    name: str
    decls: list[ast.FunctionDecl]
    scope: Scope


@dataclass(eq=False, slots=True)
class Constant:
    """A name for a value known at compile time (also a constructor parameter)."""

    value: ir.Expr


@dataclass(eq=False, slots=True)
class ObjectArray:
    """``T(args) name[4];``: extern objects by number."""

    objects: list[ir.ExternInstance]


Entity = (
    Type | Template | Overloads | Constant | ir.Var | ir.Action | ir.MatchTable | ir.ExternInstance | ir.ParserInstance
    | ir.ControlInstance | ir.PackageInstance | ir.ValueSet | ObjectArray
)  # fmt: skip


class Scope:
    """Names visible at a place; looks outwards."""

    __slots__ = ("_names", "_parameters", "parent")

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self._names: dict[str, Entity] = {}
        self._parameters: set[str] = set()

    def find(self, name: str, *, absolute: bool = False) -> Entity | None:
        """The innermost meaning of ``name`` (the outermost scope's when ``absolute``)."""
        scope: Scope | None = self.root if absolute else self
        while scope is not None:
            if name in scope._names:
                return scope._names[name]
            scope = scope.parent
        return None

    def here(self, name: str) -> Entity | None:
        """The meaning of ``name`` in this very scope."""
        return self._names.get(name)

    def put(self, name: str, entity: Entity, *, parameter: bool = False) -> None:
        """Bind ``name``; its meaning in outer scopes is shadowed."""
        self._names[name] = entity
        if parameter:
            self._parameters.add(name)

    def is_parameter(self, name: str) -> bool:
        """Whether the innermost meaning of ``name`` is a parameter."""
        scope: Scope | None = self
        while scope is not None and name not in scope._names:
            scope = scope.parent
        return scope is not None and name in scope._parameters

    @property
    def root(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def names(self) -> list[str]:
        """Every visible name, for suggestions."""
        out = list(self._names)
        return out + (self.parent.names() if self.parent else [])
