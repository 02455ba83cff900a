# SPDX-License-Identifier: Apache-2.0
"""Copies and comparisons of the memory of packets, written out: what is small and in the cache needs no call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from offramp_base.native.llvm import I64, Value, i64, ll
from offramp_p4.native.emitter import Emitter

_WORDS: Final = 8  # of a vector


def _pieces(size: int) -> Iterator[tuple[int, Any]]:
    """Offsets and types of the accesses that cover ``size`` bytes."""
    at = 0
    while at < size:
        words = min(_WORDS, (size - at) // 8)
        bytes_ = 8 * words or next(n for n in (4, 2, 1) if n <= size - at)
        yield at, ll.VectorType(I64, words) if words > 1 else ll.IntType(8 * bytes_)
        at += bytes_


def _load(g: Emitter, address: Value, t: Any) -> Value:
    return g.tags.mark(g.b.load(address, typ=t, align=1), "Memory")


def copy_near(g: Emitter, into: Value, source: Value, size: int) -> None:
    """Copy bytes between memories of packets."""
    for at, t in _pieces(size):
        g.tags.mark(g.b.store(_load(g, g.at(source, at), t), g.at(into, at), align=1), "Memory")


def same_bytes(g: Emitter, a: Value, b: Value, size: int) -> Value:
    """1, as a word, if the bytes in two packet memories are equal."""
    differences: dict[Any, Value] = {}
    for at, t in _pieces(size):
        difference = g.b.xor(_load(g, g.at(a, at), t), _load(g, g.at(b, at), t))
        differences[t] = g.b.or_(differences[t], difference) if t in differences else difference
    different: Value = i64(0)
    for t, difference in differences.items():
        different = g.b.or_(different, _reduced(g, t, difference))
    return g.b.zext(g.b.icmp_unsigned("==", different, i64(0)), I64)


def _reduced(g: Emitter, t: Any, number: Value) -> Value:
    """A word that is 0 if a number or vector is all 0."""
    if not isinstance(t, ll.VectorType):
        return g.resize(number, 64)
    name = f"llvm.vector.reduce.or.v{t.count}i64"
    reduce = g.module.globals.get(name) or ll.Function(g.module, ll.FunctionType(I64, [t]), name)
    return g.b.call(reduce, [number])
