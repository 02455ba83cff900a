# SPDX-License-Identifier: Apache-2.0
"""One's complement sums of 16-bit words, as in :mod:`offramp_p4.portable.checksums`."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, native

_ONES: Final = 0xFFFF


@native
def _fold(total: int) -> int:
    while total > _ONES:
        total = (total & _ONES) + (total >> 16)
    return total


@native
def add_words(total: int, data: Bytes, size: int) -> int:
    """The sum of ``total`` and the words of ``data``; odd data is padded with a zero byte."""
    for i in range(size // 2):
        total += data[2 * i] << 8 | data[2 * i + 1]
    if size & 1 != 0:
        total += data[size - 1] << 8
    return _fold(total)


@native
def subtract_words(total: int, data: Bytes, size: int) -> int:
    """The sum of ``total`` and the complements of the words of ``data``."""
    for i in range(size // 2):
        total += _ONES - (data[2 * i] << 8 | data[2 * i + 1])
    if size & 1 != 0:
        total += _ONES - (data[size - 1] << 8)
    return _fold(total)
