# SPDX-License-Identifier: Apache-2.0
"""The quantiser in machine code: :mod:`offramp.sylvie.model`, bit for bit, 32 columns at a time.

A row is read from memory once: its bounds are computed first, then its codes, while it is in the first-level cache. The
random numbers are generated on the fly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Final

from offramp.splitmix import GOLDEN, STEPS
from offramp.sylvie.model import LEAST_RANGE, NUDGE
from offramp.sylvie.streams import GOLDEN_32, GROUP, LANES, LOW_BIAS
from offramp.sylvie.vectors import (
    F32,
    FLOATS,
    WORDS,
    Pair,
    copy_bytes,
    f32,
    greater,
    lesser,
    load_pair,
    pack_pair,
    prefetch_pair,
    reduced,
    splat,
    spread,
    store_pair,
    unpack_pair,
)
from offramp_base.native.llvm import I8, I32, I64, PTR, Value, const, i64, ll

BITS: Final = (1, 2, 4, 8)
NO_ROW: Final = -1
AHEAD: Final = 12
"""Rows of prefetch distance, since no cache can predict which rows are chosen."""
_EXPONENT: Final = 0x7F800000
_QUANTISE: Final = (PTR, I64, PTR, I64, I64, I64, PTR, PTR, PTR, I64, I64)
_DEQUANTISE: Final = (PTR, I64, PTR, PTR, PTR, I64, PTR, I64, I64)


@cache
def functions(bits: int) -> tuple[Any, Any, Any]:
    """The C functions ``quantise``, ``dequantise`` and the adding variant, over row positions ``first`` to ``last``.

    * ``quantise(x, stride, rows, columns, first, last, packed, least, greatest, seed, compact)`` returns the first
      position whose row has NaN, infinity or a range beyond float32, else :data:`NO_ROW`;
    * ``dequantise(packed, columns, least, greatest, out, stride, rows, first, last)`` returns :data:`NO_ROW`.

    Strides count floats; ``rows`` hold the row of ``x`` or ``out`` for each position.

    Raises:
        ImportError: llvmlite is missing.
    """
    from offramp_base.native.compiler import MachineCode

    module = ll.Module(f"sylvie{bits}")
    kernels = [_quantise(module, bits), _dequantise(module, bits, adds=False), _dequantise(module, bits, adds=True)]
    code = MachineCode(str(module))
    kinds = {PTR: ctypes.c_void_p, I64: ctypes.c_int64}

    def linked(function: Value) -> Any:
        call = code.function(function.name, ctypes.c_int64, *(kinds[a.type] for a in function.args))
        call.code = code  # keeps the machine code alive
        return call

    first, second, third = map(linked, kernels)
    return first, second, third


class _RowKernel:
    """Builder of a function over positions ``first`` to ``last``; ``b`` emits the body of the loop."""

    def __init__(self, module: Any, name: str, params: tuple[Any, ...], first: int) -> None:
        self.module = module
        self.llvm = ll.Function(module, ll.FunctionType(I64, params), name)
        self.b = ll.IRBuilder(self.llvm.append_basic_block("entry"))
        self.columns = self.llvm.args[3 if first == 4 else 1]
        self.whole = self.b.and_(self.columns, i64(-GROUP))
        self.rest = self.b.sub(self.columns, self.whole)
        self.scratch = self.b.alloca(ll.ArrayType(F32, GROUP))
        self.scratch.align = 64
        self.scratch.type = PTR  # llvmlite's pointers to one type hold no other
        self.start, self.stop = self.llvm.args[first], self.llvm.args[first + 1]

    @contextmanager
    def loop(self, start: Value, stop: Value, step: int, carried: tuple[Value, ...] = ()) -> Iterator[list[Value]]:
        """``for i in range(start, stop, step)``; yields i and the carried values, to be replaced by their next ones.

        After the loop the list holds the carried values at its end.
        """
        b = self.b
        before = b.block
        test, body, end = (self.llvm.append_basic_block(n) for n in ("test", "body", "end"))
        b.branch(test)
        b.position_at_end(test)
        phis = [b.phi(value.type) for value in (start, *carried)]
        for phi, value in zip(phis, (start, *carried), strict=True):
            phi.add_incoming(value, before)
        b.cbranch(b.icmp_signed("<", phis[0], stop), body, end)
        b.position_at_end(body)
        state = list(phis)
        yield state
        for phi, value in zip(phis, [b.add(phis[0], i64(step)), *state[1:]], strict=True):
            phi.add_incoming(value, b.block)
        b.branch(test)
        b.position_at_end(end)
        state[:] = phis

    def tail(self) -> Any:
        """Emit code for the case that columns are left that do not fill a vector."""
        return self.b.if_then(self.b.icmp_signed(">", self.rest, i64(0)), likely=False)

    def pad(self, source: Value, filler: Value) -> None:
        """Copy the remaining columns to the scratch vector, followed by ``filler``."""
        vector = spread(self.b, filler)
        store_pair(self.b, (vector, vector), self.scratch, i64(0))
        rest = self.b.gep(source, [self.whole], source_etype=F32)
        copy_bytes(self.b, self.module, self.scratch, rest, self.b.shl(self.rest, i64(2)))

    def row(self, base: Value, stride: Value, rows: Value, at: Value) -> tuple[Value, Value]:
        """Address and number of the row at a position."""
        number = self.b.load(self.b.gep(rows, [at], source_etype=I64), typ=I64)
        return self.b.gep(base, [self.b.mul(number, stride)], source_etype=F32), number

    def packed(self, base: Value, at: Value, bits: int) -> Value:
        """Address of the packed row at a position."""
        size = self.b.lshr(self.b.add(self.b.mul(self.columns, i64(bits)), i64(7)), i64(3))
        return self.b.gep(base, [self.b.mul(at, size)], source_etype=I8)

    def piece(self, packed: Value, column: Value, bits: int) -> Value:
        """Address of the codes from ``column`` on, a multiple of 32."""
        return self.b.gep(packed, [self.b.lshr(self.b.mul(column, i64(bits)), i64(3))], source_etype=I8)

    def rest_bytes(self, bits: int) -> Value:
        """Packed bytes of the remaining columns."""
        return self.b.lshr(self.b.add(self.b.mul(self.rest, i64(bits)), i64(7)), i64(3))


def _quantise(module: Any, bits: int) -> Value:
    f = _RowKernel(module, f"quantise{bits}", _QUANTISE, 4)
    b = f.b
    x, stride, rows, _, _, _, packed, least_out, greatest_out, seed, compact = f.llvm.args
    with f.loop(f.start, f.stop, 1) as (at, *_):
        source, number = f.row(x, stride, rows, at)
        later = b.add(at, i64(AHEAD))
        coming, _ = f.row(x, stride, rows, b.select(b.icmp_signed("<", later, f.stop), later, at))
        least, greatest, bad = _bounds(f, source, coming, compact)
        with b.if_then(bad, likely=False):
            b.ret(at)
        b.store(least, b.gep(least_out, [at], source_etype=F32))
        b.store(greatest, b.gep(greatest_out, [at], source_etype=F32))
        coder = _Coder(b, bits, least, greatest, _keys(b, seed, number))
        target = f.packed(packed, at, bits)
        counter = ll.Constant(WORDS, [lane * GOLDEN_32 & 0xFFFFFFFF for lane in range(LANES)])
        with f.loop(i64(0), f.whole, GROUP, (counter,)) as state:
            pack_pair(b, coder.codes(load_pair(b, source, state[0]), state[1]), bits, f.piece(target, state[0], bits))
            state[1] = b.add(state[1], splat(LANES * GOLDEN_32 & 0xFFFFFFFF))
        with f.tail():
            f.pad(source, least)
            pair = coder.codes(load_pair(b, f.scratch, i64(0)), state[1])
            pack_pair(b, pair, bits, f.scratch)
            copy_bytes(b, module, f.piece(target, f.whole, bits), f.scratch, f.rest_bytes(bits))
    b.ret(i64(NO_ROW))
    return f.llvm


def _bounds(f: _RowKernel, source: Value, coming: Value, compact: Value) -> tuple[Value, Value, Value]:
    """Least and greatest code point, and whether the row has none; prefetches the row that is ``coming``."""
    b = f.b
    first = spread(b, b.load(source, typ=F32))

    def step(pair: Pair, before: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        low, high, size = before
        for half in pair:
            low, high = lesser(b, half, low), greater(b, half, high)
            size = _most(b, b.and_(b.bitcast(half, WORDS), splat(_EXPONENT)), size)
        return low, high, size

    with f.loop(i64(0), f.whole, GROUP, (first, first, splat(0))) as state:
        prefetch_pair(b, f.module, coming, state[0])
        state[1:] = step(load_pair(b, source, state[0]), (state[1], state[2], state[3]))
    before, entry = state[1:], b.block
    with f.tail():
        f.pad(source, b.load(source, typ=F32))
        after, tail = step(load_pair(b, f.scratch, i64(0)), (before[0], before[1], before[2])), b.block
    merged = []
    for old, new in zip(before, after, strict=True):
        phi = b.phi(old.type)
        phi.add_incoming(old, entry)
        phi.add_incoming(new, tail)
        merged.append(phi)
    least = b.fadd(reduced(b, merged[0], partial(lesser, b)), f32(0))
    greatest = b.fadd(reduced(b, merged[1], partial(greater, b)), f32(0))
    size = reduced(b, merged[2], partial(_most, b))
    small = b.icmp_signed("!=", compact, i64(0))
    least = b.select(small, _down(b, least), least)
    greatest = b.select(small, b.fneg(_down(b, b.fneg(greatest))), greatest)
    span = b.fsub(greatest, least)
    infinite = b.icmp_unsigned("==", b.and_(b.bitcast(span, I32), const(I32, _EXPONENT)), const(I32, _EXPONENT))
    wide = b.fcmp_ordered(">=", span, f32(LEAST_RANGE))
    return least, b.select(wide, greatest, least), b.or_(infinite, b.icmp_unsigned("==", size, const(I32, _EXPONENT)))


def _most(b: Any, new: Value, old: Value) -> Value:
    return b.select(b.icmp_unsigned(">", new, old), new, old)


def _down(b: Any, x: Value) -> Value:
    """The greatest bfloat16 value that is not above."""
    word = b.bitcast(x, I32)
    rest = b.icmp_unsigned("!=", b.and_(word, const(I32, 0xFFFF)), const(I32, 0))
    away = b.and_(rest, b.icmp_signed("<", word, const(I32, 0)))
    cut = b.and_(word, const(I32, 0xFFFF0000))
    return b.bitcast(b.select(away, b.add(cut, const(I32, 0x10000)), cut), F32)


def _keys(b: Any, seed: Value, row: Value) -> Pair:
    """The two keys of a row, broadcast to all lanes."""
    key = b.add(seed, b.mul(b.add(row, i64(1)), i64(GOLDEN)))
    for shift, factor in STEPS:
        key = b.mul(b.xor(key, b.lshr(key, i64(shift))), i64(factor))
    return spread(b, b.trunc(key, I32), WORDS), spread(b, b.trunc(b.lshr(key, i64(32)), I32), WORDS)


class _Coder:
    """Emits the codes of one row."""

    def __init__(self, b: Any, bits: int, least: Value, greatest: Value, keys: Pair) -> None:
        self.b, self.keys = b, keys
        self.top = splat(2**bits - 1)
        span = b.fsub(greatest, least)
        inverse = b.fmul(b.fdiv(f32(2**bits - 1), span), f32(NUDGE))
        some = b.fcmp_ordered(">", span, f32(0))
        self.least, self.inverse = spread(b, least), spread(b, b.select(some, inverse, f32(0)))

    def codes(self, pair: Pair, counter: Value) -> Pair:
        """The codes of 32 columns, given their words' counters without the row's key."""
        b = self.b
        words = b.add(counter, self.keys[0])
        for step, (shift, factor) in enumerate(LOW_BIAS):
            words = b.xor(words, b.lshr(words, splat(shift)))
            words = b.mul(words, splat(factor)) if factor > 1 else words
            words = b.xor(words, self.keys[1]) if step == 0 else words
        low, high = b.and_(words, splat(0xFFFF)), b.lshr(words, splat(16))
        return self._code(pair[0], low), self._code(pair[1], high)

    def _code(self, x: Value, number: Value) -> Value:
        b = self.b
        fraction = b.fmul(b.sitofp(number, FLOATS), splat(2.0**-16, FLOATS))
        fraction = b.fadd(fraction, splat(2.0**-17, FLOATS))
        code = b.fptosi(b.fadd(b.fmul(b.fsub(x, self.least), self.inverse), fraction), WORDS)
        return b.select(b.icmp_signed("<", code, self.top), code, self.top)


def _dequantise(module: Any, bits: int, *, adds: bool) -> Value:
    f = _RowKernel(module, f"{'add' if adds else 'dequantise'}{bits}", _DEQUANTISE, 7)
    b = f.b
    packed, _, least_in, greatest_in, out, stride, rows, _, _ = f.llvm.args
    with f.loop(f.start, f.stop, 1) as (at, *_):
        target, _ = f.row(out, stride, rows, at)
        least, greatest = (b.load(b.gep(p, [at], source_etype=F32), typ=F32) for p in (least_in, greatest_in))
        decode = _decoder(b, bits, least, greatest)
        source = f.packed(packed, at, bits)
        with f.loop(i64(0), f.whole, GROUP) as (column, *_):
            pair = decode(unpack_pair(b, bits, f.piece(source, column, bits)))
            store_pair(b, _sum(b, load_pair(b, target, column), pair) if adds else pair, target, column)
        with f.tail():
            copy_bytes(b, module, f.scratch, f.piece(source, f.whole, bits), f.rest_bytes(bits))
            pair = decode(unpack_pair(b, bits, f.scratch))
            if adds:
                f.pad(target, f32(0))
                pair = _sum(b, load_pair(b, f.scratch, i64(0)), pair)
            store_pair(b, pair, f.scratch, i64(0))
            rest = b.gep(target, [f.whole], source_etype=F32)
            copy_bytes(b, module, rest, f.scratch, b.shl(f.rest, i64(2)))
    b.ret(i64(NO_ROW))
    return f.llvm


def _sum(b: Any, left: Pair, right: Pair) -> Pair:
    return b.fadd(left[0], right[0]), b.fadd(left[1], right[1])


def _decoder(b: Any, bits: int, least: Value, greatest: Value) -> Callable[[Pair], Pair]:
    top = 2**bits - 1
    step = spread(b, b.fdiv(b.fsub(greatest, least), f32(top)))
    low, high = spread(b, least), spread(b, greatest)

    def decode(pair: Pair) -> Pair:
        first, second = (
            b.select(b.icmp_signed("==", half, splat(top)), high, b.fadd(b.fmul(b.sitofp(half, FLOATS), step), low))
            for half in pair
        )
        return first, second

    return decode
