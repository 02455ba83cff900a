# SPDX-License-Identifier: Apache-2.0
"""Counters and meters of TNA. An index out of range changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.source import Unsupported
from offramp_p4.state import CounterState, MeterCell, MeterState
from offramp_p4.tna.objects import number
from offramp_p4.tna.registers import instance

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.tna.target import TnaTarget

_GREEN, _YELLOW, _RED = 0, 1, 3  # MeterColor_t


def builders(target: TnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Counter", "count"): lambda g, e: _count(target, g, e),
        ("DirectCounter", "count"): lambda g, e: _count_entry(target, g, e),
        ("Meter", "execute"): lambda g, e: _execute(target, g, e),
        ("DirectMeter", "execute"): lambda g, e: _execute_entry(target, g, e),
    }


def named(e: ir.ExternCall, name: str) -> ir.Expr | None:
    """An argument by the name of its parameter; None if it is not given."""
    return e.args[e.params.index(name)].expr if name in e.params else None


def _bytes(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    """Text of the bytes that the packet counts as."""
    less = named(e, "adjust_byte_count")
    length = f"m[{target.cells.wire_length}]"
    return length if less is None else f"({length} - {g.value(less)})"


def _count(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    state: CounterState = target.objects.of[instance(e)]
    index = g.temporary(g.value(argument(e, 0)), "i")
    with g.indented(f"if {index} < {state.size}:"):
        g.line(f"{g.bind(state.packets, 'packets')}[{index}] += 1")
        g.line(f"{g.bind(state.bytes, 'bytes')}[{index}] += {_bytes(target, g, e)}")
    return "None"


def _entry(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    """Write ``entry``, the one that its table has hit, or 0; returns the name."""
    i = instance(e)
    table = target.objects.table_of.get(i)
    if table is None:
        raise Unsupported(i.pos, f"{i.extern} {i.name} that no table names in its properties")
    return g.temporary(f"m[{target.cell(table)}]", "entry")


def _count_entry(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    entry = _entry(target, g, e)
    with g.indented(f"if {entry}:"):
        g.line(f"{entry}.packets += 1")
        g.line(f"{entry}.bytes += {_bytes(target, g, e)}")
    return "None"


def _execute(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    state: MeterState = target.objects.of[instance(e)]
    index = g.temporary(g.value(argument(e, 0)), "i")
    colour = g.temporary("0", "colour")
    with g.indented(f"if {index} < {state.size}:"):
        cell = f"{g.bind(state.cells, 'meter')}[{index}]"
        g.line(f"{colour} = {_colour(target, g, e, cell, state.kind)}")
    return _value(g, e, colour)


def _execute_entry(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    state: MeterState = target.objects.of[instance(e)]
    entry, colour = _entry(target, g, e), g.temporary("0", "colour")
    with g.indented(f"if {entry}:"):
        with g.indented(f"if {entry}.meter is None:"):
            g.line(f"{entry}.meter = {g.bind(MeterCell, 'MeterCell')}()")
        g.line(f"{colour} = {_colour(target, g, e, f'{entry}.meter', state.kind)}")
    return _value(g, e, colour)


def _colour(target: TnaTarget, g: Generator, e: ir.ExternCall, cell: str, kind: str) -> str:
    """Text of the colour: 0 green, 1 yellow, 2 red."""
    amount = "1" if kind == "packets" else _bytes(target, g, e)
    before = named(e, "color")
    clock = f"{g.bind(target.clock, 'clock')}()"
    if before is None:
        return f"{cell}.execute({amount}, {clock})"
    return f"{g.bind(colour_aware, 'colour_aware')}({cell}, {amount}, {clock}, {g.value(before)})"


def colour_aware(cell: MeterCell, amount: int, now_us: int, before: int) -> int:
    """The colour of a packet that has one: never better, and what it may not use stays in the bucket (RFC 2698)."""
    if before == _RED:
        cell.execute(0, now_us)  # buckets fill all the same
        return 2
    if before != _YELLOW:
        return cell.execute(amount, now_us)
    colour = cell.execute(amount, now_us)
    if colour == 0 and cell.rates:
        cell.levels[0] += amount  # a yellow packet takes nothing from the committed bucket
    return max(1, colour)


def _value(g: Generator, e: ir.ExternCall, colour: str) -> str:
    """Text of the number that the meter gives for a colour."""
    return f"{g.bind(colours(instance(e)), 'colours')}[{colour}]"


def colours(i: ir.ExternInstance) -> tuple[int, int, int]:
    """The numbers that a meter gives for green, yellow and red."""
    if "red" in i.params:
        return number(i, "green"), number(i, "yellow"), number(i, "red")
    return _GREEN, _YELLOW, _RED
