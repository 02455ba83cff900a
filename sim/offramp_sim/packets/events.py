# SPDX-License-Identifier: Apache-2.0
"""The calendar and the pool of packets."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.packets.layout import (
    EVENT_KINDS,
    Calendar,
    Context,
    Packet,
)


@native
def schedule(ctx: Calendar, time: int, kind: int, item: int) -> None:
    """Put an event into the calendar, a binary heap by time and then by the order of scheduling."""
    entries = ctx.heap
    order = ctx.sequence
    ctx.sequence = order + 1
    place = ctx.heap_used
    ctx.heap_used = place + 1
    while place > 0:
        parent = entries + 3 * ((place - 1) >> 1)
        if parent[0] <= time:
            break
        entry = entries + 3 * place
        entry[0] = parent[0]
        entry[1] = parent[1]
        entry[2] = parent[2]
        place = (place - 1) >> 1
    entry = entries + 3 * place
    entry[0] = time
    entry[1] = order
    entry[2] = item * EVENT_KINDS + kind


@native
def take_event(ctx: Calendar) -> None:
    """Remove the first event; the caller has read it."""
    entries = ctx.heap
    count = ctx.heap_used - 1
    ctx.heap_used = count
    last = entries + 3 * count
    time = last[0]
    order = last[1]
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        lower = entries + 3 * child
        if child + 1 < count:
            right = entries + 3 * (child + 1)
            if right[0] < lower[0] or (right[0] == lower[0] and right[1] < lower[1]):
                child += 1
                lower = right
        if lower[0] > time or (lower[0] == time and lower[1] > order):
            break
        entry = entries + 3 * place
        entry[0] = lower[0]
        entry[1] = lower[1]
        entry[2] = lower[2]
        place = child
    entry = entries + 3 * place
    entry[0] = time
    entry[1] = order
    entry[2] = last[2]


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
    """32 random bits: xorshift64* (Vigna 2016)."""
    x = ctx.random
    x = x ^ (x >> 12)
    x = x ^ (x << 25)
    x = x ^ (x >> 27)
    ctx.random = x
    return (x * 0x2545F4914F6CDD1D) >> 32
