# SPDX-License-Identifier: Apache-2.0
"""The quantiser in NumPy, as readable reference and oracle of the machine code, which equals it bit for bit."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.sylvie.streams import fractions

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

LEAST_RANGE: Final = 2.0**-100
"""Least range of a row that is not constant: with less, the reciprocal of the step overflows float32."""

NUDGE: Final = 1 + 2.0**-22
"""Factor on the reciprocal of the step, so that the greatest value never falls below the highest code."""


def bounds(x: Floats, compact: bool) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Least and greatest code point of each row, and which rows have none: NaN, infinity, or a range beyond float32.

    Compact bounds are bfloat16 values: the least is rounded down and the greatest up, so that they enclose the row.
    """
    zero = np.float32(0)
    least, greatest = x.min(axis=1) + zero, x.max(axis=1) + zero  # no negative zero
    if compact:
        least, greatest = _down(least), -_down(-greatest)
    with np.errstate(over="ignore", invalid="ignore"):
        span = greatest - least
    bad = ~(np.isfinite(x).all(axis=1) & np.isfinite(span))
    return least, np.where(span >= np.float32(LEAST_RANGE), greatest, least), bad


def codes(x: Floats, rows: npt.NDArray[np.int64], bits: int, seed: int, least: Floats, greatest: Floats) -> Bytes:
    """``(n, columns)`` stochastically rounded codes (eq. 3.1); ``rows`` are the numbers that select random numbers."""
    top = np.float32(2**bits - 1)
    span = greatest - least
    inverse = np.where(span > 0, top / np.where(span > 0, span, np.float32(1)) * np.float32(NUDGE), np.float32(0))
    scaled = (x - least[:, None]) * inverse[:, None] + fractions(seed, rows, x.shape[1])
    return np.minimum(scaled.astype(np.int32), np.int32(top)).astype(np.uint8)


def values(code: Bytes, bits: int, least: Floats, greatest: Floats) -> Floats:
    """``(n, columns)`` float32 values of codes (eq. 3.2); the highest code means exactly the greatest value."""
    top = 2**bits - 1
    step = (greatest - least) / np.float32(top)
    return np.where(code == top, greatest[:, None], code.astype(np.float32) * step[:, None] + least[:, None])


def pack(code: Bytes, bits: int) -> Bytes:
    """``(n, ceil(columns·bits/8))`` bytes: the first code in the lowest bits, each row padded with zeros."""
    planes = code[:, :, None] >> np.arange(bits, dtype=np.uint8) & np.uint8(1)
    return np.packbits(planes.reshape(len(code), code.shape[1] * bits), axis=1, bitorder="little")


def unpack(packed: Bytes, bits: int, columns: int) -> Bytes:
    """The codes that :func:`pack` packed."""
    planes = np.unpackbits(packed, axis=1, count=columns * bits, bitorder="little")
    weights = np.uint8(1) << np.arange(bits, dtype=np.uint8)
    code: Bytes = (planes.reshape(len(packed), columns, bits) * weights).sum(axis=2, dtype=np.uint8)
    return code


def _down(x: Floats) -> Floats:
    """The greatest bfloat16 value that is not above."""
    word = np.ascontiguousarray(x).view(np.uint32)
    away = ((word & np.uint32(0xFFFF)) != 0) & (word >> np.uint32(31) == 1)
    down = (word & np.uint32(0xFFFF0000)) + away.astype(np.uint32) * np.uint32(0x10000)
    floats: Floats = down.view(np.float32)
    return floats
