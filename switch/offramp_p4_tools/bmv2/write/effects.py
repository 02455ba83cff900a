# SPDX-License-Identifier: Apache-2.0
"""Contents of expressions: operands, side effects, and parts that bmv2 must find in a variable."""

from __future__ import annotations

from dataclasses import replace

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.types import Header, Stack, Type, Union, strip
from offramp_p4_tools.bmv2.write.expressions import is_place

EFFECTS = (ir.FunctionCall, ir.ExternCall, ir.ActionCall, ir.ApplyCall, ir.TableApply)
_OPERANDS = ("left", "right", "operand", "base", "index", "condition", "then", "otherwise")


def children(e: ir.Expr) -> list[ir.Expr]:
    """The operands of an expression, in the order in which they are evaluated."""
    if isinstance(e, ir.Compose):
        return list(e.parts)
    if isinstance(e, ir.Mux):
        return [e.condition, e.then, e.otherwise]
    return [child for name in _OPERANDS if isinstance(child := getattr(e, name, None), ir.Expr)]


def with_children(e: ir.Expr, children: list[ir.Expr]) -> ir.Expr:
    """The expression with other operands."""
    if isinstance(e, ir.Compose):
        return replace(e, parts=children)
    names = [name for name in _OPERANDS if isinstance(getattr(e, name, None), ir.Expr)]
    return replace(e, **dict(zip(names, children, strict=True)))  # type: ignore[arg-type]


def replaced(e: ir.Expr, old: ir.Expr, new: ir.Expr) -> ir.Expr:
    """``e`` with ``new`` where the object ``old`` stands."""
    if e is old:
        return new
    if not any(node is old for node in walk.nodes(e)):
        return e
    return with_children(e, [replaced(child, old, new) for child in children(e)])


def is_scalar(t: Type) -> bool:
    """Whether a value is one number."""
    return t.slots == 1 and not isinstance(strip(t), Header | Union | Stack)


def has_effects(e: object) -> bool:
    """Whether evaluating an expression has side effects."""
    return any(isinstance(node, EFFECTS) for node in walk.nodes(e))


def needs_variables(e: ir.Expr) -> bool:
    """Whether an expression has a component of a value that is not stored, or a comparison of more than scalars."""
    return any(
        (isinstance(n, ir.Member) and not is_place(n))
        or (isinstance(n, ir.IsValid) and not is_place(n.base))
        or (isinstance(n, ir.Binary) and n.op in {"==", "!="} and not is_scalar(n.left.type))
        for n in walk.nodes(e)
    )


def root(e: ir.Expr) -> ir.Var | None:
    """The variable that an l-value is a part of."""
    while isinstance(e, ir.Member | ir.Element | ir.Slice | ir.StackLast | ir.StackNext):
        e = e.base
    return e.var if isinstance(e, ir.VarRef) else None


def mentions(e: ir.Expr, var: ir.Var | None) -> bool:
    """Whether an expression reads a variable."""
    return any(isinstance(n, ir.VarRef) and n.var is var for n in walk.nodes(e))
