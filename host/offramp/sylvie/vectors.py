# SPDX-License-Identifier: Apache-2.0
"""Vectors of 32 columns in LLVM: two of 16 lanes, as wide as AVX-512; LLVM splits them for narrower machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from offramp.sylvie.streams import GROUP, LANES
from offramp_base.native.llvm import I1, I8, I32, I64, PTR, Value, const, i64, ll

F32: Final = ll.FloatType()
FLOATS: Final = ll.VectorType(F32, LANES)
WORDS: Final = ll.VectorType(I32, LANES)
Pair = tuple[Value, Value]
"""A vector of 32 columns: the first 16 and the others."""


def f32(value: float) -> Value:
    """A float32 constant."""
    return ll.Constant(F32, value)


def splat(value: Any, kind: Any = WORDS) -> Value:
    """A constant vector with one number in all lanes."""
    return ll.Constant(kind, [value] * kind.count)


def spread(b: Any, scalar: Value, kind: Any = FLOATS) -> Value:
    """A vector whose lanes all hold ``scalar``."""
    single = b.insert_element(ll.Constant(kind, ll.Undefined), scalar, ll.Constant(I32, 0))
    return b.shuffle_vector(single, ll.Constant(kind, ll.Undefined), splat(0, ll.VectorType(I32, kind.count)))


def reduced(b: Any, vector: Value, combine: Callable[[Value, Value], Value]) -> Value:
    """All lanes combined, by repeated halving."""
    lanes = LANES
    while lanes > 1:
        lanes //= 2
        order = [(i + lanes) % LANES for i in range(LANES)]
        vector = combine(vector, b.shuffle_vector(vector, vector, ll.Constant(WORDS, order)))
    return b.extract_element(vector, ll.Constant(I32, 0))


def lesser(b: Any, new: Value, old: Value) -> Value:
    """The lesser value in each lane; ``old`` where ``new`` is NaN."""
    return b.select(b.fcmp_ordered("<", new, old), new, old)


def greater(b: Any, new: Value, old: Value) -> Value:
    """The greater value in each lane; ``old`` where ``new`` is NaN."""
    return b.select(b.fcmp_ordered(">", new, old), new, old)


def load_pair(b: Any, pointer: Value, column: Value) -> Pair:
    """Load 32 floats from ``column`` on."""
    first = b.gep(pointer, [column], source_etype=F32)
    second = b.gep(first, [i64(LANES)], source_etype=F32)
    return b.load(first, typ=FLOATS, align=4), b.load(second, typ=FLOATS, align=4)


def store_pair(b: Any, pair: Pair, pointer: Value, column: Value) -> None:
    """Store 32 floats from ``column`` on."""
    first = b.gep(pointer, [column], source_etype=F32)
    b.store(pair[0], first, align=4)
    b.store(pair[1], b.gep(first, [i64(LANES)], source_etype=F32), align=4)


def prefetch_pair(b: Any, module: Any, pointer: Value, column: Value) -> None:
    """Prefetch 32 floats from ``column`` on."""
    kind = ll.FunctionType(ll.VoidType(), [PTR, I32, I32, I32])
    function = module.declare_intrinsic("llvm.prefetch.p0", [], kind)
    for offset in (0, LANES):  # a line of the cache each
        place = b.gep(pointer, [b.add(column, i64(offset))], source_etype=F32)
        b.call(function, [place, const(I32, 0), const(I32, 3), const(I32, 1)])


def pack_pair(b: Any, pair: Pair, bits: int, target: Value) -> None:
    """Pack 32 codes, ``(WORDS, WORDS)``, into ``4·bits`` bytes at ``target``."""
    low, high = (b.trunc(half, ll.VectorType(I8, LANES)) for half in pair)
    joined = b.shuffle_vector(low, high, ll.Constant(ll.VectorType(I32, GROUP), list(range(GROUP))))
    if bits == 1:
        flags = b.trunc(joined, ll.VectorType(I1, GROUP))
        b.store(b.bitcast(flags, I32), target, align=1)
        return
    if bits < 8:  # several codes to a byte: as one word, then shifted onto each other
        codes = 8 // bits
        wide = ll.VectorType(ll.IntType(8 * codes), GROUP // codes)
        word = folded = b.bitcast(joined, wide)
        for i in range(1, codes):
            folded = b.or_(folded, b.lshr(word, splat(i * (8 - bits), wide)))
        joined = b.trunc(folded, ll.VectorType(I8, GROUP // codes))
    b.store(joined, target, align=1)


def unpack_pair(b: Any, bits: int, source: Value) -> Pair:
    """Unpack 32 codes, ``(WORDS, WORDS)``, from ``4·bits`` bytes at ``source``."""
    codes = 8 // bits
    if bits == 1:
        joined = b.zext(b.bitcast(b.load(source, typ=I32, align=1), ll.VectorType(I1, GROUP)), ll.VectorType(I8, GROUP))
    else:
        joined = b.load(source, typ=ll.VectorType(I8, GROUP // codes), align=1)
    if 1 < bits < 8:
        wide = ll.VectorType(ll.IntType(8 * codes), GROUP // codes)
        word = spaced = b.zext(joined, wide)
        for i in range(1, codes):
            spaced = b.or_(spaced, b.shl(word, splat(i * (8 - bits), wide)))
        mask = sum((2**bits - 1) << 8 * i for i in range(codes))
        joined = b.bitcast(b.and_(spaced, splat(mask, wide)), ll.VectorType(I8, GROUP))
    halves = [ll.Constant(WORDS, list(range(start, start + LANES))) for start in (0, LANES)]
    low, high = (b.zext(b.shuffle_vector(joined, joined, half), WORDS) for half in halves)
    return low, high


def copy_bytes(b: Any, module: Any, into: Value, source: Value, size: Value) -> None:
    """Copy bytes like ``memcpy``."""
    kind = ll.FunctionType(ll.VoidType(), [PTR, PTR, I64, I1])
    b.call(module.declare_intrinsic("llvm.memcpy.p0.p0.i64", [], kind), [into, source, size, const(I1, 0)])
