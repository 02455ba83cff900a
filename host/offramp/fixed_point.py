# SPDX-License-Identifier: Apache-2.0
"""Fixed point for integer-only switch ALUs: one power-of-two scale a layer (specification section 3.3)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

INT32_MAX = 2**31 - 1
EXPONENT_LIMIT = 126
"""Scales stay within ``2**±126``, where they and their inverses are normal float32 numbers."""
_PIECE = 1 << 15
"""Numbers that are converted at a time: their float64 stays in the processor's cache, and takes no memory."""


def scale_exponent(max_abs: float, fan_in: int) -> int:
    """Largest ``k`` such that ``fan_in`` values of at most ``max_abs``, times ``2**k``, sum inside int32.

    floor(log2((2**31-1)/(D·m))), computed exactly, and one less in the rare case where rounding the largest
    value up would overflow the sum. 0 where nothing is sent (``max_abs`` or ``fan_in`` is 0).

    Raises:
        OfframpError: ``max_abs`` is negative, not finite or too large for any scale; ``fan_in`` is negative.
    """
    if not math.isfinite(max_abs) or max_abs < 0:
        raise OfframpError(f"max_abs {max_abs}: expected a finite number of at least 0")
    if fan_in < 0:
        raise OfframpError(f"fan_in {fan_in}: expected at least 0")
    if max_abs == 0 or fan_in == 0:
        return 0
    largest = Fraction(max_abs)
    most = Fraction(INT32_MAX) / (fan_in * largest)
    k = most.numerator.bit_length() - most.denominator.bit_length()  # or one less
    if Fraction(2) ** k > most:
        k -= 1
    if fan_in * round(largest * Fraction(2) ** k) > INT32_MAX:
        k -= 1
    if k < -EXPONENT_LIMIT:
        raise OfframpError(f"max_abs {max_abs}: {fan_in} such values fit no scale of at least 2**-{EXPONENT_LIMIT}")
    return min(k, EXPONENT_LIMIT)


def quantise(values: npt.ArrayLike, k: int) -> npt.NDArray[np.int32]:
    """``rint(values·2**k)``, halves to even, as int32 of the same shape.

    Raises:
        OfframpError: values that are NaN or fall outside int32 (saturation is reported, never silent).
    """
    values = np.asarray(values)
    flat, numbers, beyond = values.reshape(-1), np.empty(values.size, np.int32), 0
    for at in range(0, flat.size, _PIECE):
        scaled = np.multiply(flat[at : at + _PIECE], 2.0**k, dtype=np.float64)
        np.rint(scaled, out=scaled)
        if scaled.min() >= -INT32_MAX and scaled.max() <= INT32_MAX:  # not where one is NaN
            numbers[at : at + _PIECE] = scaled
        else:
            beyond += scaled.size - int(np.count_nonzero(np.abs(scaled) <= INT32_MAX))
    if beyond:
        raise OfframpError(f"quantise: {beyond} of {values.size} values are NaN or saturate int32 at scale 2**{k}")
    return numbers.reshape(values.shape)


def dequantise(
    sums: npt.ArrayLike, k: int, dtype: type[np.float32 | np.float64] = np.float64
) -> npt.NDArray[np.floating]:
    """``sums/2**k`` in ``dtype``; a sum of ``d`` quantised terms is off by at most ``d/2·2**-k``."""
    sums = np.asarray(sums)
    flat, values = sums.reshape(-1), np.empty(sums.size, dtype)
    for at in range(0, flat.size, _PIECE):
        values[at : at + _PIECE] = np.multiply(flat[at : at + _PIECE], 2.0**-k, dtype=np.float64)
    return values.reshape(sums.shape)
