# SPDX-License-Identifier: Apache-2.0
"""Restrictions on places and types that need one declaration only (P4-16 section 6.8, appendix F)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error, Pos
from offramp_p4.types import (
    BOOL,
    ERROR,
    INT,
    MATCH_KIND,
    STRING,
    VOID,
    Bits,
    Enum,
    ExternType,
    Header,
    Newtype,
    Type,
    TypeVar,
    Varbit,
    scalars,
    strip,
)  # fmt: skip

Where = Literal["", "parser", "control", "action", "function"]
"""The kind of block that the current statement belongs to; empty at top level."""

Callee = Literal["parser", "control", "table", "action", "verify", "exit"]
_CALLERS: Final[dict[Callee, Sequence[Where]]] = {
    "parser": ("parser",),
    "control": ("control",),
    "table": ("control",),
    "action": ("control", "action"),
    "verify": ("parser", "function"),
    "exit": ("control", "action"),
}
_INSTANCES: Final[dict[str, Sequence[Where]]] = {
    "parser": ("", "parser"),
    "control": ("", "control"),
    "package": ("",),
    "extern": ("", "parser", "control"),
}


def check_call(callee: Callee, name: str, where: Where, pos: Pos) -> None:
    """Run-time calls (appendix F): what a parser state, an apply block, an action or a function may call."""
    if where and where not in _CALLERS[callee]:
        what = f"'{name}'" if callee in ("verify", "exit") else f"{callee} '{name}'"
        raise P4Error(pos, f"{what} cannot stand in {_article(where)}")


def check_instance(kind: str, name: str, where: Where, pos: Pos) -> None:
    """Compile-time calls (appendix F): where a constructor may be called."""
    if where not in _INSTANCES[kind]:
        raise P4Error(pos, f"{kind} '{name}' cannot be instantiated in {_article(where)}")


def check_distinct(names: Iterable[tuple[str, Pos]], what: str) -> None:
    """No name twice in one list."""
    seen: set[str] = set()
    for name, pos in names:
        if name in seen:
            raise P4Error(pos, f"{what} '{name}' is declared twice")
        seen.add(name)


def check_parameters(*lists: Sequence[ast.Param], type_params: Sequence[str] = (), pos: Pos) -> None:
    """Names are distinct, also among type parameters; out parameters have no default value (section 6.8.2)."""
    names = [(p.name, p.pos) for params in lists for p in params]
    check_distinct([(n, pos) for n in type_params], "type parameter")
    check_distinct([*((n, pos) for n in type_params), *names], "parameter")
    for p in (p for params in lists for p in params):
        if p.default is not None and p.direction in ("out", "inout"):
            raise P4Error(p.default.pos, f"{p.direction} parameter '{p.name}' cannot have a default value")


def check_direction(name: str, direction: str, t: Type, pos: Pos) -> None:
    """Compile-time values and extern objects are passed without a direction (section 6.8).

    Raises:
        P4Error: the parameter has one, or is void.
    """
    t = strip(t)
    if direction and (t in (STRING, INT, MATCH_KIND) or isinstance(t, ExternType)):
        raise P4Error(pos, f"parameter '{name}' of type {t} cannot have a direction")
    if t == VOID:
        raise P4Error(pos, f"parameter '{name}' cannot be void")


def check_newtype(name: str, t: Type, pos: Pos) -> None:
    """``type`` names simple types only (section 7.2.9)."""
    base = strip(t)
    if not (isinstance(base, Bits | TypeVar) or base in (BOOL, ERROR) or (isinstance(base, Enum) and base.base)):
        raise P4Error(pos, f"'type {name}' needs bit<>, int<>, bool or an enum to stand for, not {t}")


def check_enum_base(t: Type, pos: Pos) -> None:
    """The underlying type of an enum (section 7.2.1)."""
    if isinstance(t, Newtype):
        raise P4Error(pos, f"the base of an enum must be a bit string, not the new type {t}")


def check_methods(decl: ast.ExternDecl) -> None:
    """Overloads differ in the number or the names of their parameters (section 7.2.10.2)."""
    seen: set[tuple[str, int, frozenset[str]]] = set()
    for m in decl.methods:
        key = (m.name, len(m.params), frozenset(p.name for p in m.params))
        if key in seen:
            raise P4Error(m.pos, f"'{decl.name}' has two methods '{m.name}' with the same parameters")
        seen.add(key)


def check_packet_call(method: str, t: Type, args: int, pos: Pos) -> None:
    """Check the argument of ``extract`` or ``lookahead`` (section 13.8).

    Raises:
        P4Error: a value of this type cannot be extracted, or looked ahead at.
    """
    if isinstance(t, TypeVar):
        return
    variable = sum(isinstance(s, Varbit) for s in scalars(t))
    if method == "extract":
        if t != VOID and not isinstance(t, Header):
            raise P4Error(pos, f"only headers can be extracted, not {t}")
        if variable > 1:
            raise P4Error(pos, f"header {t} has {variable} varbit fields: one at most can be extracted")
        if t != VOID and variable != (args == 2):
            what = "has a varbit field: say its width in bits" if variable else "has no varbit field to give a width to"
            raise P4Error(pos, f"header {t} {what}")
    if method == "lookahead" and (variable or t == VOID):
        raise P4Error(pos, f"lookahead needs a type of fixed width, not {t}")


def check_labels(node: ast.SwitchStmt) -> None:
    """``default`` comes last (section 12.7)."""
    for label, _ in node.cases[:-1]:
        if isinstance(label, ast.WildcardExpr):
            raise P4Error(label.pos, "'default' must be the last label of a switch")


def check_annotations(nodes: Sequence[ast.Annot]) -> None:
    """A structured annotation stands at most once, and its keys are distinct (section 20.1)."""
    structured = {a.name for a in nodes if a.structured}
    check_distinct([(a.name, a.pos) for a in nodes if a.name in structured], "annotation")
    for a in nodes:
        if a.name == "name" and not a.structured and not a.tokens:
            raise P4Error(a.pos, "@name needs a string in parentheses")
        if a.name == "p4runtime_translation" and not _is_translation(a):
            raise P4Error(a.pos, '@p4runtime_translation needs ("URI", string) or ("URI", bit<WIDTH>)')


def _is_translation(a: ast.Annot) -> bool:
    """Whether the controller's type is one that P4Runtime knows (its section 10.4.6); a width alone is an old form."""
    kinds = [t.kind if t.kind in {"str", "int"} else t.text for t in a.tokens]
    forms = (["string"], ["int"], ["bit", "<", "int", ">"])
    return not a.structured and kinds[:2] == ["str", ","] and kinds[2:] in forms


def same_syntax(a: object, b: object) -> bool:
    """Whether two pieces of syntax read the same, wherever they stand."""
    if isinstance(a, ast.StructExpr) and isinstance(b, ast.StructExpr):
        named = [dict(zip(x.names, x.items, strict=True)) for x in (a, b)]
        return named[0].keys() == named[1].keys() and all(same_syntax(v, named[1][k]) for k, v in named[0].items())
    if isinstance(a, ast.Node):
        fields = [f for f in a.__dataclass_fields__ if f != "pos"]
        return type(a) is type(b) and all(same_syntax(getattr(a, f), getattr(b, f)) for f in fields)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_syntax, a, b))
    return a == b


def _article(where: Where) -> str:
    return {"action": "an action", "": "no block"}.get(where, f"a {where}")
