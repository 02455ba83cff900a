# SPDX-License-Identifier: Apache-2.0
"""Writes the instructions that leave records for Python (:mod:`offramp_p4.native.records`)."""

from __future__ import annotations

from collections.abc import Iterator

from offramp_base.native.llvm import Value, i64
from offramp_p4.native.codec import leaves
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.records import RECORD_HEAD, RecordFormat, RecordScalar
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import Buffer
from offramp_p4.native.shape import aligned, bits_of, shape
from offramp_p4.types import Bits, Type, Varbit, strip

_MOST_BYTES = 16 << 20
"""Most bytes of one batch's records that wait for Python; further records are lost."""


def record(g: Emitter, buffer: int, number: int, text: str, data: tuple[Value, Type] | None = None) -> RecordFormat:
    """Write the instructions that append a record of the value at an address; returns how to read it."""
    size = aligned(RECORD_HEAD + (shape(data[1]).size if data else 0), 8)
    with g.when(g.b.icmp_unsigned("<", g.word(buffer + Buffer.used), i64(_MOST_BYTES)), likely=True):
        at = g.b.inttoptr(g.call(append, g.context, buffer, size), g.memory.type)
        g.tags.mark(g.b.store(i64(number), at), "Words")
        if data:
            g.copy(g.at(at, RECORD_HEAD), data[0], shape(data[1]).size)
    return RecordFormat(text, tuple(_cells(data[1], RECORD_HEAD)) if data else (), size)


def layout_of(t: Type) -> RecordFormat:
    """The layout for reading a value of ``t`` that stands by itself."""
    return RecordFormat("", tuple(_cells(t, 0)), shape(t).size)


def _cells(t: Type, base: int) -> Iterator[RecordScalar]:
    for leaf in leaves(strip(t), base):
        if isinstance(leaf.type, Varbit):
            yield RecordScalar(leaf.offset + 4, Bits(8 * ((leaf.type.width + 7) // 8)), varbit=True)
            yield RecordScalar(leaf.offset, Bits(32))
        else:
            bits = bits_of(leaf.type)
            assert bits is not None
            yield RecordScalar(leaf.offset, bits)
