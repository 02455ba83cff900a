# SPDX-License-Identifier: Apache-2.0
"""A calendar of the few events that do not come from links."""

from __future__ import annotations

from offramp_base.native.heap import HeapEntry, drop_first, sift_up
from offramp_base.native.subset import native
from offramp_sim.packets.layout import EVENT_KINDS, Calendar


@native
def schedule_item(ctx: Calendar, time: int, order: int, item: int) -> None:
    """Put an event into the calendar, a heap by time and then by ``order``."""
    place = ctx.heap_used
    ctx.heap_used = place + 1
    sift_up(HeapEntry(ctx.heap), place, time, order, item)


@native
def schedule(ctx: Calendar, time: int, kind: int, item: int) -> None:
    """Put an event into the calendar; simultaneous events come in the order of scheduling."""
    order = ctx.sequence
    ctx.sequence = order + 1
    schedule_item(ctx, time, order, item * EVENT_KINDS + kind)


@native
def take_event(ctx: Calendar) -> None:
    """Remove the first event, which the caller has read."""
    ctx.heap_used = ctx.heap_used - 1
    drop_first(HeapEntry(ctx.heap), ctx.heap_used)
