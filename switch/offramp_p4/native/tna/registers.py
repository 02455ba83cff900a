# SPDX-License-Identifier: Apache-2.0
"""Registers and the stateful ALUs that work on them: one read, one computation, one write back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp_base.native.llvm import I32, Value, const, i64
from offramp_p4 import ir
from offramp_p4.engine.core import argument, instance
from offramp_p4.native import calls, lvalues
from offramp_p4.native.arrays import entry_of, inside
from offramp_p4.native.emitter import AggregateBuilder, Emitter
from offramp_p4.native.runtime.program import DONE
from offramp_p4.native.runtime.tna.functions import math_unit
from offramp_p4.native.shape import bits_of, components, is_scalar, offsets, shape, value_type
from offramp_p4.source import Unsupported
from offramp_p4.tna.math_unit import unit_of
from offramp_p4.tna.register_calls import AluCall, RegisterCalls, state_of
from offramp_p4.types import Struct, Type, strip

if TYPE_CHECKING:
    from offramp_p4.native.tna.target import NativeTnaTarget
    from offramp_p4.tna.objects import TofinoRegister


class NativeRegisters(RegisterCalls["Emitter", Value]):
    """The builders of these externs on the native engine."""

    def __init__(self, target: NativeTnaTarget) -> None:
        self._target = target

    def aggregates(self) -> dict[tuple[str, str], AggregateBuilder]:
        """The builders of calls whose results are pairs."""
        return {("Register", "read"): self._read_pair}

    def run(self, g: Emitter, call: AluCall, e: ir.ExternCall, index: ir.Expr | Value) -> Value:
        """Write the run of the action's function; further results go where the call says."""
        register, apply = call.register, call.apply
        body, how = calls.function(g, apply)[0], calls.ends(g, apply)
        places = [g.cell(g.layout.base(param)) for param in apply.params]
        outs = list(zip(apply.params, places, strict=True))[1:]
        into = [lvalues.lvalue(g, expr) for expr in call.into]
        result = None if not is_scalar(e.type) else g.allocate(value_type(e.type))
        if result is not None:
            g.b.store(g.zero(e.type), result)
        with self._word(g, register, index) as (word, width):
            _load(g, self._state(register), word, width, places[0], apply.params[0].type)
            for param, place in outs:
                g.clear(place, shape(param.type).size)
            code = g.b.call(body, [g.context, g.memory])
            if how:
                g.leave_if(g.b.icmp_unsigned("!=", code, const(I32, DONE)), code)
            _store(g, self._state(register), word, width, places[0], apply.params[0].type)
            if result is not None and outs:
                param, place = outs[0]
                g.b.store(_fitted(g, g.load(place, param.type), e.type), result)
        for lvalue, (param, place) in zip(into, outs[1:], strict=False):
            lvalues.write(g, lvalue, _fitted(g, g.load(place, param.type), lvalue.type))
        return None if result is None else g.b.load(result, typ=value_type(e.type))

    def next_index(self, g: Emitter, call: AluCall) -> Value:
        """Write the step to the following word; returns its index."""
        word, size = self._target.plan.log(call.action), self._state(call.register).size
        index = g.word(word)
        following = g.b.urem(g.b.add(index, i64(1)), i64(size))
        g.tags.mark(g.b.store(following, g.word_address(word)), "Words")
        return index

    def read(self, g: Emitter, e: ir.ExternCall) -> Value:
        """Read a word, as a register action that changes nothing would."""
        place = g.cell(g.layout.reserve_for(e.type))
        self._read_pair(g, e, place)
        return g.load(place, e.type)

    def write(self, g: Emitter, e: ir.ExternCall) -> Value:
        """Store a word."""
        register, value = instance(e), argument(e, len(e.args) - 1)
        t = register.type_args[0]
        place = g.room(t)
        g.into(value, place)
        with self._word(g, register, _index(e, 1)) as (word, width):
            _store(g, self._state(register), word, width, place, t)
        return g.zero(e.type) if is_scalar(e.type) else None

    def predicate(self, g: Emitter, e: ir.ExternCall) -> Value:
        """The outcome number as a one-hot code."""
        number: Value = i64(0)
        for i, a in enumerate(e.args):
            if a.expr is not None:
                number = g.b.or_(number, g.b.shl(g.resize(g.value(a.expr), 64), i64(i)))
        bits = bits_of(e.type)
        assert bits is not None
        return g.resize(g.b.shl(i64(1), number), bits.width)

    def math(self, g: Emitter, e: ir.ExternCall) -> Value:
        """The value that a math unit approximates."""
        i = instance(e)
        unit, bits = unit_of(i), bits_of(e.type)
        assert bits is not None
        if bits.width > 64 or not all(0 <= v <= 255 for v in unit.table):
            raise Unsupported(e.pos, f"MathUnit {i.name} of {bits.width} bits, or with values of more than 8")
        low, high = (int.from_bytes(bytes(unit.table[at : at + 8]), "little") for at in (0, 8))
        x = g.word_of(argument(e, 0))
        settings = (i64(n) for n in (low, high, unit.scale, int(unit.invert), unit.shift))
        return g.resize(g.call(math_unit, x, *settings), bits.width)

    def _state(self, register: ir.ExternInstance) -> TofinoRegister:
        return state_of(self._target.objects.of, register)

    def _read_pair(self, g: Emitter, e: ir.ExternCall, into: Value) -> None:
        register = instance(e)
        g.clear(into, shape(e.type).size)
        with self._word(g, register, _index(e, 0)) as (word, width):
            _load(g, self._state(register), word, width, into, e.type)

    @contextmanager
    def _word(self, g: Emitter, register: ir.ExternInstance, at: ir.Expr | Value) -> Iterator[tuple[Value, int]]:
        """Code within the context runs only if the word exists; gives its address, and the bits of its container."""
        target, state = self._target, self._state(register)
        if register in target.objects.table_of:
            entry = entry_of(target, g, register)[1]
            word = target.plan.tables[target.objects.table_of[register]].registers
            assert word is not None
            with g.when(g.b.icmp_unsigned("!=", entry, i64(0)), likely=True):
                row = g.at(g.pointer(word), g.b.mul(g.b.sub(entry, i64(1)), i64(16)))
                g.tags.mark(g.b.store(i64(1), g.at(row, 8)), "Registers")
                yield row, 64
            return
        if isinstance(at, ir.Expr):
            index, fits = lvalues.index_of(g, at, state.size)
        else:
            index, fits = (i64(0) if at is None else at), None
        with inside(g, fits):
            column = target.plan.single.get(register) or target.plan.columns[state.name]
            rows = g.at(g.pointer(column.word), g.b.mul(index, i64(column.stride)))
            yield g.at(rows, column.offset), column.width


