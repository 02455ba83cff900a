# SPDX-License-Identifier: Apache-2.0
"""Registers of PSA and PNA: of numbers, and of structs of numbers. A cell that is not there reads 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.native.llvm import Value, const, i64
from offramp_p4 import ir
from offramp_p4.engine.core import argument, instance
from offramp_p4.native import codec, lvalues
from offramp_p4.native.arrays import inside
from offramp_p4.native.emitter import AggregateBuilder, Builder, Emitter
from offramp_p4.native.shape import bits_of, is_scalar, number_type

if TYPE_CHECKING:
    from offramp_p4.native.portable.target import NativePortableTarget


def builders(target: NativePortableTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Register", "read"): lambda g, e: _read(target, g, e),
        ("Register", "write"): lambda g, e: _write(target, g, e),
    }


def aggregates(target: NativePortableTarget) -> dict[tuple[str, str], AggregateBuilder]:
    """The builders of those whose results are structs."""
    return {("Register", "read"): lambda g, e, into: _read_struct(target, g, e, into)}


def _read(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    bits = bits_of(e.type)
    assert bits is not None
    return g.resize(_cell(target, g, e), bits.width, signed=bits.signed)


def _read_struct(target: NativePortableTarget, g: Emitter, e: ir.ExternCall, into: Value) -> None:
    """The first field is in the highest bits."""
    number, end = _cell(target, g, e), 0
    for leaf in reversed(list(codec.leaves(e.type))):
        if leaf.width:
            part = g.b.lshr(number, const(number.type, end)) if end else number
            g.store(g.resize(part, leaf.width), g.at(into, leaf.offset), leaf.type)
            end += leaf.width


def _cell(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    """The number in the cell that a call reads."""
    state = target.states[instance(e)]
    t = number_type(state.width.width)
    slot = g.allocate(t)
    g.b.store(const(t, 0), slot)
    index, fits = lvalues.index_of(g, argument(e, 0), state.size)
    with inside(g, fits):
        g.b.store(g.load_number(_address(target, g, e, index), state.width.width, "Registers"), slot)
    return g.b.load(slot, typ=t)


def _write(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    state, values = target.states[instance(e)], argument(e, 1)
    index, fits = lvalues.index_of(g, argument(e, 0), state.size)
    number = g.value(values) if is_scalar(values.type) else _joined(g, values, state.width.width)
    with inside(g, fits):
        width = state.width.width
        g.store_number(g.resize(number, width), _address(target, g, e, index), width, "Registers")
    return None


def _joined(g: Emitter, values: ir.Expr, width: int) -> Value:
    """The fields of a struct as one number."""
    at, t = g.temporary(values), number_type(width)
    number = const(t, 0)
    for leaf in codec.leaves(values.type):
        if leaf.width:
            part = g.resize(g.load(g.at(at, leaf.offset), leaf.type), width)
            number = g.b.or_(g.b.shl(number, const(t, leaf.width)) if leaf.width < width else number, part)
    return number


def _address(target: NativePortableTarget, g: Emitter, e: ir.ExternCall, index: Value) -> Value:
    column = target.plan.columns[target.states[instance(e)].name]
    return g.at(g.pointer(column.word), g.b.add(g.b.mul(index, i64(column.stride)), i64(column.offset)))
