# SPDX-License-Identifier: Apache-2.0
"""Requests of a v1model program to the architecture: drop, clone, resubmit, recirculate, truncate, digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.native.llvm import Value, i64
from offramp_base.native.records import offset
from offramp_base.native.subset import PacketScalar
from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.native import lvalues
from offramp_p4.native.core import field, set_field
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.record_writing import record
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.program import (
    CLONE,
    CLONE_FIELDS,
    CLONE_SESSION,
    EGRESS_SPEC,
    GROUP,
    RECIRCULATE,
    RECIRCULATE_FIELDS,
    RESUBMIT,
    RESUBMIT_FIELDS,
    TRUNCATE,
)
from offramp_p4.native.v1model.fields import spans
from offramp_p4.source import Unsupported
from offramp_p4.types import Enum, Structure, strip

if TYPE_CHECKING:
    from offramp_p4.native.v1model.target import NativeV1Target


def builders(target: NativeV1Target) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""

    def again(flag: PacketScalar, fields: PacketScalar) -> Builder:
        return lambda g, e: _again(target, g, e, flag, fields)

    resubmit, recirculate = again(RESUBMIT, RESUBMIT_FIELDS), again(RECIRCULATE, RECIRCULATE_FIELDS)
    return {
        ("", "mark_to_drop"): lambda g, e: _mark_to_drop(target, g, e),
        ("", "clone"): lambda g, e: _clone(target, g, e),
        ("", "clone3"): lambda g, e: _clone(target, g, e),
        ("", "clone_preserving_field_list"): lambda g, e: _clone(target, g, e),
        ("", "resubmit"): resubmit,
        ("", "resubmit_preserving_field_list"): resubmit,
        ("", "recirculate"): recirculate,
        ("", "recirculate_preserving_field_list"): recirculate,
        ("", "truncate"): _truncate,
        ("", "digest"): lambda g, e: _digest(target, g, e),
    }


def _mark_to_drop(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    base = g.cell(target.cells.standard)
    if e.args:
        base = lvalues.lvalue(g, argument(e, 0)).address
    for name, word in ((EGRESS_SPEC.name, g.word(SwitchMemory.drop_port)), (GROUP.name, i64(0))):
        at, width = target.cells.standard_field(name)
        g.store_number(g.resize(word, width), g.at(base, at), width)
    return None


def _field_list(target: NativeV1Target, g: Emitter, e: ir.ExternCall, position: int) -> Value:
    """The number of the field list to preserve; 0 is the empty one."""
    if position >= len(e.args):
        return i64(0)
    data = argument(e, position)
    if e.method.endswith("preserving_field_list"):
        return g.word_of(data)
    # The older forms name the fields themselves; their lists get numbers that no program can write.
    number = -1 - len(target.field_lists)
    target.field_lists[number] = spans(g.layout, data)
    return i64(number)


def _clone(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    kind = argument(e, 0)
    if not isinstance(kind, ir.Const) or not isinstance(kind.type, Enum):
        raise Unsupported(e.pos, "a clone type that is not a constant")
    session = g.word_of(argument(e, 1))
    fields = _field_list(target, g, e, 2)
    set_field(g, CLONE.name, i64(1))
    set_field(g, CLONE_SESSION.name, session)
    set_field(g, CLONE_FIELDS.name, fields)
    return None


def _again(target: NativeV1Target, g: Emitter, e: ir.ExternCall, flag: PacketScalar, fields: PacketScalar) -> Value:
    number = _field_list(target, g, e, 0)
    target.comes_again = True
    set_field(g, flag.name, i64(1))
    set_field(g, fields.name, number)
    return None


def _truncate(g: Emitter, e: ir.ExternCall) -> Value:
    limit, wanted = field(g, TRUNCATE.name), g.word_of(argument(e, 0))
    set_field(g, TRUNCATE.name, g.b.select(g.b.icmp_unsigned("<", wanted, limit), wanted, limit))
    return None


def _digest(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    data = argument(e, 1)
    t = strip(data.type)
    name = t.name if isinstance(t, Structure) else f"digest_{len(target.digests)}"
    values = (g.temporary(data), data.type)
    target.digests.append(record(g, offset(SwitchMemory.digests), len(target.digests), name, values))
    return None
