# SPDX-License-Identifier: Apache-2.0
"""Quantisation of float32 rows to packed codes, and back (specification section 1.3)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from offramp.sylvie import kernel, model
from offramp.sylvie.kernel import BITS, NO_ROW
from offramp.sylvie.model import Bytes, Floats
from offramp_base.errors import OfframpError

Rows = npt.NDArray[np.int64]


class Codes(NamedTuple):
    """Quantised feature vectors.

    Attributes:
        packed: ``(n, row_bytes)`` uint8, the first column in the lowest bits.
        least: ``(n,)`` float32 value of code 0.
        greatest: ``(n,)`` float32 value of the highest code.
    """

    packed: Bytes
    least: Floats
    greatest: Floats


def row_bytes(columns: int, bits: int) -> int:
    """Packed bytes of a row (S7)."""
    return -(-columns * bits // 8)


def quantise(
    x: Floats,
    rows: Rows | None,
    bits: int,
    seed: int,
    *,
    compact: bool = False,
    into: Bytes | None = None,
    threads: int = 1,
    interpreted: bool = False,
) -> Codes:
    """Codes of ``x[rows]``, rounded stochastically; the expected value of a code is the original value.

    A row's codes depend only on its values, ``seed`` (:func:`~offramp.sylvie.streams.stream`), its number in ``x`` and
    ``bits``.

    Args:
        x: ``(m, columns)`` float32 with contiguous rows.
        rows: ``(n,)`` int64 rows to take; None for all.
        bits: bits of a code, one of 1, 2, 4, 8.
        seed: seed of 64 bits.
        compact: use bounds that are bfloat16 values and enclose the row: half the metadata, steps up to 2 % wider;
            extremes and constant rows are exact only if they are bfloat16 values.
        into: output for the packed rows, ``(n, row_bytes)`` contiguous; by default a new array.
        threads: number of threads that share the rows.
        interpreted: compute with NumPy; the result is the same.

    Raises:
        OfframpError: a row, which the message names, has NaN or infinity or a range beyond float32; or arrays or bits
            are not as above.
    """
    check_array("x", x)
    chosen = _rows(rows, len(x))
    shape = (len(chosen), row_bytes(x.shape[1], _bits(bits)))
    packed = np.empty(shape, np.uint8) if into is None else _packed(into, shape)
    least, greatest = np.empty(len(chosen), np.float32), np.empty(len(chosen), np.float32)
    native = None if interpreted else _native(bits)
    if native is None:
        least, greatest, wrong = model.bounds(x[chosen], compact)
        bad = int(wrong.argmax()) if wrong.any() else NO_ROW
        if bad == NO_ROW:
            packed[:] = model.pack(model.codes(x[chosen], chosen, bits, seed, least, greatest), bits)
    else:
        word = int(np.uint64(seed & (1 << 64) - 1).astype(np.int64))
        base, stride, places = x.ctypes.data, x.strides[0] // 4, [a.ctypes.data for a in (packed, least, greatest)]
        numbers = chosen.ctypes.data

        def part(first: int, last: int) -> int:
            return int(native[0](base, stride, numbers, x.shape[1], first, last, *places, word, int(compact)))

        bad = _shared(part, len(chosen), threads)
    if bad != NO_ROW:
        raise cannot_be_quantised(int(chosen[bad]))
    return Codes(packed, least, greatest)


def cannot_be_quantised(row: int) -> OfframpError:
    """The error for a row that has no codes."""
    return OfframpError(f"row {row} cannot be quantised: it holds NaN or infinity, or its range is beyond float32")


def dequantise(
    codes: Codes,
    bits: int,
    out: Floats,
    rows: Rows | None = None,
    *,
    add: bool = False,
    threads: int = 1,
    interpreted: bool = False,
) -> None:
    """Write the values of codes to ``out[rows]``, or add them to it; ``rows`` are distinct.

    Raises:
        OfframpError: the arrays do not match.
    """
    check_array("out", out)
    chosen = _rows(rows, len(out))
    packed = _packed(codes.packed, (len(chosen), row_bytes(out.shape[1], _bits(bits))))
    least, greatest = (np.ascontiguousarray(bound, np.float32) for bound in (codes.least, codes.greatest))
    if not least.shape == greatest.shape == chosen.shape:
        raise OfframpError(f"bounds: expected {len(chosen)}, one per row, got {len(least)} and {len(greatest)}")
    native = None if interpreted else _native(bits)
    if native is None:
        values = model.values(model.unpack(packed, bits, out.shape[1]), bits, least, greatest)
        out[chosen] = out[chosen] + values if add else values
        return
    function, base, stride, numbers = native[2 if add else 1], out.ctypes.data, out.strides[0] // 4, chosen.ctypes.data
    places = packed.ctypes.data, out.shape[1], least.ctypes.data, greatest.ctypes.data

    def part(first: int, last: int) -> int:
        return int(function(*places, base, stride, numbers, first, last))

    _shared(part, len(chosen), threads)


@cache
def _native(bits: int) -> tuple[Any, Any, Any] | None:
    try:
        return kernel.functions(bits)
    except ImportError:
        return None


def _shared(part: Callable[[int, int], int], count: int, threads: int) -> int:
    """Apply ``part`` to all positions in threads; returns the first result that is not ``NO_ROW``."""
    threads = min(threads, count)
    if threads <= 1:
        return part(0, count)
    ends = [count * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(lambda ends: part(*ends), pairwise(ends)))
    return next((result for result in results if result != NO_ROW), NO_ROW)


def _bits(bits: int) -> int:
    if bits not in BITS:
        raise OfframpError(f"bits {bits}: expected one of {', '.join(map(str, BITS))}")
    return bits


def check_array(name: str, array: Floats) -> None:
    """Refuse an array that the machine code cannot address.

    Raises:
        OfframpError: it is not ``(rows, columns)`` float32 with contiguous columns.
    """
    if array.dtype != np.float32 or array.ndim != 2 or array.shape[1] < 1:
        raise OfframpError(f"{name}: expected float32 rows of at least one column, got {array.dtype} {array.shape}")
    apart = (array.strides[1] != 4 and array.shape[1] > 1) or array.strides[0] % 4 or array.strides[0] < 0
    if len(array) and apart:
        raise OfframpError(f"{name}: expected contiguous columns, got strides {array.strides}")


def _rows(rows: Rows | None, count: int) -> Rows:
    if rows is None:
        return np.arange(count)
    chosen = np.ascontiguousarray(rows, np.int64)
    if chosen.ndim != 1 or (len(chosen) and not 0 <= chosen.min() <= chosen.max() < count):
        raise OfframpError(f"rows: expected numbers from 0 to {count - 1}")
    return chosen


def _packed(packed: Bytes, shape: tuple[int, int]) -> Bytes:
    if packed.shape != shape or packed.dtype != np.uint8 or not packed.flags.c_contiguous:
        raise OfframpError(f"packed: expected contiguous uint8 of shape {shape}, got {packed.dtype} {packed.shape}")
    return packed
