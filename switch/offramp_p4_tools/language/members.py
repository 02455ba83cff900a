# SPDX-License-Identifier: Apache-2.0
"""Members behind a dot: fields, methods and P4's built-in ones, by the type in front of it."""

from __future__ import annotations

from typing import Final

from offramp_p4.frontend.syntax import ast
from offramp_p4.source import NOWHERE
from offramp_p4_tools.language.symbols import Kept, Symbol, SymbolScope

_HEADER: Final = {
    "isValid": "bool isValid()",
    "setValid": "void setValid()",
    "setInvalid": "void setInvalid()",
    "minSizeInBits": "int minSizeInBits()",
    "minSizeInBytes": "int minSizeInBytes()",
    "maxSizeInBits": "int maxSizeInBits()",
    "maxSizeInBytes": "int maxSizeInBytes()",
}
_STACK: Final = {
    "next": "the element after the last one that was extracted",
    "last": "the element that was extracted last",
    "lastIndex": "bit<32> lastIndex",
    "size": "int size",
    "push_front": "void push_front(int count)",
    "pop_front": "void pop_front(int count)",
}
_APPLIED: Final = {"hit": "bool hit", "miss": "bool miss", "action_run": "the action that ran, for switch"}
_APPLY: Final = {"apply": "apply(…)"}
_DEPTH: Final = 64
"""Type definitions that lead to each other, at most."""


def meant(kept: Kept | None, depth: int = 0) -> tuple[Symbol | None, Kept | None]:
    """A type after ``typedef`` and type parameters have been followed: its symbol, if it has one, and itself."""
    if kept is None or depth > _DEPTH or not isinstance(kept.type, ast.NamedType):
        return None, kept
    if kept.type.name in kept.given:
        return meant(kept.given[kept.type.name], depth + 1)
    symbol = kept.scope.find(kept.type.name, absolute=kept.type.absolute)
    if symbol is not None and symbol.kind == "type" and symbol.kept is not None:
        return meant(symbol.kept, depth + 1)
    return symbol, kept


def members(kept: Kept | None) -> dict[str, Symbol]:
    """The members of a value of this type, by name."""
    symbol, real = meant(kept)
    if real is not None and isinstance(real.type, ast.StackType):
        return {name: _built_in(name, text, _element(real, name)) for name, text in _STACK.items()}
    if symbol is None or symbol.inside is None:
        return {}
    if symbol.kind in ("parser", "control"):
        return applicable()
    out = {name: several[0] for name, several in symbol.inside.own.items() if several[0].kind in ("field", "method")}
    if symbol.kind in ("header", "header union"):
        out |= {name: _built_in(name, text) for name, text in _HEADER.items()}
    return out


def applied() -> dict[str, Symbol]:
    """The members of the result of a table's ``apply``."""
    return {name: _built_in(name, text) for name, text in _APPLIED.items()}


def applicable() -> dict[str, Symbol]:
    """The members of a table, a parser or a control."""
    return {name: _built_in(name, text) for name, text in _APPLY.items()}


def ends_of_parsers() -> dict[str, Symbol]:
    """The states of every parser."""
    return {name: Symbol(name, "state", NOWHERE, f"state {name}") for name in ("accept", "reject")}


def element(kept: Kept | None) -> Kept | None:
    """The type of a stack's element."""
    _, real = meant(kept)
    return Kept(real.type.element, real.scope, real.given) if real and isinstance(real.type, ast.StackType) else None


def given(symbol: Symbol, kept: Kept) -> dict[str, Kept]:
    """The arguments of ``symbol``'s type parameters where ``kept`` names it."""
    arguments = kept.type.args if isinstance(kept.type, ast.NamedType) else []
    names = [each.name for several in (symbol.inside.own.values() if symbol.inside else ()) for each in several]
    parameters = [name for name in names if symbol.inside and symbol.inside.own[name][0].kind == "type parameter"]
    return {name: Kept(each, kept.scope, kept.given) for name, each in zip(parameters, arguments, strict=False)}


def _element(stack: Kept, name: str) -> Kept | None:
    return element(stack) if name in ("next", "last") else None


def _built_in(name: str, shown: str, kept: Kept | None = None) -> Symbol:
    return Symbol(name, "method" if "(" in shown else "field", NOWHERE, shown, kept, SymbolScope())
