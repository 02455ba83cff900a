# SPDX-License-Identifier: Apache-2.0
"""Lists in ``select`` stand for their parts (P4-16 specification, section 13.6)."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.frontend.check.typing import deep_strip
from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error
from offramp_p4.types import Stack, Structure, Tuple, Type, scalars


def select_keys(e: ir.Expr) -> list[ir.Expr]:
    """The scalars of a select expression: a list stands for its parts."""
    parts = _components(e)
    for part in parts:
        if part.type.slots != 1 or isinstance(part.type, Structure | Stack):
            raise P4Error(e.pos, f"cannot select on a value of type {part.type}")
    return parts


def case_keys(node: ast.Expr, t: Type) -> list[ast.Expr]:
    """A key for each scalar of ``t``: a list stands for its parts, ``default`` for all of them."""
    if not isinstance(t, Tuple):
        return [node]
    if isinstance(node, ast.WildcardExpr):
        return [node] * len(scalars(t))
    if not isinstance(node, ast.ListExpr) or len(node.items) != len(t.types):
        raise P4Error(node.pos, f"expected a list of {len(t.types)} keys")
    return [key for item, part in zip(node.items, t.types, strict=True) for key in case_keys(item, part)]


def _components(e: ir.Expr) -> list[ir.Expr]:
    """The scalars that a list or tuple consists of; other values themselves."""
    if not isinstance(e.type, Tuple):
        return [e]
    if isinstance(e, ir.Compose):
        return [part for p in e.parts for part in _components(p)]
    parts = [ir.Member(e, n, type=deep_strip(t), pos=e.pos) for n, t in enumerate(e.type.types)]
    return [scalar for part in parts for scalar in _components(part)]
