"""The control-plane name of a table key, printed as p4c prints the expression (section 18.3.3)."""

from __future__ import annotations

from offramp_sim.p4.frontend.syntax import ast
from offramp_sim.p4.source import P4Error


def key_name(node: ast.Expr) -> str:
    """Name of a key expression.

    Raises:
        P4Error: the expression has no name of its own; it needs ``@name``.
    """
    match node:
        case ast.Path():
            return node.name
        case ast.Dot():
            return f"{key_name(node.base)}.{node.name}"
        case ast.Index():
            return f"{key_name(node.base)}[{key_name(node.index)}]"
        case ast.SliceOp() if not node.plus:
            return f"{key_name(node.base)}[{key_name(node.high)}:{key_name(node.low)}]"
        case ast.IntLit():
            return str(node.value)
        case ast.BoolLit():
            return str(node.value).lower()
        case ast.Call(callee=ast.Dot(name="isValid")):
            assert isinstance(node.callee, ast.Dot)
            return f"{key_name(node.callee.base)}.$valid$"
        case ast.BinaryOp(op="&"):
            return f"{key_name(node.left)} & {key_name(node.right)}"
        case ast.CastOp():
            return key_name(node.operand)
        case ast.Call(callee=ast.Dot(name="lookahead")):
            return "lookahead"
    raise P4Error(node.pos, 'this key needs a name: add @name("...") behind its match kind')