def _fitted(g: Emitter, number: Value, t: Type) -> Value:
    bits = bits_of(t)
    assert bits is not None
    return g.resize(number, bits.width, signed=bits.signed)


def _load(g: Emitter, state: TofinoRegister, word: Value, width: int, into: Value, t: Type) -> None:
    """Write the word at an address to a place of the packet's memory."""
    number = g.load_number(word, width, "Registers")
    if not state.pair:
        ((part, at),) = _words(t)
        g.store(_fitted(g, number, part), g.at(into, at), part)
        return
    half = state.width.width // 2
    for (part, at), shift in zip(_words(t), (half, 0), strict=True):
        shifted = g.b.lshr(number, const(number.type, shift)) if shift else number
        g.store(g.resize(shifted, half), g.at(into, at), part)


def _store(g: Emitter, state: TofinoRegister, word: Value, width: int, source: Value, t: Type) -> None:
    """Store a value of P4 type ``t`` into a register's word."""
    own = state.width.width
    if state.pair:
        high, low = (g.resize(g.load(g.at(source, at), part), own) for part, at in _words(t))
        number = g.b.or_(g.b.shl(high, const(high.type, own // 2)), low)
    else:
        ((part, at),) = _words(t)
        number = g.load(g.at(source, at), part)
    g.store_number(g.resize(number, width), word, width, "Registers")


def _words(t: Type) -> list[tuple[Type, int]]:
    """Types and offsets of the words of a register's value: those of a struct, or the value itself."""
    fields = strip(t)
    return list(zip(components(fields), offsets(fields), strict=True)) if isinstance(fields, Struct) else [(t, 0)]


def _index(e: ir.ExternCall, least: int) -> ir.Expr | None:
    return argument(e, 0) if len(e.args) > least else None
