# SPDX-License-Identifier: Apache-2.0
"""Low-pass filters and random early detection: the calls of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.constructor import number
from offramp_p4.engine import arrays
from offramp_p4.engine.core import argument, instance
from offramp_p4.source import Unsupported
from offramp_p4.tna.filter_state import FilterState, dropped, filtered, new_cell
from offramp_p4.types import Bits, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.tna.target import TnaTarget

_Text = Callable[["TnaTarget", "Generator", ir.ExternCall, str, str], str]
"""Makes the text of a filter's result from the texts of its cell and of the value."""


def builders(target: TnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Lpf", "execute"): lambda g, e: _lpf(target, g, e),
        ("Wred", "execute"): lambda g, e: _wred(target, g, e),
        ("DirectLpf", "execute"): lambda g, e: _direct(target, g, e, _filtered),
        ("DirectWred", "execute"): lambda g, e: _direct(target, g, e, _dropped),
    }


def _start(target: TnaTarget, g: Generator, e: ir.ExternCall) -> tuple[str, str, str, int]:
    """Texts of the value, the index, the cells and their number."""
    state: FilterState = target.objects.of[instance(e)]
    value, index = (g.temporary(g.value(argument(e, i)), hint) for i, hint in ((0, "value"), (1, "i")))
    return value, index, g.bind(state.cells, "filters"), state.size


def _lpf(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    value, index, cells, size = _start(target, g, e)
    return f"({_filtered(target, g, e, f'{cells}[{index}]', value)} if {index} < {size} else 0)"


def _filtered(target: TnaTarget, g: Generator, e: ir.ExternCall, cell: str, value: str) -> str:
    """Text of a low-pass filter's output for a value."""
    mask = (1 << value_width(e)) - 1
    return f"({g.bind(filtered, 'filtered')}({cell}, {value}, {g.bind(target.clock, 'clock')}()) & {mask})"


def value_width(e: ir.ExternCall) -> int:
    """Bits of a filter's input.

    Raises:
        Unsupported: the chip does not have filters of such numbers.
    """
    t = strip(argument(e, 0).type)
    if not isinstance(t, Bits) or t.signed or t.width > 32:
        raise Unsupported(e.pos, f"{e.extern} of {t}: bit<1> to bit<32> are possible")
    return t.width


def _wred(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    value, index, cells, size = _start(target, g, e)
    keep = number(instance(e), "no_drop_value")
    return f"({_dropped(target, g, e, f'{cells}[{index}]', value)} if {index} < {size} else {keep})"


def _dropped(target: TnaTarget, g: Generator, e: ir.ExternCall, cell: str, value: str) -> str:
    """Text of one of the two values of random early detection."""
    i = instance(e)
    value_width(e)
    arguments = f"{cell}, {value}, {g.bind(target.clock, 'clock')}(), {g.bind(target.random, 'random')}"
    drop, keep = number(i, "drop_value"), number(i, "no_drop_value")
    return f"({drop} if {g.bind(dropped, 'dropped')}({arguments}) else {keep})"


def _direct(target: TnaTarget, g: Generator, e: ir.ExternCall, text: _Text) -> str:
    """The filter of the entry that was hit; a miss gets 0."""
    value = g.temporary(g.value(argument(e, 0)), "value")
    entry, result = arrays.entry_of(target, g, e), g.temporary("0", "filtered")
    with g.indented(f"if {entry}:"):
        with g.indented(f"if {entry}.filter is None:"):
            g.line(f"{entry}.filter = {g.bind(new_cell, 'new_cell')}()")
        g.line(f"{result} = {text(target, g, e, f'{entry}.filter', value)}")
    return result
