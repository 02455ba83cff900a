# SPDX-License-Identifier: Apache-2.0
"""Parser externs of TNA: the counter, the priority, port metadata."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from offramp_base.native.llvm import I8, Value, const, i64
from offramp_p4 import ir
from offramp_p4.engine import bits as widths
from offramp_p4.engine.core import argument, instance
from offramp_p4.native import codec, lvalues
from offramp_p4.native.core import reserve, set_field
from offramp_p4.native.emitter import AggregateBuilder, Builder, Emitter
from offramp_p4.native.runtime.program import CURSOR
from offramp_p4.source import Unsupported
from offramp_p4.tna.parsing import STACK, is_scaled
from offramp_p4.types import Bits, Header, Struct, strip

if TYPE_CHECKING:
    from offramp_p4.native.tna.target import NativeTnaTarget


def builders(target: NativeTnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""

    def current(g: Emitter, e: ir.ExternCall) -> Value:
        return g.load_number(g.cell(target.cell(instance(e))), 8)

    def keep(g: Emitter, e: ir.ExternCall, number: Value) -> Value:
        g.store_number(g.resize(number, 8), g.cell(target.cell(instance(e))), 8)
        return None

    return {
        ("ParserCounter", "set"): lambda g, e: keep(g, e, _given(g, e)),
        ("ParserCounter", "is_zero"): lambda g, e: g.b.icmp_unsigned("==", current(g, e), const(I8, 0)),
        ("ParserCounter", "is_negative"): lambda g, e: g.b.icmp_signed("<", current(g, e), const(I8, 0)),
        ("ParserCounter", "increment"): lambda g, e: keep(g, e, g.b.add(current(g, e), _step(g, e))),
        ("ParserCounter", "decrement"): lambda g, e: keep(g, e, g.b.sub(current(g, e), _step(g, e))),
        ("ParserCounter", "push"): lambda g, e: _push(target, g, e),
        ("ParserCounter", "pop"): lambda g, e: _pop(target, g, e),
        ("ParserPriority", "set"): _set_priority,
        ("", "verify"): _verify,
    }


def aggregates(target: NativeTnaTarget) -> dict[tuple[str, str], AggregateBuilder]:
    """The builders of those whose results are no scalars."""
    return {("", "port_metadata_unpack"): lambda g, e, into: _unpack(target, g, e, into)}


def _step(g: Emitter, e: ir.ExternCall) -> Value:
    return g.resize(g.value(argument(e, 0)), 8)


def _given(g: Emitter, e: ir.ExternCall) -> Value:
    """The value to which a call sets the parser counter."""
    value = argument(e, 0)
    return _scaled(g, e, value) if is_scaled(e) else g.value(value)


def _push(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    """Put the counter on its stack, of whose values the lowest is lost if it is full, and set it."""
    value = g.resize(_given(g, e), 8)
    cells = _stack(target, g, e)
    for upper, lower in reversed(list(pairwise(cells))):
        g.store_number(g.load_number(upper, 8), lower, 8)
    g.store_number(value, cells[0], 8)
    return None


def _pop(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    """Take the counter's value from its stack: 0 if that is empty."""
    cells = _stack(target, g, e)
    for upper, lower in pairwise(cells):
        g.store_number(g.load_number(lower, 8), upper, 8)
    g.store_number(const(I8, 0), cells[-1], 8)
    return None


def _stack(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> list[Value]:
    """The places of the counter and of what is below it."""
    i = instance(e)
    return [g.cell(target.cell(i)), *(g.cell(target.cell((i, depth))) for depth in range(STACK))]


def _scaled(g: Emitter, e: ir.ExternCall, value: ir.Expr) -> Value:
    """The field rotated right, masked, with a constant added; one above the maximum is a parser error."""
    number = g.word_of(value)
    largest, rotate, mask, add = (g.word_of(argument(e, i)) for i in range(1, 5))
    t = strip(argument(e, 3).type)
    if isinstance(t, Bits) and t.width == 3:  # Tofino 1 gives the number of bits, less one
        mask = g.b.sub(g.b.shl(i64(2), mask), i64(1))
    width = widths.width(value.type)
    lvalues.fault(g, g.b.icmp_unsigned(">", number, largest), lvalues.error_code(g, "CounterRange", e))
    by = g.b.urem(rotate, i64(width))
    back = g.b.sub(i64(width), by)
    whole = g.b.icmp_unsigned("==", back, i64(64))
    high = g.b.select(whole, i64(0), g.b.shl(number, g.b.select(whole, i64(0), back)))
    turned = g.b.and_(g.b.or_(g.b.lshr(number, by), high), i64((1 << width) - 1))
    return g.b.add(g.b.and_(turned, mask), add)


def _set_priority(g: Emitter, e: ir.ExternCall) -> Value:
    del g, e
    return None  # it decides what a congested input drops, and inputs here never are


def _unpack(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall, into: Value) -> None:
    """The port metadata as a value of the type asked for, its first field in the first bits."""
    t, size = strip(e.type_args[0]), target.port_metadata_bytes
    width = widths.width(t)
    if not isinstance(t, Struct | Header) or width > 8 * size:
        raise Unsupported(e.pos, f"port metadata of type {t} ({width} bits; the chip has {8 * size})")
    source, end = reserve(g, e, i64(size))
    codec.unpack(g, list(codec.leaves(t)), source, into)
    set_field(g, CURSOR.name, end)


def _verify(g: Emitter, e: ir.ExternCall) -> Value:
    del g
    raise Unsupported(e.pos, "verify in a Tofino parser, which has no errors of the program's own")
