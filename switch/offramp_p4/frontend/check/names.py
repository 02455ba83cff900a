# SPDX-License-Identifier: Apache-2.0
"""The control-plane name of a table key, printed as p4c prints the expression (section 18.3.3)."""

from __future__ import annotations

from collections.abc import Callable

from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error

Alias = Callable[[ast.Dot], "str | None"]


def key_name(node: ast.Expr, alias: Alias) -> str:
    """Name of a key expression; ``alias`` gives the ``@name`` of a field, if it has one.

    Raises:
        P4Error: the expression has no name of its own; it needs ``@name``.
    """
    match node:
        case ast.NameExpr():
            return node.name
        case ast.Dot():
            name = alias(node) or node.name
            return name[1:] if name.startswith(".") else f"{key_name(node.base, alias)}.{name}"
        case ast.IndexExpr():
            return f"{key_name(node.base, alias)}[{key_name(node.index, alias)}]"
        case ast.SliceOp() if not node.plus:
            return f"{key_name(node.base, alias)}[{key_name(node.high, alias)}:{key_name(node.low, alias)}]"
        case ast.IntLit():
            return {16: hex, 8: oct, 2: bin}.get(node.base, str)(node.value)
        case ast.BoolLit():
            return str(node.value).lower()
        case ast.CallExpr(callee=ast.Dot(name="isValid")):
            assert isinstance(node.callee, ast.Dot)
            return f"{key_name(node.callee.base, alias)}.$valid$"
        case ast.BinaryOp(op="&"):
            return f"{key_name(node.left, alias)} & {key_name(node.right, alias)}"
        case ast.CastOp():
            return key_name(node.operand, alias)
        case ast.CallExpr(callee=ast.Dot(name="lookahead")):
            return "lookahead"
    raise P4Error(node.pos, 'this key needs a name: add @name("...") behind its match kind')
