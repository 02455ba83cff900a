# SPDX-License-Identifier: Apache-2.0
"""The calendar and the pool of packets."""

from __future__ import annotations

from offramp_base.native.heap import HeapEntry, drop_first, sift_up
from offramp_base.native.random import next_state, random_bits
from offramp_base.native.subset import native
from offramp_sim.packets.layout import (
    EVENT_KINDS,
    Calendar,
    Context,
    Packet,
)


@native
def schedule(ctx: Calendar, time: int, kind: int, item: int) -> None:
    """Put an event into the calendar, a heap by time and then by the order of scheduling."""
    order = ctx.sequence
    ctx.sequence = order + 1
    place = ctx.heap_used
    ctx.heap_used = place + 1
    sift_up(HeapEntry(ctx.heap), place, time, order, item * EVENT_KINDS + kind)


@native
def take_event(ctx: Calendar) -> None:
    """Remove the first event; the caller has read it."""
    ctx.heap_used = ctx.heap_used - 1
    drop_first(HeapEntry(ctx.heap), ctx.heap_used)


@native
def new_packet(ctx: Context) -> int:
    """The number of a packet that nobody uses; there is room, as the main loop has made sure."""
    free = ctx.pool_free
    if free >= 0:
        ctx.pool_free = packet(ctx, free).kind
        return free
    ctx.pool_used += 1
    return ctx.pool_used - 1


@native
def release(ctx: Context, number: int) -> None:
    """A packet is no more."""
    packet(ctx, number).kind = ctx.pool_free
    ctx.pool_free = number


@native
def packet(ctx: Context, number: int) -> Packet:
    """The words of a packet."""
    return ctx.packets[number]


@native
def draw(ctx: Context) -> int:
    """32 random bits."""
    ctx.random = next_state(ctx.random)
    return random_bits(ctx.random, 32)
