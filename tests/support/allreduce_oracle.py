# SPDX-License-Identifier: Apache-2.0
"""The sum of tensors by exact arithmetic: integers as such, floating point at the greatest exponent of each chunk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def exact_sum(arrays: Sequence[Array], lanes: int, window: int) -> Array:
    """Sums that every rank gets; NaN and infinities as IEEE 754 adds them.

    The first ``window`` packets share an exponent, later chunks of ``lanes`` elements have their own.
    """
    first = arrays[0]
    if "float" not in first.dtype.name:
        return sum(a.astype(object) for a in arrays).astype(first.dtype) if first.size else first.copy()
    lane_bits = 31 - (len(arrays) - 1).bit_length()
    limbs = 1 if first.dtype.itemsize <= 4 else -(-54 // lane_bits)
    bits = min(57, limbs * lane_bits)
    out = np.zeros(first.size, first.dtype)
    chunks = -(-first.size // lanes)
    shared = min(chunks, -(-window // limbs))
    for start, stop in [(0, shared), *((c, c + 1) for c in range(shared, chunks))]:
        places = slice(start * lanes, stop * lanes)
        rows = [a[places].tolist() for a in arrays]
        greatest = max((abs(x) for row in rows for x in row if math.isfinite(x)), default=0.0)
        scale = Fraction(2) ** (bits - math.frexp(greatest)[1]) if greatest else Fraction(1)
        for at, column in enumerate(zip(*rows, strict=True), start * lanes):
            if all(map(math.isfinite, column)):
                whole = sum(round(Fraction(x) * scale) for x in column)
                out[at] = rounded(Fraction(whole) / scale, first.dtype)
            else:
                with np.errstate(invalid="ignore"):
                    out[at] = np.sum(np.array([x for x in column if not math.isfinite(x)]))
    return out


def rounded(value: Fraction, dtype: np.dtype[Any]) -> Any:
    """The nearest number of a type, by way of float64 where it is narrower than float32."""
    if dtype == np.float64 or dtype.itemsize < 4:
        with np.errstate(over="ignore"):
            return dtype.type(float(value))
    with np.errstate(over="ignore"):
        near = np.float32(float(value))
        around = (np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf)))
    finite = [x for x in around if np.isfinite(x)]
    best = min(finite, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(np.uint32)) & 1))
    return near if not np.isfinite(near) else best


def random_tensor(rng: np.random.Generator, dtype: str, count: int, ranks: int) -> list[Array]:
    """A tensor of each rank whose integer sums fit the type."""
    if dtype.startswith("float"):
        spread = {"float16": 2, "float32": 12, "float64": 60}[dtype]
        parts = [rng.standard_normal(count) * 10.0 ** rng.uniform(-spread, spread / 2, count) for _ in range(ranks)]
        return [values.astype(dtype) for values in parts]
    info = np.iinfo(dtype)
    high = int(info.max) // ranks >> int(rng.integers(0, info.bits - 6))
    low = 0 if info.min == 0 else -high
    return [rng.integers(low, high + 1, count).astype(dtype) for _ in range(ranks)]
