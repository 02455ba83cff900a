# SPDX-License-Identifier: Apache-2.0
"""Requests of a TNA deparser to the chip: mirror, resubmit, digest."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from offramp_base.native.llvm import I64, Value, const, i64
from offramp_base.native.records import offset
from offramp_base.native.subset import PacketScalar
from offramp_p4 import constructor, ir
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.native import codec, lvalues, wide
from offramp_p4.native.core import set_field
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.record_writing import record
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.tna.program import (
    MIRROR,
    MIRROR_BYTES,
    MIRROR_DATA,
    MIRROR_SESSION,
    MIRROR_SIZE,
    RESUBMIT,
    RESUBMIT_DATA,
    RESUBMIT_SIZE,
)
from offramp_p4.native.tna.functions import numbers
from offramp_p4.source import Unsupported
from offramp_p4.tna.requests import fills_bytes
from offramp_p4.types import Header, strip

if TYPE_CHECKING:
    from offramp_p4.native.tna.target import NativeTnaTarget


def builders(target: NativeTnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Mirror", "emit"): lambda g, e: _mirror(target, g, e),
        ("Resubmit", "emit"): lambda g, e: _resubmit(target, g, e),
        ("Digest", "pack"): lambda g, e: _digest(target, g, e),
    }


def _selected(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall, field: str) -> AbstractContextManager[None]:
    """The condition that the metadata selects this object, if it was made for one value of it."""
    i = instance(e)
    if target.cells.direction == "egress" and field != "mirror_type":
        raise Unsupported(e.pos, f"{i.extern} in an egress deparser")
    if field not in i.params:
        return nullcontext()
    at, t = target.cells.field("deparser", field)
    kind = g.load(g.cell(at), t)
    return g.when(g.b.icmp_unsigned("==", kind, const(kind.type, constructor.number(i, field))))


def _write(g: Emitter, e: ir.ExternCall, position: int, limit: int, place: int, size: PacketScalar) -> None:
    """Write an argument as bytes to a place of the packet's memory; of an invalid header there are none."""
    if position >= len(e.args):
        set_field(g, size.name, i64(0))
        return
    data = argument(e, position)
    parts = numbers(g, data)
    width: int = sum(map(wide.width_of, parts))
    if (width % 8 and not fills_bytes(e, data)) or width > 8 * limit:
        raise Unsupported(e.pos, f"{e.extern}.emit of {width} bits: whole bytes, at most {limit}, are possible")
    count: Value = i64(codec.pack(g, parts, g.cell(place)))
    if isinstance(strip(data.type), Header) and is_lvalue(data):
        count = g.b.select(lvalues.is_valid(g, lvalues.locate(g, data)[0]), count, const(I64, 0))
    set_field(g, size.name, count)


def _mirror(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    with _selected(target, g, e, "mirror_type"):
        _write(g, e, 1, MIRROR_BYTES, MIRROR_DATA, MIRROR_SIZE)
        set_field(g, MIRROR.name, i64(1))
        set_field(g, MIRROR_SESSION.name, g.word_of(argument(e, 0)))
    return None


def _resubmit(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    with _selected(target, g, e, "resubmit_type"):
        _write(g, e, 0, target.port_metadata_bytes, RESUBMIT_DATA, RESUBMIT_SIZE)
        set_field(g, RESUBMIT.name, i64(1))
    return None


def _digest(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    data = argument(e, 0)
    with _selected(target, g, e, "digest_type"):
        values = (g.temporary(data), data.type)
        words = record(g, offset(SwitchMemory.digests), len(target.digests), instance(e).name, values)
        target.digests.append(words)
    return None
