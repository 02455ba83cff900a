# SPDX-License-Identifier: Apache-2.0
"""Buffers that Python owns and enlarges."""

from __future__ import annotations

from offramp_p4.native.runtime.context import DATA, GROW, SIZE, USED
from offramp_p4.native.subset import Words, call_back, inlined, native


@native
def _enlarge(ctx: Words, buffer: int, size: int) -> None:
    call_back(ctx[GROW], buffer, size)


@inlined
def room(ctx: Words, buffer: int, used: int, size: int) -> int:
    """The address behind ``used`` bytes of a buffer, where ``size`` more fit."""
    if used + size > ctx[buffer + SIZE]:
        _enlarge(ctx, buffer, used + size)
    return ctx[buffer + DATA] + used


@inlined
def append(ctx: Words, buffer: int, size: int) -> int:
    """The address of ``size`` more bytes of a buffer, which now count as used."""
    used = ctx[buffer + USED]
    ctx[buffer + USED] = used + size
    return room(ctx, buffer, used, size)
