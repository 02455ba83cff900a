# SPDX-License-Identifier: Apache-2.0
"""Expressions of the intermediate representation, matches and values as a reader wants to see them."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.state import Exact, Lpm, Match, Optional, Range, Ternary
from offramp_p4.types import Structure, strip


def place(expr: ir.Expr) -> str:
    """The source text of a place, near enough: ``hdr.ipv4``, ``hdr.vlan.next``."""
    match expr:
        case ir.VarRef(var=var):
            return var.name
        case ir.Member(base=base, index=index):
            kind = strip(base.type)
            field = kind.fields[index].name if isinstance(kind, Structure) else str(index)
            return f"{place(base)}.{field}"
        case ir.Element(base=base, index=index_expr):
            return f"{place(base)}[{index_expr.value if isinstance(index_expr, ir.Const) else place(index_expr)}]"
        case ir.StackNext(base=base):
            return f"{place(base)}.next"
        case ir.StackLast(base=base):
            return f"{place(base)}.last"
        case ir.Slice(base=base, high=high, low=low):
            return f"{place(base)}[{high}:{low}]"
    return "…"


def match_text(match: Match) -> str:
    """A match in P4's notation."""
    if isinstance(match, Exact | Optional):
        return hex(match.value)
    if isinstance(match, Lpm):
        return f"{match.value:#x}/{match.prefix_len}"
    if isinstance(match, Ternary):
        return f"{match.value:#x} &&& {match.mask:#x}"
    if isinstance(match, Range):
        return f"{match.low:#x}..{match.high:#x}"
    return "_"
