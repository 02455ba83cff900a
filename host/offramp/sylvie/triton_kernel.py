# SPDX-License-Identifier: Apache-2.0
"""The quantiser as Triton kernels, for rows on a GPU; it equals :mod:`offramp.sylvie.model` bit for bit.

So a GPU sends codes: at 1 bit, a thirty-second of the floats. Products and sums are not fused, since a fused operation
rounds once where the model rounds twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
import triton
import triton.language as tl

from offramp.splitmix import GOLDEN, STEPS
from offramp.splitmix_tensor import signed
from offramp.sylvie.model import LEAST_RANGE, NUDGE
from offramp.sylvie.streams import GOLDEN_32, GROUP, LANES, LOW_BIAS

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCK = 256
_GOLDEN = tl.constexpr(GOLDEN)
_GOLDEN_32, _GROUP, _LANES = tl.constexpr(GOLDEN_32), tl.constexpr(GROUP), tl.constexpr(LANES)
_SHIFT_0, _FACTOR_0 = (tl.constexpr(number) for number in STEPS[0])
_SHIFT_1, _FACTOR_1 = (tl.constexpr(number) for number in STEPS[1])
_SHIFT_2 = tl.constexpr(STEPS[2][0])
_LOW_SHIFT_0, _LOW_FACTOR_0 = (tl.constexpr(number) for number in LOW_BIAS[0])
_LOW_SHIFT_1, _LOW_FACTOR_1 = (tl.constexpr(number) for number in LOW_BIAS[1])
_LOW_SHIFT_2 = tl.constexpr(LOW_BIAS[2][0])
_LEAST_RANGE, _NUDGE = tl.constexpr(float(LEAST_RANGE)), tl.constexpr(NUDGE)
_UNIT = tl.constexpr(2.0**-16)


@triton.jit
def _down(x):
    """The greatest bfloat16 value that is not above."""
    word = x.to(tl.uint32, bitcast=True)
    away = ((word & 0xFFFF) != 0) & ((word >> 31) == 1)
    return ((word & 0xFFFF0000) + away.to(tl.uint32) * 0x10000).to(tl.float32, bitcast=True)


@triton.jit
def _fractions(seed, row, column):
    """Random fractions that round each column of a row, as :func:`offramp.sylvie.streams.fractions`."""
    key = seed.to(tl.uint64) + (row.to(tl.uint64) + 1) * _GOLDEN
    key = (key ^ (key >> _SHIFT_0)) * _FACTOR_0
    key = (key ^ (key >> _SHIFT_1)) * _FACTOR_1
    key = key ^ (key >> _SHIFT_2)
    first, second = key.to(tl.uint32), (key >> 32).to(tl.uint32)
    place = column % _GROUP
    counter = (column // _GROUP * _LANES + place % _LANES).to(tl.uint32)
    word = counter * _GOLDEN_32 + first
    word = (word ^ (word >> _LOW_SHIFT_0)) * _LOW_FACTOR_0
    word = word ^ second
    word = (word ^ (word >> _LOW_SHIFT_1)) * _LOW_FACTOR_1
    word = word ^ (word >> _LOW_SHIFT_2)
    half = tl.where(place < _LANES, word & 0xFFFF, word >> 16)
    return half.to(tl.int32).to(tl.float32) * _UNIT + _UNIT / 2


@triton.jit(do_not_specialize=["seed"])
def _quantise(
    x, stride, rows, columns, row_bytes, packed, least_out, greatest_out, bad_out, seed,
    BITS: tl.constexpr, COMPACT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64)
    row = tl.load(rows + at)
    source = x + row * stride
    low, high, bad = float("inf"), float("-inf"), 0
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        value = tl.load(source + column, mask=inside, other=0.0)
        exponent = value.to(tl.uint32, bitcast=True) & 0x7F800000
        bad = tl.maximum(bad, tl.max((inside & (exponent == 0x7F800000)).to(tl.int32), 0))
        low = tl.minimum(low, tl.min(tl.where(inside, value, float("inf")), 0))
        high = tl.maximum(high, tl.max(tl.where(inside, value, float("-inf")), 0))
    least, greatest = low + 0.0, high + 0.0
    if COMPACT:
        least, greatest = _down(least), -_down(-greatest)
    span = greatest - least
    bad = tl.maximum(bad, ((span.to(tl.uint32, bitcast=True) & 0x7F800000) == 0x7F800000).to(tl.int32))
    greatest = tl.where(span >= _LEAST_RANGE, greatest, least)
    tl.store(least_out + at, least)
    tl.store(greatest_out + at, greatest)
    tl.store(bad_out + at, bad)
    span = greatest - least
    top: tl.constexpr = (1 << BITS) - 1
    EACH: tl.constexpr = 8 // BITS
    some = span > 0
    inverse = tl.where(some, tl.math.div_rn(top + 0.0 * span, tl.where(some, span, 1.0)) * _NUDGE, 0.0)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        value = tl.load(source + column, mask=inside, other=0.0)
        code = ((value - least) * inverse + _fractions(seed, row, column)).to(tl.int32)
        code = tl.where(inside, tl.minimum(code, top), 0)
        shifts = tl.arange(0, EACH) * BITS
        joined = tl.sum(tl.reshape(code, [BLOCK // EACH, EACH]) << shifts[None, :], 1)
        byte = start // EACH + tl.arange(0, BLOCK // EACH)
        tl.store(packed + at * row_bytes + byte, joined.to(tl.uint8), mask=byte < row_bytes)


@triton.jit
def _dequantise(
    packed, row_bytes, columns, least_in, greatest_in, out, stride, rows,
    BITS: tl.constexpr, ADDS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    target = out + tl.load(rows + at) * stride + column
    least, greatest = tl.load(least_in + at), tl.load(greatest_in + at)
    top: tl.constexpr = (1 << BITS) - 1
    EACH: tl.constexpr = 8 // BITS
    byte = tl.load(packed + at * row_bytes + column // EACH, mask=inside, other=0).to(tl.int32)
    code = byte >> (column % EACH * BITS) & top
    step = tl.math.div_rn(greatest - least, top + 0.0 * least)
    value = tl.where(code == top, greatest, code.to(tl.float32) * step + least)
    if ADDS:
        value += tl.load(target, mask=inside, other=0.0)
    tl.store(target, value, mask=inside)


class DeviceCodes(NamedTuple):
    """Quantised rows on a GPU, like :class:`offramp.sylvie.quantiser.Codes`.

    Attributes:
        packed: ``(n, row_bytes)`` uint8.
        least, greatest: ``(n,)`` float32.
        bad: ``(n,)`` int32, nonzero where a row cannot be quantised.
    """

    packed: torch.Tensor
    least: torch.Tensor
    greatest: torch.Tensor
    bad: torch.Tensor


def quantise(x: torch.Tensor, rows: torch.Tensor, bits: int, seed: int, *, compact: bool) -> DeviceCodes:
    """Codes of ``x[rows]`` with the random numbers and the bytes of :func:`offramp.sylvie.quantiser.quantise`.

    Args:
        x: ``(m, columns)`` float32 with contiguous columns.
        rows: ``(n,)`` int64 row numbers on the same device.
        bits: 1, 2, 4 or 8.
        seed: seed of 64 bits.
        compact: use bounds that are bfloat16 values and enclose the row.
    """
    count, columns = len(rows), x.shape[1]
    row_bytes = -(-columns * bits // 8)
    packed = torch.empty(count, row_bytes, dtype=torch.uint8, device=x.device)
    least, greatest = torch.empty(2, count, device=x.device)
    bad = torch.empty(count, dtype=torch.int32, device=x.device)
    if count:
        _quantise[count,](
            x, x.stride(0), rows, columns, row_bytes, packed, least, greatest, bad, signed(seed),
            BITS=bits, COMPACT=compact, BLOCK=_BLOCK, num_warps=2, enable_fp_fusion=False,
        )  # fmt: skip
    return DeviceCodes(packed, least, greatest, bad)


def dequantise(
    packed: torch.Tensor, bounds: Sequence[torch.Tensor], bits: int, out: torch.Tensor, rows: torch.Tensor, *, add: bool
) -> None:
    """Write the values of codes to ``out[rows]``, or add them; ``bounds`` are least and greatest values ``(n,)``."""
    count, columns = len(rows), out.shape[1]
    if count:
        _dequantise[count, triton.cdiv(columns, _BLOCK)](
            packed, packed.shape[1], columns, *bounds, out, out.stride(0), rows,
            BITS=bits, ADDS=add, BLOCK=_BLOCK, num_warps=2, enable_fp_fusion=False,
        )  # fmt: skip
