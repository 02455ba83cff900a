# SPDX-License-Identifier: Apache-2.0
"""Memory for what waits in queues: blocks of powers of two, which come from chunks that Python owns."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words, call_back, highest_bit, native
from offramp_p4.native.runtime.context import SwitchMemory

SMALLEST: Final = 64
"""Size of the smallest block and alignment of every block, in bytes."""


@native
def _kind(size: int) -> int:
    return highest_bit((size - 1) | (SMALLEST - 1)) + 1


@native
def take_block(ctx: SwitchMemory, size: int) -> int:
    """The address of a block of ``size`` bytes or more."""
    kind = _kind(size)
    free = ctx.free[kind]
    if free != 0:
        ctx.free[kind] = Words(free)[0]
        return free
    whole = 1 << kind
    if ctx.arena + whole > ctx.arena_end:
        call_back(ctx.new_chunk, whole, 0)
    block = ctx.arena
    ctx.arena = block + whole
    return block


@native
def give_block(ctx: SwitchMemory, block: int, size: int) -> None:
    """Give back a block that was taken for ``size`` bytes."""
    kind = _kind(size)
    Words(block)[0] = ctx.free[kind]
    ctx.free[kind] = block
