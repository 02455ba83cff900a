# SPDX-License-Identifier: Apache-2.0
"""Counter-based random numbers: the rounding of an element depends only on (seed, row, column).

So rows can be quantised in any order, by any number of threads and on any machine, with the same codes. A row has two
32-bit keys from SplitMix64; 32 columns share 16 words of a 32-bit mixer, whose lower halves round the first 16 of them
and whose upper halves the others.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.splitmix import GOLDEN, mix, mix_word

GROUP: Final = 32
"""Columns that share the same random words."""

LANES: Final = GROUP // 2
GOLDEN_32: Final = 0x9E3779B9
LOW_BIAS: Final = ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1))
"""Shift and factor of each step of the 32-bit mixer; the second key is added after the first step."""


def stream(seed: int, *place: int) -> int:
    """The 64-bit seed of one use of ``seed``: for an epoch, a layer, a direction, …, whatever ``place`` enumerates."""
    word = seed
    for number in (len(place), *place):
        word = mix_word(word + (number + 1) * GOLDEN)
    return word


def fractions(seed: int, rows: npt.NDArray[np.int64], columns: int) -> npt.NDArray[np.float32]:
    """``(n, columns)`` float32 in (0, 1): multiples of 2^-16, plus 2^-17 so that their mean is 1/2."""
    key = mix(np.uint64(seed) + (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))
    groups = -(-columns // GROUP)
    words = np.arange(groups * LANES, dtype=np.uint32) * np.uint32(GOLDEN_32) + key.astype(np.uint32)[:, None]
    second = (key >> np.uint64(32)).astype(np.uint32)[:, None]
    for step, (shift, factor) in enumerate(LOW_BIAS):
        words = (words ^ words >> np.uint32(shift)) * np.uint32(factor)
        if step == 0:
            words ^= second
    halves = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)], axis=1)  # (n, 2, words)
    by_group = halves.reshape(len(rows), 2, groups, LANES).transpose(0, 2, 1, 3)
    numbers = by_group.reshape(len(rows), groups * GROUP)[:, :columns].astype(np.float32)
    return numbers * np.float32(2**-16) + np.float32(2**-17)
