# SPDX-License-Identifier: Apache-2.0
"""Memory for what waits in queues: blocks of powers of two, which come from chunks that Python owns."""

from __future__ import annotations

from typing import Final

from offramp_p4.native.runtime.context import ARENA, ARENA_END, FREE, NEW_CHUNK
from offramp_p4.native.subset import Words, call_back, highest_bit, native

SMALLEST: Final = 64
"""Bytes; every block is aligned to so many."""


@native
def _kind(size: int) -> int:
    return highest_bit((size - 1) | (SMALLEST - 1)) + 1


@native
def take_block(ctx: Words, size: int) -> int:
    """The address of a block of ``size`` bytes or more."""
    kind = _kind(size)
    free = ctx[FREE + kind]
    if free != 0:
        ctx[FREE + kind] = Words(free)[0]
        return free
    whole = 1 << kind
    if ctx[ARENA] + whole > ctx[ARENA_END]:
        call_back(ctx[NEW_CHUNK], whole, 0)
    made = ctx[ARENA]
    ctx[ARENA] = made + whole
    return made


@native
def give_block(ctx: Words, block: int, size: int) -> None:
    """Give back a block that was taken for ``size`` bytes."""
    kind = _kind(size)
    Words(block)[0] = ctx[FREE + kind]
    ctx[FREE + kind] = block
