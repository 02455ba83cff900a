# SPDX-License-Identifier: Apache-2.0
"""Counters and meters as TNA, PSA and PNA have them. An index out of range changes nothing.

A direct one works on the entry that its table has hit, and counts in the actions that say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from offramp_p4 import ir
from offramp_p4.constructor import number
from offramp_p4.engine.core import argument, instance
from offramp_p4.source import Unsupported
from offramp_p4.state import CounterState, MeterCell, MeterState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from offramp_p4.engine.generator import Builder, Generator

DIRECT: Final = {
    "counters": ("DirectCounter",),
    "meters": ("DirectMeter",),
    "registers": ("DirectRegister",),
    "filters": ("DirectLpf", "DirectWred"),
}
"""Table properties, and the externs that belong to a table by them."""
Colours = tuple[int, int, int]
"""The values of green, yellow and red in an architecture's enum."""


class ArraysTarget(Protocol):
    """A target as counters and meters need it.

    Attributes:
        clock: virtual time in microseconds.
        colours: colours of its meters.
    """

    colours: Colours
    clock: Callable[[], int]

    @property
    def states(self) -> Mapping[ir.ExternInstance, Any]:
        """The state of each extern instance that has one."""

    @property
    def table_of(self) -> Mapping[ir.ExternInstance, ir.MatchTable]:
        """The table that a direct counter or meter belongs to."""

    @property
    def length(self) -> int:
        """The cell with the bytes that a packet counts as."""

    def cell(self, owner: object) -> int:
        """The cell that belongs to an extern instance or a table."""


def builders(target: ArraysTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Counter", "count"): lambda g, e: _count(target, g, e),
        ("DirectCounter", "count"): lambda g, e: _count_entry(target, g, e),
        ("Meter", "execute"): lambda g, e: _execute(target, g, e),
        ("DirectMeter", "execute"): lambda g, e: _execute_entry(target, g, e),
    }


def direct_tables(program: ir.Program) -> dict[ir.ExternInstance, ir.MatchTable]:
    """The table of each direct extern.

    Raises:
        Unsupported: two tables name one.
    """
    tables: dict[ir.ExternInstance, ir.MatchTable] = {}
    for table in program.tables:
        for name, kinds in DIRECT.items():
            instance = table.properties.get(name)
            if not isinstance(instance, ir.ExternInstance) or instance.extern not in kinds:
                continue
            if instance in tables:
                raise Unsupported(table.pos, f"{instance.name} in tables {tables[instance].name} and {table.name}")
            tables[instance] = table
    return tables


def named(e: ir.ExternCall, name: str) -> ir.Expr | None:
    """An argument by the name of its parameter; None if it is not given."""
    return e.args[e.params.index(name)].expr if name in e.params else None


def _bytes(target: ArraysTarget, g: Generator, e: ir.ExternCall) -> str:
    """Text of the bytes that the packet counts as."""
    expr = named(e, "pkt_len")
    if expr is not None:
        return g.value(expr)
    less = named(e, "adjust_byte_count")
    length = f"m[{target.length}]"
    return length if less is None else f"({length} - {g.value(less)})"


def _count(target: ArraysTarget, g: Generator, e: ir.ExternCall) -> str:
    state: CounterState = target.states[instance(e)]
    index = g.temporary(g.value(argument(e, 0)), "i")
    with g.indented(f"if {index} < {state.size}:"):
        g.line(f"{g.bind(state.packets, 'packets')}[{index}] += 1")
        g.line(f"{g.bind(state.bytes, 'bytes')}[{index}] += {_bytes(target, g, e)}")
    return "None"


def entry_of(target: ArraysTarget, g: Generator, e: ir.ExternCall) -> str:
    """Write ``entry``, the one that its table has hit, or 0; returns the name."""
    i = instance(e)
    table = target.table_of.get(i)
    if table is None:
        raise Unsupported(i.pos, f"{i.extern} {i.name} that no table names in its properties")
    return g.temporary(f"m[{target.cell(table)}]", "entry")


def _count_entry(target: ArraysTarget, g: Generator, e: ir.ExternCall) -> str:
    entry = entry_of(target, g, e)
    with g.indented(f"if {entry}:"):
        g.line(f"{entry}.packets += 1")
        g.line(f"{entry}.bytes += {_bytes(target, g, e)}")
    return "None"


def _execute(target: ArraysTarget, g: Generator, e: ir.ExternCall) -> str:
    state: MeterState = target.states[instance(e)]
    index = g.temporary(g.value(argument(e, 0)), "i")
    colour = g.temporary("0", "colour")
    with g.indented(f"if {index} < {state.size}:"):
        cell = f"{g.bind(state.cells, 'meter')}[{index}]"
        g.line(f"{colour} = {_colour(target, g, e, cell, state.kind)}")
    return _value(target, g, e, colour)


def _execute_entry(target: ArraysTarget, g: Generator, e: ir.ExternCall) -> str:
    state: MeterState = target.states[instance(e)]
    entry, colour = entry_of(target, g, e), g.temporary("0", "colour")
    with g.indented(f"if {entry}:"):
        with g.indented(f"if {entry}.meter is None:"):
            g.line(f"{entry}.meter = {g.bind(MeterCell, 'MeterCell')}()")
        g.line(f"{colour} = {_colour(target, g, e, f'{entry}.meter', state.kind)}")
    return _value(target, g, e, colour)


def _colour(target: ArraysTarget, g: Generator, e: ir.ExternCall, cell: str, kind: str) -> str:
    """Text of the colour: 0 green, 1 yellow, 2 red."""
    length = g.temporary(_bytes(target, g, e), "length")
    amount = "1" if kind == "packets" else length
    before = named(e, "color")
    clock = f"{g.bind(target.clock, 'clock')}()"
    if before is None:
        return f"{cell}.execute({amount}, {clock}, {length})"
    _, yellow, red = target.colours
    rank = g.bind({yellow: 1, red: 2}, "ranks")
    return f"{cell}.execute_coloured({amount}, {clock}, {rank}.get({g.value(before)}, 0), {length})"


def _value(target: ArraysTarget, g: Generator, e: ir.ExternCall, colour: str) -> str:
    """Text of the number that the meter gives for a colour."""
    values = colours(instance(e), target.colours)
    return f"{g.bind(values, 'colours')}[{colour}]"


def colours(i: ir.ExternInstance, usual: Colours) -> Colours:
    """The numbers that a meter gives for green, yellow and red: the ``usual`` ones unless it was made with others."""
    if "red" in i.params:
        return number(i, "green"), number(i, "yellow"), number(i, "red")
    return usual
