# SPDX-License-Identifier: Apache-2.0
"""Random numbers: the sequence of Python's :class:`random.Random`, drawn from the same Mersenne Twister."""

from __future__ import annotations

from offramp_base.native.subset import below, call_word, highest_bit, native
from offramp_p4.native.runtime.context import SwitchMemory


@native
def draw_word(ctx: SwitchMemory) -> int:
    """Draw a word like ``getrandbits(32)``."""
    return call_word(ctx.random_next, ctx.random_state)


@native
def draw_bits(ctx: SwitchMemory, bits: int) -> int:
    """Draw bits like ``getrandbits(bits)``, at most 64."""
    if bits <= 32:
        return draw_word(ctx) >> (32 - bits)
    low = draw_word(ctx)
    return low | ((draw_word(ctx) >> (64 - bits)) << 32)


@native
def draw_between(ctx: SwitchMemory, low: int, high: int) -> int:
    """Draw like ``randint(low, high)``, for numbers whose difference has at most 63 bits."""
    choices = high - low + 1
    bits = highest_bit(choices) + 1
    drawn = draw_bits(ctx, bits)
    while not below(drawn, choices):
        drawn = draw_bits(ctx, bits)
    return low + drawn
