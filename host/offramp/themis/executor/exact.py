# SPDX-License-Identifier: Apache-2.0
"""Sums that do not depend on the order: floating point as 64-bit fixed point at a scale that all ranks agree on.

Chunks that visit the dimensions in different orders add in different orders, and floating-point addition is not
associative. Integers are. A value keeps its bits down to ``2**-(62-log2(ranks))`` of the largest value of the tensor,
so float32 values within a factor of about ``2**38/ranks`` of the largest are summed without any rounding, and the sum
is rounded to the tensor's type once.
"""

from __future__ import annotations

import math

import torch

from offramp_base.errors import OfframpError

_BITS = 62
_LARGEST = 1000
"""Largest exponent of scales, which keeps float64 values normal."""

NOT_FINITE = 2**31
"""Stands for the exponent of a tensor with an infinity or NaN, which has no fixed-point form."""

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8)


def exponent(values: torch.Tensor) -> int:
    """The least ``e`` with all magnitudes below ``2**e``; very low for zeros, NOT_FINITE for infinities and NaN."""
    largest = float(values.abs().max()) if values.numel() else 0.0
    if not math.isfinite(largest):
        return NOT_FINITE
    return math.frexp(largest)[1] if largest else -NOT_FINITE


def scale(top: int, ranks: int) -> int:
    """The power of two by which values below ``2**top`` are multiplied so that ``ranks`` of them add up in 63 bits."""
    if top <= -NOT_FINITE:
        return 0
    return max(-_LARGEST, min(_LARGEST, _BITS - (ranks - 1).bit_length() - top))


def encode(values: torch.Tensor, k: int) -> torch.Tensor:
    """Round ``values·2**k`` to int64, halves to even.

    Raises:
        OfframpError: the type has no fixed-point form.
    """
    if values.dtype not in FLOATS:
        raise OfframpError(f"exact sum of {values.dtype}: expected float32, float64, float16 or bfloat16")
    return torch.round(values.to(torch.float64) * 2.0**k).to(torch.int64)


def decode(sums: torch.Tensor, k: int, dtype: torch.dtype) -> torch.Tensor:
    """Convert the sums back to floating point."""
    return (sums.to(torch.float64) * 2.0**-k).to(dtype)
