# SPDX-License-Identifier: Apache-2.0
"""Low-pass filters and random early detection: the calls of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.constructor import number
from offramp_p4.engine.core import argument, instance
from offramp_p4.source import Unsupported
from offramp_p4.tna.filter_state import FilterState, dropped, filtered
from offramp_p4.types import Bits, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.tna.target import TnaTarget


def builders(target: TnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Lpf", "execute"): lambda g, e: _lpf(target, g, e),
        ("Wred", "execute"): lambda g, e: _wred(target, g, e),
    }


def _start(target: TnaTarget, g: Generator, e: ir.ExternCall) -> tuple[str, str, str, int]:
    """Texts of the value, the index and the cells, and how many these are."""
    state: FilterState = target.objects.of[instance(e)]
    value, index = (g.temporary(g.value(argument(e, i)), hint) for i, hint in ((0, "value"), (1, "i")))
    return value, index, g.bind(state.cells, "filters"), state.size


def _lpf(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    value, index, cells, size = _start(target, g, e)
    call = f"{g.bind(filtered, 'filtered')}({cells}[{index}], {value}, {g.bind(target.clock, 'clock')}())"
    mask = (1 << value_width(e)) - 1
    return f"({call} & {mask} if {index} < {size} else 0)"


def value_width(e: ir.ExternCall) -> int:
    """Bits of what a filter is given.

    Raises:
        Unsupported: the chip does not have filters of such numbers.
    """
    t = strip(argument(e, 0).type)
    if not isinstance(t, Bits) or t.signed or t.width > 32:
        raise Unsupported(e.pos, f"{e.extern} of {t}: bit<1> to bit<32> are possible")
    return t.width


def _wred(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    i = instance(e)
    value_width(e)
    value, index, cells, size = _start(target, g, e)
    arguments = f"{cells}[{index}], {value}, {g.bind(target.clock, 'clock')}(), {g.bind(target.random, 'random')}"
    drop, keep = number(i, "drop_value"), number(i, "no_drop_value")
    return f"({drop} if {index} < {size} and {g.bind(dropped, 'dropped')}({arguments}) else {keep})"
