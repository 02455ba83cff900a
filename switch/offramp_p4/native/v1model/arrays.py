# SPDX-License-Identifier: Apache-2.0
"""Registers, counters and meters of v1model. As in bmv2, an index out of range changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp_base.native.llvm import Value, i64
from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.native import counts, lvalues, wide
from offramp_p4.native.core import field
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.runtime.context import Meter, TableRecord
from offramp_p4.native.runtime.meters import execute_meter
from offramp_p4.native.runtime.program import LENGTH
from offramp_p4.native.shape import bits_of
from offramp_p4.state.table import supports_timeout

if TYPE_CHECKING:
    from offramp_p4.native.v1model.target import NativeV1Target


def builders(target: NativeV1Target) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("register", "read"): lambda g, e: _read(target, g, e),
        ("register", "write"): lambda g, e: _write(target, g, e),
        ("counter", "count"): lambda g, e: _count(target, g, e),
        ("direct_counter", "count"): lambda g, e: None,  # noqa: ARG005  # every hit counts, whether called or not
        ("meter", "execute_meter"): lambda g, e: _execute(target, g, e),
        ("direct_meter", "read"): lambda g, e: _direct_read(target, g, e),
    }


@contextmanager
def _inside(g: Emitter, fits: Value | None) -> Iterator[None]:
    if fits is None:
        yield
    else:
        with g.when(fits, likely=True):
            yield


def _instance(e: ir.ExternCall) -> ir.ExternInstance:
    assert isinstance(e.target, ir.ExternInstance)
    return e.target


def _cell(target: NativeV1Target, g: Emitter, name: str, index: Value) -> tuple[Value, int]:
    """The address of a register's cell, and its width."""
    column = target.plan.columns[name]
    row = g.at(g.pointer(column.word), g.b.mul(index, i64(column.stride)))
    return g.at(row, column.offset), column.width


def _read(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    state, result = target.objects.of[_instance(e)], argument(e, 0)
    into = lvalues.lvalue(g, result)
    index, fits = lvalues.index_of(g, argument(e, 1), state.size)
    with _inside(g, fits):
        address, width = _cell(target, g, state.name, index)
        number = g.load_number(address, width, "Registers") if into.bits else wide.load(g, address, width, "Registers")
        bits = bits_of(result.type)
        assert bits is not None
        lvalues.write(g, into, g.resize(number, bits.width, signed=bits.signed))
    return None


def _write(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    state = target.objects.of[_instance(e)]
    index, fits = lvalues.index_of(g, argument(e, 0), state.size)
    number = wide.value(g, argument(e, 1))
    with _inside(g, fits):
        address, width = _cell(target, g, state.name, index)
        g.store_number(g.resize(number, width), address, width, "Registers")
    return None


def _count(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    instance = _instance(e)
    index, fits = lvalues.index_of(g, argument(e, 0), target.objects.of[instance].size)
    with _inside(g, fits):
        counter = g.at(g.pointer(target.plan.arrays[instance]), g.b.mul(index, i64(16)))
        counts.add(g, counter, i64(1))
        counts.add(g, g.at(counter, 8), field(g, LENGTH.name))
    return None


def _execute(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    instance, result = _instance(e), argument(e, 1)
    state = target.objects.of[instance]
    into = lvalues.lvalue(g, result)
    index, fits = lvalues.index_of(g, argument(e, 0), state.size)
    with _inside(g, fits):
        colour = _colour(g, state.kind, g.pointer(target.plan.arrays[instance]), index)
        bits = bits_of(result.type)
        assert bits is not None
        lvalues.write(g, into, g.resize(colour, bits.width))
    return None


def _colour(g: Emitter, kind: str, meters: Value, index: Value) -> Value:
    meter = g.at(meters, g.b.mul(index, i64(8 * Meter.WORDS)))
    length = field(g, LENGTH.name)
    return g.call(execute_meter, g.context, meter, i64(1) if kind == "packets" else length, length)


def _direct_read(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    result = argument(e, 0)
    bits = bits_of(result.type)
    assert bits is not None
    colour = g.load_number(g.cell(target.cells.colour), 64)
    lvalues.write(g, lvalues.lvalue(g, result), g.resize(colour, bits.width))
    return None


def on_hit(target: NativeV1Target, g: Emitter, table: ir.MatchTable, entry: Value) -> None:
    """Write what the direct counter and the direct meter of ``table`` do when ``entry`` has matched."""
    words, index = target.plan.tables[table].words, g.b.sub(entry, i64(1))
    if isinstance(table.properties.get("counters"), ir.ExternInstance):
        counts.count_entry(g, words, entry, field(g, LENGTH.name))
    elif supports_timeout(table):
        counts.touch_entry(g, words, entry)
    meter = table.properties.get("meters")
    if isinstance(meter, ir.ExternInstance):
        kind = target.objects.of[meter].kind
        colour = _colour(g, kind, g.pointer(words + offset(TableRecord.meters)), index)
        g.store_number(colour, g.cell(target.cells.colour), 64)


def on_miss(target: NativeV1Target, g: Emitter, table: ir.MatchTable) -> None:
    """Write what the direct counter of ``table`` does on a miss: it counts in the default entry, which is the first."""
    if isinstance(table.properties.get("counters"), ir.ExternInstance):
        counts.count_entry(g, target.plan.tables[table].words, i64(1), field(g, LENGTH.name))
