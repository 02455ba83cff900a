# SPDX-License-Identifier: Apache-2.0
"""Packets that wait for another pass, within the budgets of the packet that they come from."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import Record, offset
from offramp_base.native.subset import native
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import SwitchMemory

MOST_OUT: Final = 1 << 30
"""Most bytes that the packets of one batch may send; a packet that exceeds it has used up its steps."""
_FAR: Final = 1 << 62


class Waiting(Record):
    """A packet that waits for another pass; saved fields and the frame follow."""

    size: int  # bytes of it all
    length: int  # of the frame
    port: int
    kind: int
    fields: int


@native
def none_waits(ctx: SwitchMemory) -> None:
    """Begin with a packet that does not come from the queue of those that wait."""
    ctx.current = _FAR
    ctx.queue.start = 0
    ctx.queue.used = 0


@native
def next_waiting(ctx: SwitchMemory) -> int:
    """Take the next packet that waits for another pass; returns its address."""
    ctx.waiting -= 1
    ctx.current = ctx.queue.start
    at = Waiting(ctx.queue.data + ctx.queue.start)
    ctx.queue.start += at.size
    return int(at)


@native
def take_unqueued(ctx: SwitchMemory) -> None:
    """Go on with a packet that is counted among those that wait, but is not in the queue."""
    ctx.waiting -= 1
    ctx.current = _FAR


@native
def make_waiting(ctx: SwitchMemory, size: int) -> int:
    """Make room for a packet of ``size`` bytes behind all others that wait; returns its position."""
    size = (size + 7) & -8
    if ctx.waiting == 0:
        if size <= ctx.current:  # only the current packet is in the queue, behind this place
            ctx.queue.start = 0
            ctx.queue.used = 0
        else:
            ctx.queue.start = ctx.queue.used
    ctx.waiting += 1
    at = Waiting(append(ctx, offset(SwitchMemory.queue), size))
    at.size = size
    return int(at)


@native
def end_steps(ctx: SwitchMemory) -> None:
    """The steps of a packet end, used up or not; what waits for another pass does not go on without them."""
    if ctx.steps < 0:
        ctx.exhausted += 1
        ctx.waiting = 0
