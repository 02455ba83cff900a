# SPDX-License-Identifier: Apache-2.0
"""Division of numbers of several words, the lowest first, bit by bit.

LLVM turns a division of 65 to 128 bits into the call of a function of the compiler's own library, which a program
in memory does not have, and narrows longer ones to these where it can.
"""

from __future__ import annotations

from offramp_base.native.subset import Words, below, native


@native
def _less(left: Words, right: Words, words: int) -> bool:
    for i in range(words - 1, -1, -1):
        if left[i] != right[i]:
            return below(left[i], right[i])
    return False


@native
def _subtract(left: Words, right: Words, words: int) -> None:
    borrow = 0
    for i in range(words):
        before = left[i]
        without = before - right[i]
        left[i] = without - borrow
        borrow = 1 if below(before, right[i]) or below(without, borrow) else 0


@native
def divide(number: Words, divisor: Words, remainder: Words, words: int) -> None:
    """Replace a number by its quotient by a divisor that is not 0; ``remainder`` must be 0 before."""
    for bit in range(64 * words - 1, -1, -1):
        for i in range(words - 1, 0, -1):
            remainder[i] = (remainder[i] << 1) | (remainder[i - 1] >> 63)
        at = bit // 64
        remainder[0] = (remainder[0] << 1) | ((number[at] >> (bit & 63)) & 1)
        number[at] = number[at] & ~(1 << (bit & 63))
        if not _less(remainder, divisor, words):
            _subtract(remainder, divisor, words)
            number[at] = number[at] | (1 << (bit & 63))
