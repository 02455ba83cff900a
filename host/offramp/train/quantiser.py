# SPDX-License-Identifier: Apache-2.0
"""Sylvie's quantiser for sums: stochastic rounding under a shared scale, several values to a lane.

(sylvie-torchgt-unitg.md section 1.3.) Values that are summed must share a scale; each contributor may subtract its own
least value, which the owner of the sum adds back. Codes are never negative, and only as many share a field as keep
their sum in it, so lanes are added without a carry into the next field.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.switchgnn.scheme import LANE_BITS
from offramp_base.errors import OfframpError

Floats = npt.NDArray[np.floating]


def least_and_largest(values: Floats) -> npt.NDArray[np.float32]:
    """``(m, 2)`` ranges of the rows of ``(m, F)`` values, rounded outward to bfloat16.

    Raises:
        OfframpError: a value is not finite, or bfloat16 cannot bound it.
    """
    ends = np.stack([_upward(-values.min(axis=1)), _upward(values.max(axis=1))], axis=1) if len(values) else None
    if ends is None:
        return np.zeros((0, 2), np.float32)
    if not np.isfinite(ends).all():
        raise OfframpError("quantise: expected finite values, below 2**127 in magnitude")
    ends[:, 0] *= -1
    return ends


def _upward(x: Floats) -> npt.NDArray[np.float32]:
    """The least bfloat16 that is not below ``x``."""
    with np.errstate(over="ignore"):
        single = np.asarray(x, np.float32)
    single = np.where(single.astype(np.float64) < x, np.nextafter(single, np.float32(np.inf)), single)
    bits = single.view(np.uint32)
    kept = bits & np.uint32(0xFFFF0000)
    inexact = (bits != kept) & (single > 0)
    return np.asarray(kept + (inexact.astype(np.uint32) << np.uint32(16))).view(np.float32)


def to_bytes(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """Encode ``(m, k)`` float32 with bfloat16 values as ``(m, 2k)`` bytes."""
    upper = (np.ascontiguousarray(values).view(np.uint32) >> np.uint32(16)).astype("<u2")
    return np.ascontiguousarray(upper).view(np.uint8)


def from_bytes(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """The inverse of :func:`to_bytes`."""
    upper = np.ascontiguousarray(data).view("<u2").astype(np.uint32)
    return (upper << np.uint32(16)).view(np.float32)


def shared_scale(ranges: Floats, terms: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.float32]:
    """``(b,)`` bfloat16 steps of sums of ``terms`` contributions whose ranges sum to ``ranges``.

    The levels of all contributions together fill the field, however they are divided; stochastic rounding may add one
    level to each contribution.
    """
    return _upward(np.asarray(ranges, np.float64) / ((1 << bits) - 1 - terms))


def common_scale(ranges: Floats, bits: int) -> npt.NDArray[np.float32]:
    """``(b,)`` bfloat16 steps of sums whose contributions range over at most ``ranges``, each a code of ``bits``."""
    return _upward(np.asarray(ranges, np.float64) / ((1 << bits) - 1))


def common_levels(terms: int, bits: int) -> int:
    """Levels of each value if a sum has at most ``terms`` contributions, all possibly of the largest code."""
    return ((1 << bits) - 1) // max(terms, 1)


def levels_of(ranges: Floats, scale: Floats) -> npt.NDArray[np.float64]:
    """Levels of ranges under a :func:`shared_scale`; the levels of a sum's contributions fit in its field together."""
    return np.ceil(np.asarray(ranges, np.float64) / np.where(np.asarray(scale) > 0, scale, 1))


def encode(
    values: Floats, least: Floats | float, scale: Floats | float, levels: Floats | int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Codes of ``(m, F)`` values, 0 to ``levels``: (x - least)/scale, rounded up with the probability of the fraction.

    ``least``, ``scale`` and ``levels`` broadcast against the rows; a scale of 0, for an empty range, gives 0.
    """
    step = np.where(np.asarray(scale) > 0, scale, 1).astype(np.float64)
    exact = (np.asarray(values, np.float64) - least) / step
    codes = np.clip(np.floor(exact + rng.random(exact.shape)), 0, levels)
    return np.where(np.asarray(scale) > 0, codes, 0).astype(np.int64)


def pack(codes: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.int32]:
    """Pack ``(m, F)`` codes below ``2**bits`` into ``(m, lanes)``, the first in the least significant bits."""
    each = LANE_BITS // bits
    lanes = -(-codes.shape[1] // each)
    padded = np.zeros((len(codes), lanes * each), np.uint32)
    padded[:, : codes.shape[1]] = codes
    shifts = (bits * np.arange(each)).astype(np.uint32)
    fields = padded.reshape(len(codes), lanes, each) << shifts
    packed: npt.NDArray[np.uint32] = np.bitwise_or.reduce(fields, axis=2)
    return packed.view(np.int32)


def unpack(sums: npt.NDArray[np.int64], bits: int, features: int) -> npt.NDArray[np.int64]:
    """Unpack ``(b, F)`` sums of codes from ``(b, lanes)`` sums of lanes, treating the sign bit as an ordinary bit."""
    each = LANE_BITS // bits
    shifts = (bits * np.arange(each)).astype(np.uint64)
    lanes = (sums & 0xFFFFFFFF).astype(np.uint64)[:, :, np.newaxis]
    fields = lanes >> shifts & np.uint64((1 << bits) - 1)
    return fields.reshape(len(sums), sums.shape[1] * each)[:, :features].astype(np.int64)
