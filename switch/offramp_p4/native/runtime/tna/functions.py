# SPDX-License-Identifier: Apache-2.0
"""Hashes, sums and the math unit of TNA."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, Words, highest_bit, native

_ONES: Final = 0xFFFF
_BIAS: Final = _ONES << 40


@native
def linear_hash(table: Words, data: Bytes, size: int) -> int:
    """A linear function over GF(2): the value of zeros, then that of each half of each byte, 16 words each."""
    result = table[0]
    table = table + 1
    for i in range(size):
        byte = data[i]
        result = result ^ table[byte >> 4] ^ table[16 + (byte & 15)]
        table = table + 32
    return result


@native
def sum_words(data: Bytes, size: int) -> int:
    """The sum of 16-bit words; odd data is padded with a zero byte."""
    total = 0
    for i in range(size // 2):
        total += data[2 * i] << 8 | data[2 * i + 1]
    if size & 1 != 0:
        total += data[size - 1] << 8
    return total


@native
def residue(total: int) -> int:
    """A sum, which may be negative, modulo 0xFFFF."""
    return (total + _BIAS) % _ONES


@native
def complete(total: int, zeros_as_ones: int) -> int:
    """The checksum of data with this sum (RFC 1071)."""
    if total == 0:
        return _ONES
    folded = total % _ONES
    if folded != 0:
        return folded ^ _ONES
    return _ONES if zeros_as_ones != 0 else 0


@native
def math_unit(x: int, low: int, high: int, scale: int, invert: int, shift: int) -> int:
    """See :mod:`offramp_p4.tna.math_unit`; the table's 16 bytes are in two words, the first one lowest."""
    if x <= 0:
        return 0
    e = highest_bit(x)
    if shift < 0 and e & 1 != 0:
        e += 1
    i = x >> (e - 3) if e >= 3 else x << (3 - e)
    value = (low if i < 8 else high) >> 8 * (i & 7) & 0xFF
    exponent = e
    if shift > 0:
        exponent = e * 2
    if shift < 0:
        exponent = e >> 1
    by = scale - exponent if invert != 0 else scale + exponent
    if by >= 0:
        return value << by if by < 64 else 0
    return value >> (0 - by) if by > -64 else 0
