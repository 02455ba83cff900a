# SPDX-License-Identifier: Apache-2.0
"""``reduce``: the sum of up to eight vectors, for all-reduce and for GNN aggregation (specification sections 8 and 9).

Elements are added as a balanced tree, ((0+1)+(2+3))+((4+5)+(6+7)), which is how eight streams meet in hardware; a
missing vector counts as the neutral element: 0, or -0.0 in floating point. Integers wrap around, or (``FIXED``) the
exact sum saturates. Floating point is IEEE 754, rounded to nearest even, with subnormal numbers; bfloat16 is added as
float32 and rounded once, at the end. A NaN is always the same quiet one.

Request: type, number of vectors (1 byte each), 2 bytes of zeros, elements of a vector (4 bytes), then the vectors one
after the other. Answer: the vector.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.leo.functions.registry import FUNCTIONS, Function
from offramp_base.errors import OfframpError
from offramp_base.wire.structures import StructFormat

NAME: Final = "reduce"
HEADER: Final = StructFormat("ReduceHeader", "The vectors follow.", type="u8", vectors="u8", zeros="u16", count="u32")
MOST: Final = 8
NAN: Final = 0x7FC00000
Vectors = npt.NDArray[Any]


class ElementType(IntEnum):
    """Type of the elements of the vectors."""

    INT32 = 0
    FIXED = 1  # int32 that saturates
    FLOAT32 = 2
    BFLOAT16 = 3  # as uint16


DTYPE: Final[dict[int, Any]] = {
    ElementType.INT32: np.dtype("<i4"),
    ElementType.FIXED: np.dtype("<i4"),
    ElementType.FLOAT32: np.dtype("<f4"),
    ElementType.BFLOAT16: np.dtype("<u2"),
}


def total(kind: ElementType, vectors: Vectors) -> Vectors:
    """``(count,)`` sum of ``vectors``, ``(1 to 8, count)`` of the type's dtype.

    Raises:
        OfframpError: there are none, or more than eight.
    """
    if not 1 <= len(vectors) <= MOST:
        raise OfframpError(f"reduce of {len(vectors)} vectors: expected 1 to {MOST}")
    if kind is ElementType.INT32:
        return np.asarray(vectors.astype(np.uint32).sum(axis=0, dtype=np.uint32).astype(np.int32))
    if kind is ElementType.FIXED:
        limits = np.iinfo(np.int32)
        return np.asarray(vectors.sum(axis=0, dtype=np.int64).clip(limits.min, limits.max).astype(np.int32))
    if kind is ElementType.FLOAT32:
        return _tree(vectors.astype(np.float32, copy=False))
    return _to_bfloat16(_tree((vectors.astype(np.uint32) << np.uint32(16)).view(np.float32)))


def _tree(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Sum as a balanced tree; missing vectors of -0.0 are not added, since they change no sum."""
    level: list[npt.NDArray[np.float32]] = [*vectors] if len(vectors) > 1 else [vectors[0].copy()]
    with np.errstate(all="ignore"):
        while len(level) > 1:
            last = level[len(level) & ~1 :]
            level = [a + b for a, b in zip(level[0::2], level[1::2], strict=False)] + last
    total = level[0]
    nan = np.isnan(total)
    if nan.any():
        total.view(np.uint32)[nan] = NAN
    return total


def _to_bfloat16(x: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Round to nearest even; the quiet NaN stays as it is."""
    bits = x.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return (np.where(bits == NAN, bits, rounded) >> np.uint32(16)).astype(np.uint16)


def request(kind: ElementType, vectors: Vectors) -> bytes:
    """The message that asks for ``total(kind, vectors)``."""
    return HEADER.pack(kind, len(vectors), 0, vectors.shape[1]) + vectors.astype(DTYPE[kind]).tobytes()


def form(message: bytes | bytearray | memoryview) -> tuple[ElementType, int, int]:
    """Type of the elements, number of vectors and elements of a vector in a :func:`request`.

    Raises:
        OfframpError: the message is not such a request.
    """
    if len(message) < HEADER.size:
        raise OfframpError(f"reduce: a message of {len(message)} bytes, expected {HEADER.size} or more")
    kind, number, zeros, count = HEADER.unpack_from(message)
    if kind not in DTYPE or zeros or not 1 <= number <= MOST:
        raise OfframpError(f"reduce: type {kind} of {number} vectors: expected types 0 to 3 of 1 to {MOST} vectors")
    dtype = DTYPE[ElementType(kind)]
    if len(message) != HEADER.size + number * count * dtype.itemsize:
        raise OfframpError(f"reduce: {len(message)} bytes for {number} vectors of {count} elements")
    return ElementType(kind), number, count


def answer(message: bytes | bytearray | memoryview) -> bytes:
    """A device's answer to :func:`request`.

    Raises:
        OfframpError: the message is not such a request.
    """
    kind, number, count = form(message)
    vectors = np.frombuffer(message, DTYPE[kind], offset=HEADER.size).reshape(number, count)
    return total(kind, vectors).tobytes()


def sample(size: int, variant: int) -> bytes:
    """A request for the sum of two random vectors of int32."""
    count = max((size - HEADER.size) // 8, 1)
    vectors = np.random.default_rng(variant).integers(-(2**20), 2**20, (2, count)).astype(np.int32)
    return request(ElementType.INT32, vectors)


FUNCTIONS.register(NAME)(Function(answer, sample))
