# SPDX-License-Identifier: Apache-2.0
"""Random numbers: the sequence of Python's :class:`random.Random`, drawn from the same Mersenne Twister."""

from __future__ import annotations

from offramp_p4.native.runtime.context import RANDOM_NEXT, RANDOM_STATE
from offramp_p4.native.subset import Words, below, call_word, highest_bit, native


@native
def draw_word(ctx: Words) -> int:
    """As ``getrandbits(32)``."""
    return call_word(ctx[RANDOM_NEXT], ctx[RANDOM_STATE])


@native
def _draw_bits(ctx: Words, bits: int) -> int:
    if bits <= 32:
        return draw_word(ctx) >> (32 - bits)
    low = draw_word(ctx)
    return low | ((draw_word(ctx) >> (64 - bits)) << 32)


@native
def draw_between(ctx: Words, low: int, high: int) -> int:
    """As ``randint(low, high)`` for numbers whose difference has at most 63 bits."""
    choices = high - low + 1
    bits = highest_bit(choices) + 1
    drawn = _draw_bits(ctx, bits)
    while not below(drawn, choices):
        drawn = _draw_bits(ctx, bits)
    return low + drawn
