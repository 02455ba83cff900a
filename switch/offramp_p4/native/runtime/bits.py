# SPDX-License-Identifier: Apache-2.0
"""Strings of bits that do not begin or end at bytes."""

from __future__ import annotations

from offramp_base.native.subset import Bytes, clear, copy, native


@native
def copy_bits(into: Bytes, into_bit: int, source: Bytes, source_bit: int, count: int) -> None:
    """Copy ``count`` bits, counted from the highest of the first byte; the bits around them stay."""
    into = into + into_bit // 8
    source = source + source_bit // 8
    into_bit = into_bit & 7
    source_bit = source_bit & 7
    if into_bit == 0 and source_bit == 0:
        copy(into, source, count // 8)
        into = into + count // 8
        source = source + count // 8
        count = count & 7
    for i in range(count):
        to = into_bit + i
        at = source_bit + i
        bit = (source[at // 8] >> (7 - (at & 7))) & 1
        into[to // 8] = (into[to // 8] & ~(0x80 >> (to & 7))) | (bit << (7 - (to & 7)))


@native
def clear_tail(data: Bytes, bits: int, size: int) -> None:
    """Set everything behind the first ``bits`` bits of ``size`` bytes to 0."""
    whole = bits // 8
    if bits & 7 != 0:
        data[whole] = data[whole] & (0xFF00 >> (bits & 7))
        whole += 1
    clear(data + whole, size - whole)
