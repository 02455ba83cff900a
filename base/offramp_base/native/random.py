# SPDX-License-Identifier: Apache-2.0
"""Random bits for compiled code: xorshift64* (Vigna 2016). The state is a word that is not 0."""

from __future__ import annotations

from offramp_base.native.subset import inlined


@inlined
def next_state(state: int) -> int:
    """The state after this one."""
    x = state ^ (state >> 12)
    x = x ^ (x << 25)
    return x ^ (x >> 27)


@inlined
def random_bits(state: int, bits: int) -> int:
    """The ``bits`` random bits that a state yields."""
    return (state * 0x2545F4914F6CDD1D) >> (64 - bits)
