# SPDX-License-Identifier: Apache-2.0
"""SplitMix64 (Steele, Lea, Flood 2014): pseudorandom numbers from a counter."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

GOLDEN: Final = 0x9E3779B97F4A7C15
"""Increment of the counter."""

STEPS: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
"""Shift and factor of each step of its finaliser."""

_WORD: Final = (1 << 64) - 1


def mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser: a bijection of 64-bit words."""
    for shift, factor in STEPS:
        words = (words ^ words >> np.uint64(shift)) * np.uint64(factor)
    return words


def mix_word(word: int) -> int:
    """The finaliser of one word, taken modulo 2^64."""
    word &= _WORD
    for shift, factor in STEPS:
        word = (word ^ word >> shift) * factor & _WORD
    return word
