# SPDX-License-Identifier: Apache-2.0
"""Requests of a v1model program to the architecture: drop, clone, resubmit, recirculate, truncate, digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine import lvalues
from offramp_p4.engine.core import argument
from offramp_p4.engine.generator import Builder, Generator, is_scalar
from offramp_p4.records import Digest
from offramp_p4.source import Unsupported
from offramp_p4.types import Enum, Structure, strip
from offramp_p4.v1model.fields import spans

if TYPE_CHECKING:
    from offramp_p4.v1model.target import V1Target


def builders(target: V1Target) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("", "mark_to_drop"): lambda g, e: _mark_to_drop(target, g, e),
        ("", "clone"): lambda g, e: _clone(target, g, e),
        ("", "clone3"): lambda g, e: _clone(target, g, e),
        ("", "clone_preserving_field_list"): lambda g, e: _clone(target, g, e),
        ("", "resubmit"): lambda g, e: _again(target, g, e, target.cells.resubmit),
        ("", "resubmit_preserving_field_list"): lambda g, e: _again(target, g, e, target.cells.resubmit),
        ("", "recirculate"): lambda g, e: _again(target, g, e, target.cells.recirculate),
        ("", "recirculate_preserving_field_list"): lambda g, e: _again(target, g, e, target.cells.recirculate),
        ("", "truncate"): lambda g, e: _truncate(target, g, e),
        ("", "digest"): lambda g, e: _digest(target, g, e),
    }


def _mark_to_drop(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    at: lvalues.Address = target.cells.standard
    if e.args:
        at = lvalues.lvalue(g, argument(e, 0)).address
    g.line(f"m[{lvalues.plus(at, target.cells.offset('egress_spec'))}] = {target.drop_port}")
    g.line(f"m[{lvalues.plus(at, target.cells.offset('mcast_grp'))}] = 0")
    return "None"


def _field_list(target: V1Target, g: Generator, e: ir.ExternCall, position: int) -> str:
    """Text of the number of the field list to preserve; 0 is the empty one."""
    if position >= len(e.args):
        return "0"
    data = argument(e, position)
    if e.method.endswith("preserving_field_list"):
        return g.value(data)
    # The older forms name the fields themselves; their lists get numbers that no program can write.
    number = -1 - len(target.field_lists)
    target.field_lists[number] = spans(g, data)
    return str(number)


def _clone(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    kind = argument(e, 0)
    if not isinstance(kind, ir.Const) or not isinstance(kind.type, Enum):
        raise Unsupported(e.pos, "a clone type that is not a constant")
    session = g.value(argument(e, 1))
    g.line(f"m[{target.cells.clone}] = ({session}, {_field_list(target, g, e, 2)})")
    return "None"


def _again(target: V1Target, g: Generator, e: ir.ExternCall, cell: int) -> str:
    g.line(f"m[{cell}] = ({_field_list(target, g, e, 0)},)")
    return "None"


def _truncate(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    cell = target.cells.truncate
    g.line(f"m[{cell}] = min(m[{cell}], {g.value(argument(e, 0))})")
    return "None"


def _digest(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    data = argument(e, 1)
    t = strip(data.type)
    name = t.name if isinstance(t, Structure) else f"digest_{len(target.digest_names)}"
    target.digest_names.append(name)
    cells = f"({g.value(data)},)" if is_scalar(t) else f"tuple({g.value(data)})"
    digest = f"{g.bind(Digest, 'Digest')}({name!r}, {cells})"
    cell = target.cells.digests
    g.line(f"m[{cell}] = (*(m[{cell}] or ()), {digest})")
    return "None"
