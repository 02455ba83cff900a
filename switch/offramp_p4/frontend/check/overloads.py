# SPDX-License-Identifier: Apache-2.0
"""Declarations of one name, told apart by the number and the names of their parameters (P4-16 section 7.2.10.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp_p4.frontend.check.scope import Template

Params = list[ast.Param]
_Decl = ast.StructDecl | ast.ExternDecl | ast.ParserDecl | ast.ControlDecl | ast.PackageDecl


def check_required(params: Sequence[ast.Param]) -> None:
    """Check that no parameter of an action or a function may be left out.

    Raises:
        P4Error: one has ``@optional``.
    """
    for p in params:
        if optional(p):
            raise P4Error(p.pos, f"'{p.name}': a parameter of an action or a function cannot be @optional")


def optional(p: ast.Param) -> bool:
    """Whether a parameter may be left out, without a default value."""
    return any(a.name == "optional" for a in p.annotations)


def fits(params: Params, node: ast.CallExpr) -> bool:
    """Whether a call gives what parameters ask for, by number and names."""
    required = {p.name for p in params if p.default is None and not optional(p)}
    names = {n for n in node.names if n is not None}
    if names:
        return required <= names <= {p.name for p in params}
    return len(required) <= len(node.args) <= len(params)


def choose(name: str, candidates: Sequence[ast.FunctionDecl], node: ast.CallExpr) -> ast.FunctionDecl:
    """The function that a call means.

    Raises:
        P4Error: none, or one of several externs.
    """
    fitting = [d for d in candidates if fits(d.params, node)]
    if not fitting:
        counts = " or ".join(sorted({str(len(d.params)) for d in candidates}))
        raise P4Error(node.pos, f"'{name}' takes {counts} arguments, {len(node.args)} given")
    exact = [d for d in fitting if len(d.params) == len(node.args) and d.body is None]
    if len(exact) > 1 and not any(node.names):
        raise P4Error(node.pos, f"this call fits {len(exact)} functions '{name}': name its arguments")
    return fitting[0]


def choose_template(template: Template, node: ast.CallExpr) -> Template:
    """The parser, control or package that a constructor call means.

    Raises:
        P4Error: several.
    """
    if not template.others:
        return template
    fitting = [t for t in (template, *template.others) if fits(_constructor(t.decl) or [], node)]
    if len(fitting) > 1:
        raise P4Error(node.pos, f"this call fits {len(fitting)} declarations of '{template.decl.name}'")
    return fitting[0] if fitting else template


def overloadable(a: _Decl, b: _Decl) -> bool:
    """Whether calls can tell two declarations of one name apart."""
    one, other = _constructor(a), _constructor(b)
    if type(a) is not type(b) or one is None or other is None:
        return False
    return len(one) != len(other) or {p.name for p in one} != {p.name for p in other}


def _constructor(d: _Decl) -> Params | None:
    """The parameters of a constructor; None for a declaration without one."""
    if isinstance(d, ast.PackageDecl):
        return d.ctor
    if isinstance(d, ast.ParserDecl) and d.states is not None:
        return d.ctor
    return d.ctor if isinstance(d, ast.ControlDecl) and d.body is not None else None
