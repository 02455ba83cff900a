# SPDX-License-Identifier: Apache-2.0
"""Low-pass filters and random early detection (see :mod:`offramp_p4.tna.filter_state`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_base.native.llvm import I64, Value, i64
from offramp_p4 import ir
from offramp_p4.constructor import number
from offramp_p4.engine.core import argument, instance
from offramp_p4.native import lvalues
from offramp_p4.native.arrays import inside
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.runtime.tna.filters import Filter, drops, filtered
from offramp_p4.native.shape import bits_of
from offramp_p4.tna.filters import value_width

if TYPE_CHECKING:
    from offramp_p4.native.tna.target import NativeTnaTarget


def builders(target: NativeTnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Lpf", "execute"): lambda g, e: _run(target, g, e, filtered, 0, None),
        ("Wred", "execute"): lambda g, e: _wred(target, g, e),
    }


def _wred(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    i = instance(e)
    return _run(target, g, e, drops, number(i, "no_drop_value"), number(i, "drop_value"))


def _run(
    target: NativeTnaTarget, g: Emitter, e: ir.ExternCall, function: Any, otherwise: int, true: int | None
) -> Value:
    """Write the call of a function on the cell at an index, whose result is the value or picks ``true``."""
    i = instance(e)
    value_width(e)
    value = g.word_of(argument(e, 0))
    index, fits = lvalues.index_of(g, argument(e, 1), target.objects.of[i].size)
    slot, bits = g.allocate(I64), bits_of(e.type)
    assert bits is not None
    g.b.store(i64(otherwise), slot)
    with inside(g, fits):
        cell = g.at(g.pointer(target.plan.filters[i]), g.b.mul(index, i64(8 * Filter.WORDS)))
        result = g.call(function, g.context, cell, value)
        if true is not None:
            result = g.b.select(g.b.icmp_unsigned("!=", result, i64(0)), i64(true), i64(otherwise))
        g.b.store(result, slot)
    return g.resize(g.b.load(slot, typ=I64), bits.width)
