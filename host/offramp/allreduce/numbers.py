# SPDX-License-Identifier: Apache-2.0
"""Tensors as integers whose sums fit 32-bit lanes: limbs, and block floating point.

A lane that the switch adds up may hold at most ``2**b`` for ``n`` ranks, where ``b = 31 - ceil(log2 n)``. A number of
more bits is cut into limbs of ``b`` bits, which go in packets of their own. Integers are exact; their greatest width is
agreed once for a tensor. Floating-point numbers share an exponent with their chunk: the greatest of any rank's, agreed
in the packet. No sum can overflow a lane, so none can be wrong in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

Array = npt.NDArray[Any]

EXPONENT_BIAS = 0x4000
"""Added to exponents on the wire; 0 there is a chunk of zeros."""
_FLOAT64_BITS = 57
"""Bits of a float64 in limbs: all 53 where the chunk's greatest number has them; 32 of such still sum within int64."""
_EXACT = 96
"""Powers of two by which a float32 of 1 to 2**31 may be multiplied or divided without rounding."""
_FIELD = 10
"""Bits of each count of infinities and NaNs in a lane."""
_COUNTS = (1 << _FIELD) - 1


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """The wire format of a type of elements, among ``ranks``.

    Attributes:
        dtype: dtype of the tensor.
        code: code of the type, 1 to 255, which ranks compare.
        floating: whether chunks have exponents.
        lane_bits: bits of a limb.
    """

    dtype: np.dtype[Any]
    code: int
    floating: bool
    lane_bits: int

    def limbs(self, bits: int) -> int:
        """Packets for each chunk, of integers that take ``bits`` without their sign."""
        if not self.floating:
            return max(1, -(-bits // self.lane_bits))
        return 1 if self.dtype.itemsize <= 4 else -(-54 // self.lane_bits)

    @property
    def total_bits(self) -> int:
        """Bits of a floating-point number as an integer."""
        return min(_FLOAT64_BITS, self.limbs(0) * self.lane_bits)


CODES = {
    name: code
    for code, name in enumerate(
        ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"), 1
    )
}
"""Number of each type of elements on the wire."""
_NAMES = {code: name for name, code in CODES.items()}


def name_of(code: int) -> str:
    """The name of a type, as it is in errors."""
    return _NAMES.get(code, f"type {code}")


def format_of(dtype: np.dtype[Any], ranks: int) -> NumberFormat:
    """The format in which elements of ``dtype`` are summed over ``ranks``.

    Raises:
        OfframpError: a type that is not served.
    """
    code = CODES.get(dtype.name)
    if code is None:
        raise OfframpError(f"all_reduce: type {dtype.name}: expected {', '.join(CODES)}")
    return NumberFormat(dtype, code, "float" in dtype.name, 31 - (ranks - 1).bit_length())


def carried(form: NumberFormat) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Types in which machine code takes elements, and gives sums: float32 and float64 for elements of 16 bits."""
    if form.floating and form.dtype.itemsize < np.dtype(np.float32).itemsize:
        return np.dtype(np.float32), np.dtype(np.float64)
    return form.dtype, form.dtype


def integer_bits(values: Array) -> int:
    """The least ``b`` such that ``-2**b <= x < 2**b`` for all values, 0 for none."""
    if not values.size:
        return 0
    least, greatest = int(values.min()), int(values.max())
    return max(greatest.bit_length() if greatest >= 0 else 0, (~least).bit_length() if least < 0 else 0)


def exponents(chunks: Array) -> tuple[Array, Array]:
    """Per row, the biased exponent that bounds its finite numbers, and whether it has infinities or NaN; ``(n,)``."""
    sizes = np.abs(chunks)
    greatest = sizes.max(axis=1, initial=0)
    wild = ~np.isfinite(greatest)
    if wild.any():
        greatest[wild] = np.where(np.isfinite(sizes[wild]), sizes[wild], 0).max(axis=1, initial=0)
    _, exponent = np.frexp(greatest)
    return np.where(greatest > 0, exponent + EXPONENT_BIAS, 0).astype(np.int64), wild


def quantise(chunks: Array, biased: Array, form: NumberFormat) -> Array:
    """``(n, k)`` floating-point numbers at the exponents of their rows as whole numbers: int64 where there are limbs.

    Infinities and NaNs are 0.

    Raises:
        OfframpError: a number beyond the exponent that was agreed.
    """
    shift = np.where(biased > 0, form.total_bits - (biased - EXPONENT_BIAS), 0).astype(np.int32)
    single = chunks.dtype.itemsize <= 4
    scaled: Array
    if single and int(shift.max(initial=0)) <= 127 and int(shift.min(initial=0)) >= -126:
        scaled = chunks * np.ldexp(np.float32(1), shift)[:, None]
    else:
        with np.errstate(over="ignore"):
            scaled = np.ldexp(chunks.astype(np.float64), shift[:, None])
    np.rint(scaled, out=scaled)
    size = np.maximum(scaled.max(initial=0), -scaled.min(initial=0))
    if not size <= 2.0**form.total_bits:
        finite = np.isfinite(chunks)
        if np.abs(scaled[finite]).max(initial=0) > 2.0**form.total_bits:
            raise OfframpError("a number is beyond the exponent that the ranks agreed on: it changed meanwhile")
        scaled[~finite] = 0
    return scaled if form.limbs(0) == 1 else scaled.astype(np.int64)


def dequantise(sums: Array, biased: Array, form: NumberFormat) -> Array:
    """The sums of :func:`quantise`, int32 or int64 ``(n, k)``, as float64 or float32, rounded once."""
    shift = np.where(biased > 0, (biased - EXPONENT_BIAS) - form.total_bits, 0).astype(np.int32)
    if form.dtype == np.float32 and int(shift.min(initial=0)) >= -_EXACT and int(shift.max(initial=0)) <= _EXACT:
        single: Array = sums.astype(np.float32)
        single *= np.ldexp(np.float32(1), shift)[:, None]
        return single
    with np.errstate(over="ignore"):
        return np.ldexp(sums.astype(np.float64), shift[:, None])


def cut(values: Array, limbs: int, lane_bits: int) -> Array:
    """``(limbs, ...)`` lanes: the lowest first, all but the highest without a sign."""
    if limbs == 1:
        return values[None]
    parts = [values >> lane_bits * limb for limb in range(limbs)]
    mask = (1 << lane_bits) - 1
    return np.stack([*(part & mask for part in parts[:-1]), parts[-1]]).astype(np.int32)


def join_floats(parts: Array, lane_bits: int) -> Array:
    """The integers of summed limbs ``(limbs, ...)``, which fit 64 bits: int32 for one limb."""
    if len(parts) == 1:
        return np.asarray(parts[0])
    total: Array = parts[0].astype(np.int64)
    for limb, part in enumerate(parts[1:], 1):
        total += part.astype(np.int64) << lane_bits * limb
    return total


def join_integers(parts: Array, lane_bits: int, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The integers of summed limbs ``(limbs, ...)`` in ``dtype``, and where they do not fit."""
    mask, carry = (1 << lane_bits) - 1, np.zeros(parts.shape[1:], np.int64)
    total, position = np.zeros(parts.shape[1:], np.int64), 0
    limits = np.iinfo(dtype)
    for part in parts[:-1]:
        carry += part
        total |= (carry & mask) << position
        carry >>= lane_bits
        position += lane_bits
    carry += parts[-1]
    # The highest limb decides: what lies below it adds less than one to it.
    lowest, highest = int(limits.min) >> position, int(limits.max) >> position
    wrong = (carry < lowest) | (carry > highest)
    total |= np.where(wrong, 0, carry) << position
    fitting: Array = total.astype(dtype)
    return fitting, wrong


def classify(chunks: Array) -> Array:
    """Infinities and NaNs as int32 lanes whose sums count them; 0 for finite numbers."""
    counts = np.isposinf(chunks) * 1 + np.isneginf(chunks) * (1 << _FIELD) + np.isnan(chunks) * (1 << 2 * _FIELD)
    lanes: Array = counts.astype(np.int32)
    return lanes


def declassify(sums: Array) -> Array:
    """Float64 that the summed counts of :func:`classify` stand for: an infinity, NaN, or 0 where there are none."""
    positive, negative, nans = (sums >> shift & _COUNTS for shift in (0, _FIELD, 2 * _FIELD))
    wild = np.where(positive > 0, np.inf, 0.0)
    wild = np.where(negative > 0, np.where(positive > 0, np.nan, -np.inf), wild)
    return np.where(nans > 0, np.nan, wild)
