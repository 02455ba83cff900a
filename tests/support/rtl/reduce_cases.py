# SPDX-License-Identifier: Apache-2.0
"""Requests for ``reduce`` with the answers of the model: every type, number of vectors and kind of length."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from offramp.leo.functions import reduce

SPECIALS = np.array(
    [
        *(0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000),
        *(0x3F800000, 0xBF800000, 0x7FFFFFFF, 0xFFFFFFFF, 0x33800000, 0x4B800000),
    ],
    np.uint32,
)


class Case(NamedTuple):
    kind: reduce.ElementType
    vectors: np.ndarray
    expected: bytes

    @property
    def head(self) -> bytes:
        return reduce.HEADER.pack(self.kind, len(self.vectors), 0, self.vectors.shape[1])

    @property
    def parts(self) -> list[bytes]:
        return [vector.tobytes() for vector in self.vectors]


def case(
    dice: random.Random, longest: int, kind: int | None = None, number: int | None = None, count: int | None = None
):
    """A random request of up to ``longest`` elements, with specials among the numbers."""
    chosen = reduce.ElementType(dice.randrange(4) if kind is None else kind)
    number = dice.randrange(1, 9) if number is None else number
    if count is None:
        count = dice.choice((0, 1, 2, 16, 32, dice.randrange(longest + 1), dice.randrange(longest + 1), longest))
    numbers = np.random.default_rng(dice.getrandbits(32))
    words = numbers.integers(0, 1 << 32, (number, count), dtype=np.uint64).astype(np.uint32)
    near = numbers.random(words.shape) < 0.6  # of like size, where rounding and cancellation happen
    words = np.where(near, words & 0x83FFFFFF | 0x3C000000, words).astype(np.uint32)
    special = numbers.random(words.shape) < 0.1
    words[special] = numbers.choice(SPECIALS, int(special.sum()))
    dtype = reduce.DTYPE[chosen]
    vectors = (words >> np.uint32(16)).astype(dtype) if dtype.itemsize == 2 else words.view(dtype)
    return Case(chosen, vectors, reduce.answer(reduce.request(chosen, vectors)))
