# SPDX-License-Identifier: Apache-2.0
"""Counters and meters as in :mod:`offramp_p4.engine.arrays`. An index out of range changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol

from offramp_base.native.llvm import I64, Value, const, i64
from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.engine.arrays import colours, named
from offramp_p4.engine.core import argument, instance
from offramp_p4.native import counts, lvalues
from offramp_p4.native.core import field
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.runtime.context import Meter, TableRecord
from offramp_p4.native.runtime.meters import colour_aware, execute_meter
from offramp_p4.native.shape import value_type
from offramp_p4.source import Unsupported

if TYPE_CHECKING:
    from offramp_base.native.subset import PacketScalar
    from offramp_p4.engine.arrays import Colours
    from offramp_p4.native.plan import ContextPlan

_METER_BYTES: Final = 8 * Meter.WORDS


class NativeArraysTarget(Protocol):
    """A target as counters and meters need it.

    Attributes:
        colours: colours of its meters.
        length: the field with the bytes that a packet counts as.
    """

    colours: Colours
    length: PacketScalar

    @property
    def states(self) -> Mapping[ir.ExternInstance, Any]:
        """The state of each extern instance that has one."""

    @property
    def table_of(self) -> Mapping[ir.ExternInstance, ir.MatchTable]:
        """The table that a direct counter or meter belongs to."""

    @property
    def plan(self) -> ContextPlan:
        """The plan of the context, which has the memory of counters and meters."""

    def cell(self, owner: object) -> int:
        """The offset of a word that belongs to an extern instance or a table."""


def builders(target: NativeArraysTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Counter", "count"): lambda g, e: _count(target, g, e),
        ("DirectCounter", "count"): lambda g, e: _count_entry(target, g, e),
        ("Meter", "execute"): lambda g, e: _execute(target, g, e),
        ("DirectMeter", "execute"): lambda g, e: _execute_entry(target, g, e),
    }


def inside(g: Emitter, fits: Value | None) -> AbstractContextManager[None]:
    """Code within the context runs only if an index is in range (None: it certainly is)."""
    return nullcontext() if fits is None else g.when(fits, likely=True)


def entry_of(target: NativeArraysTarget, g: Emitter, i: ir.ExternInstance) -> tuple[int, Value]:
    """Words of the table that a direct object belongs to, and the entry that it has hit, or 0."""
    table = target.table_of.get(i)
    if table is None:
        raise Unsupported(i.pos, f"{i.extern} {i.name} that no table names in its properties")
    return target.plan.tables[table].words, g.load_number(g.cell(target.cell(table)), 64)


def _bytes(target: NativeArraysTarget, g: Emitter, e: ir.ExternCall) -> Value:
    """The bytes that the packet counts as."""
    expr = named(e, "pkt_len")
    if expr is not None:
        return g.word_of(expr)
    less = named(e, "adjust_byte_count")
    length = field(g, target.length.name)
    return length if less is None else g.b.sub(length, g.word_of(less))


def _count(target: NativeArraysTarget, g: Emitter, e: ir.ExternCall) -> Value:
    i = instance(e)
    index, fits = lvalues.index_of(g, argument(e, 0), target.states[i].size)
    with inside(g, fits):
        counter = g.at(g.pointer(target.plan.arrays[i]), g.b.mul(index, i64(16)))
        counts.add(g, counter, i64(1))
        counts.add(g, g.at(counter, 8), _bytes(target, g, e))
    return None


def _count_entry(target: NativeArraysTarget, g: Emitter, e: ir.ExternCall) -> Value:
    words, entry = entry_of(target, g, instance(e))
    with g.when(g.b.icmp_unsigned("!=", entry, i64(0)), likely=True):
        counts.count_entry(g, words, entry, _bytes(target, g, e))
    return None


def _execute(target: NativeArraysTarget, g: Emitter, e: ir.ExternCall) -> Value:
    i = instance(e)
    index, fits = lvalues.index_of(g, argument(e, 0), target.states[i].size)
    slot = _green(g)
    with inside(g, fits):
        meter = g.at(g.pointer(target.plan.arrays[i]), g.b.mul(index, i64(_METER_BYTES)))
        g.b.store(_colour(target, g, e, meter), slot)
    return _value(target, g, e, slot)


def _execute_entry(target: NativeArraysTarget, g: Emitter, e: ir.ExternCall) -> Value:
    words, entry = entry_of(target, g, instance(e))
    slot = _green(g)
    with g.when(g.b.icmp_unsigned("!=", entry, i64(0)), likely=True):
        rows = g.pointer(words + offset(TableRecord.meters))
        meter = g.at(rows, g.b.mul(g.b.sub(entry, i64(1)), i64(_METER_BYTES)))
        g.b.store(_colour(target, g, e, meter), slot)
    return _value(target, g, e, slot)


def _green(g: Emitter) -> Value:
    slot = g.allocate(I64)
    g.b.store(i64(0), slot)
    return slot


def _colour(target: NativeArraysTarget, g: Emitter, e: ir.ExternCall, meter: Value) -> Value:
    """The colour: 0 green, 1 yellow, 2 red."""
    length = _bytes(target, g, e)
    amount = i64(1) if target.states[instance(e)].kind == "packets" else length
    before = named(e, "color")
    if before is None:
        return g.call(execute_meter, g.context, meter, amount, length)
    _, yellow, red = target.colours
    colour_before = g.word_of(before)
    rank = g.b.select(g.b.icmp_unsigned("==", colour_before, i64(red)), i64(2), i64(0))
    rank = g.b.select(g.b.icmp_unsigned("==", colour_before, i64(yellow)), i64(1), rank)
    return g.call(colour_aware, g.context, meter, amount, rank, length)


def _value(target: NativeArraysTarget, g: Emitter, e: ir.ExternCall, slot: Value) -> Value:
    """The number that the meter gives for a colour."""
    t, colour = value_type(e.type), g.b.load(slot, typ=I64)
    green, yellow, red = (const(t, value) for value in colours(instance(e), target.colours))
    worse = g.b.select(g.b.icmp_unsigned("==", colour, i64(1)), yellow, red)
    return g.b.select(g.b.icmp_unsigned("==", colour, i64(0)), green, worse)
