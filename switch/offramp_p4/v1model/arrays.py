# SPDX-License-Identifier: Apache-2.0
"""Registers, counters and meters of v1model. As in bmv2, an index out of range changes nothing.

Accesses that follow each other with one index share its check; a register cannot be read into its own index
there, because the index is kept in a Python variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_p4 import ir
from offramp_p4.engine import lvalues
from offramp_p4.engine.core import argument
from offramp_p4.engine.layout import LENGTH
from offramp_p4.state import MeterCell, MeterState, RegisterState
from offramp_p4.types import Bits, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.v1model.target import V1Target


def builders(target: V1Target) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("register", "read"): lambda g, e: _read(target, g, e),
        ("register", "write"): lambda g, e: _write(target, g, e),
        ("counter", "count"): lambda g, e: _count(target, g, e),
        ("direct_counter", "count"): _direct_count,
        ("meter", "execute_meter"): lambda g, e: _execute(target, g, e),
        ("direct_meter", "read"): lambda g, e: _direct_read(target, g, e),
    }


def _state(target: V1Target, e: ir.ExternCall) -> Any:
    assert isinstance(e.target, ir.ExternInstance)
    return target.objects.of[e.target]


def _guard(g: Generator, e: ir.Expr, size: int) -> tuple[str, str]:
    """Text of the condition that an index lies in the array, and of the index below that condition."""
    cell, t = g.layout.static(e), strip(e.type)
    if isinstance(e, ir.Const):
        return f"if {g.value(e)} < {size}:", g.value(e)
    if isinstance(t, Bits) and t.mask < size:
        return "if True:", g.value(e)
    name = f"i{cell}" if cell is not None else g.name("i")
    return f"if ({name} := {g.value(e)}) < {size}:", name


def _read(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    state: RegisterState = _state(target, e)
    result, at = argument(e, 0), argument(e, 1)
    into = lvalues.lvalue(g, result)
    head, index = _guard(g, at, state.size)
    value = f"{g.bind(state.values, 'register')}[{index}]"
    if into.bits is None and isinstance(into.address, int) and into.address != g.layout.static(at):
        _write_guarded(g, head, f"m[{into.address}] = {value}")
    else:
        with g.indented(head):
            lvalues.write(g, into, value, lvalues.sliced_cell(result))
    return "None"


def _write(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    state: RegisterState = _state(target, e)
    register = g.bind(state.values, "register")
    head, index = _guard(g, argument(e, 0), state.size)
    value = g.value(argument(e, 1))
    if "(m)" in value:  # a call, which happens whether or not the index is in range, and may change the index
        index, value = g.temporary(g.value(argument(e, 0)), "i"), g.temporary(value)
        with g.indented(f"if {index} < {state.size}:"):
            g.line(f"{register}[{index}] = {value}")
    else:
        _write_guarded(g, head, f"{register}[{index}] = {value}")
    return "None"


def _write_guarded(g: Generator, head: str, line: str) -> None:
    if head == "if True:":
        g.line(line)
    else:
        g.guarded(head, line)


def _count(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    state = _state(target, e)
    head, index = _guard(g, argument(e, 0), state.size)
    _write_guarded(g, head, f"{g.bind(state.packets, 'packets')}[{index}] += 1")
    _write_guarded(g, head, f"{g.bind(state.bytes, 'bytes')}[{index}] += m[{LENGTH}]")
    return "None"


def _direct_count(g: Generator, e: ir.ExternCall) -> str:
    del g, e
    return "None"  # every hit counts, whether its action calls this or not


def _execute(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    state: MeterState = _state(target, e)
    head, index = _guard(g, argument(e, 0), state.size)
    result = argument(e, 1)
    into = lvalues.lvalue(g, result)
    amount = "1" if state.kind == "packets" else f"m[{LENGTH}]"
    cells, clock = g.bind(state.cells, "meter"), g.bind(target.clock, "clock")
    with g.indented(head):
        colour = f"{cells}[{index}].execute({amount}, {clock}(), m[{LENGTH}])"
        lvalues.write(g, into, colour, lvalues.sliced_cell(result))
    return "None"


def _direct_read(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    result = argument(e, 0)
    lvalues.write(g, lvalues.lvalue(g, result), f"m[{target.cells.colour}]", lvalues.sliced_cell(result))
    return "None"


def on_hit(target: V1Target, g: Generator, table: ir.MatchTable) -> None:
    """Write what direct counter, direct meter and idle time-out of ``table`` do when ``entry`` has matched."""
    if target.tables[table].notes_hits:
        g.line(f"entry.last_hit_us = {g.bind(target.clock, 'clock')}()")
    if isinstance(table.properties.get("counters"), ir.ExternInstance):
        g.line("entry.packets += 1")
        g.line(f"entry.bytes += m[{LENGTH}]")
    meter = table.properties.get("meters")
    if isinstance(meter, ir.ExternInstance):
        state: MeterState = target.objects.of[meter]
        amount = "1" if state.kind == "packets" else f"m[{LENGTH}]"
        with g.indented("if entry.meter is None:"):
            g.line(f"entry.meter = {g.bind(MeterCell, 'MeterCell')}()")
        clock = g.bind(target.clock, "clock")
        g.line(f"m[{target.cells.colour}] = entry.meter.execute({amount}, {clock}(), m[{LENGTH}])")


def on_miss(g: Generator, table: ir.MatchTable, state: str) -> None:
    """Write what the direct counter of ``table`` does on a miss: it counts in the default entry."""
    if isinstance(table.properties.get("counters"), ir.ExternInstance):
        g.line(f"{state}.default_entry.packets += 1")
        g.line(f"{state}.default_entry.bytes += m[{LENGTH}]")
