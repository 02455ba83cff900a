# SPDX-License-Identifier: Apache-2.0
"""The constructor arguments of extern objects, by the names of their parameters."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.source import Unsupported
from offramp_p4.types import Enum


def argument(i: ir.ExternInstance, name: str) -> ir.Expr | ir.ExternInstance | None:
    """A constructor argument.

    Raises:
        Unsupported: a program that declares the extern itself gives it no such parameter.
    """
    if name not in i.params:
        raise Unsupported(i.pos, f"{i.extern} {i.name} without a parameter {name}")
    return i.args[i.params.index(name)]


def number(i: ir.ExternInstance, name: str) -> int:
    """A constructor argument that is a number."""
    arg = argument(i, name)
    if not isinstance(arg, ir.Const) or not isinstance(arg.value, int):
        raise Unsupported(i.pos, f"{i.extern} {i.name} whose {name} is not a constant")
    return arg.value


def member(i: ir.ExternInstance, name: str) -> str:
    """The name of the enum member given as a constructor argument."""
    arg = argument(i, name)
    label = None
    if isinstance(arg, ir.Const) and isinstance(arg.type, Enum) and isinstance(arg.value, int):
        label = arg.type.member(arg.value)
    if label is None:
        raise Unsupported(i.pos, f"{i.extern} {i.name} whose {name} is not an enum member")
    return label
