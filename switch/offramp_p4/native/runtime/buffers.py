# SPDX-License-Identifier: Apache-2.0
"""Buffers that Python owns and enlarges."""

from __future__ import annotations

from offramp_base.native.subset import Words, call_foreign, inlined, native
from offramp_p4.native.runtime.context import Buffer, SwitchMemory


@native
def _enlarge(ctx: SwitchMemory, buffer: int, size: int) -> None:
    # The context goes along because the buffer's words change: callers' contexts alias nothing that is not passed.
    call_foreign(ctx.grow, buffer, size, int(ctx), 0, 0, 0)


@inlined
def room(ctx: SwitchMemory, buffer: int, used: int, size: int) -> int:
    """The address behind ``used`` bytes of a buffer, where ``size`` more fit."""
    if used + size > Buffer(Words(ctx) + buffer).size:
        _enlarge(ctx, buffer, used + size)
    return Buffer(Words(ctx) + buffer).data + used


@inlined
def append(ctx: SwitchMemory, buffer: int, size: int) -> int:
    """The address of ``size`` more bytes of a buffer, which now count as used."""
    used = Buffer(Words(ctx) + buffer).used
    Buffer(Words(ctx) + buffer).used = used + size
    return room(ctx, buffer, used, size)
