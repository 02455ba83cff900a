# SPDX-License-Identifier: Apache-2.0
"""``log_msg``, ``assert``, ``assume`` and ``random`` of v1model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from offramp_base.native.llvm import Value, i64
from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.native import lvalues
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.record_writing import record
from offramp_p4.native.records import CHECK_MARK, RecordFormat
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.program import CHECK_FAILED
from offramp_p4.native.runtime.randomness import draw_between
from offramp_p4.native.shape import bits_of
from offramp_p4.source import Unsupported
from offramp_p4.types import Tuple
from offramp_p4.v1model.log_text import message_of, spread

if TYPE_CHECKING:
    from offramp_p4.native.v1model.target import NativeV1Target


def builders(target: NativeV1Target) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("", "log_msg"): lambda g, e: _log(target, g, e),
        **checks(target),
        ("", "random"): _random,
    }


class Reporting(Protocol):
    """A target whose programs report to Python.

    Attributes:
        events: how to read the records in the buffer of this name.
    """

    events: list[RecordFormat]


def checks(target: Reporting) -> dict[tuple[str, str], Builder]:
    """The builders of ``assert`` and ``assume``, for any architecture."""
    return {("", name): lambda g, e: _check(target, g, e) for name in ("assert", "assume")}


def _log(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    message, scalars = spread(message_of(e), e.args[1].expr if len(e.args) > 1 else None)
    data = ir.Compose(scalars, type=Tuple(tuple(scalar.type for scalar in scalars)), pos=e.pos)
    values = (g.temporary(data), data.type) if scalars else None
    with g.when(g.b.icmp_unsigned("!=", g.word(SwitchMemory.logging), i64(0)), likely=False):
        target.events.append(record(g, offset(SwitchMemory.events), len(target.events), message, values))
    return None


def _check(target: Reporting, g: Emitter, e: ir.ExternCall) -> Value:
    with g.when(g.b.not_(g.value(argument(e, 0))), likely=False):
        text = f"{CHECK_MARK}{e.pos}: {e.method} failed"
        target.events.append(record(g, offset(SwitchMemory.events), len(target.events), text))
        g.leave(CHECK_FAILED)
    return None


def _random(g: Emitter, e: ir.ExternCall) -> Value:
    result = argument(e, 0)
    into, bits = lvalues.lvalue(g, result), bits_of(argument(e, 1).type)
    assert bits is not None
    if bits.width > 63:
        raise Unsupported(e.pos, f"random numbers of {bits.width} bits")
    low, high = g.word_of(argument(e, 1)), g.word_of(argument(e, 2))
    with g.when(g.b.icmp_signed("<=", low, high)):
        drawn = g.call(draw_between, g.context, low, high)
        lvalues.write(g, into, g.resize(drawn, bits.width))
    return None
