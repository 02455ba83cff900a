# SPDX-License-Identifier: Apache-2.0
"""Arrivals at a switch within a window, ordered by time and then by port."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.packets.layout import NEVER_PS, PACKET_BYTES, PacketRecord, PartitionState, SwitchRecord
from offramp_sim.packets.queues import head_time, slot_of

PORT_BITS: Final = 20
PORT_MASK: Final = (1 << PORT_BITS) - 1


@native
def gather(ctx: PartitionState, node: int, switch: SwitchRecord) -> bool:
    """Collect all packets that arrive at a switch within the window; returns whether there was room for them."""
    end = ctx.end_of_window
    count = ctx.gathered
    low = ctx.gather_low
    first = switch.first_in
    for port in range(ctx.gather_port, switch.last_in):
        time = ctx.arrival[port]
        if time < end:
            read = ctx.reads[port]
            while time < end:
                if count == ctx.sort_size:
                    ctx.reads[port] = read
                    ctx.arrival[port] = time
                    ctx.gather_port = port
                    ctx.gathered = count
                    ctx.gather_low = low
                    return False
                read = slot_of(ctx, port, read)
                ctx.keys[count] = ((time - ctx.begin) << PORT_BITS) | (port - first)
                ctx.slots[count] = read
                count += 1
                read += PACKET_BYTES
                time = head_time(read)
            ctx.reads[port] = read
            ctx.arrival[port] = time
        low = min(low, time)
    ctx.due[node] = low
    ctx.gathered = count
    _sort(ctx, count)
    return True


@native
def _sort(ctx: PartitionState, count: int) -> None:
    """Sort arrivals into about as many slices of the window as there are arrivals, then by insertion."""
    shift = PORT_BITS
    length = ctx.end_of_window - ctx.begin
    while (length >> (shift - PORT_BITS)) >= max(count, 1):
        shift += 1
    slices = (length >> (shift - PORT_BITS)) + 1
    counts = ctx.counts
    for i in range(slices):
        counts[i] = 0
    for i in range(count):
        at = ctx.keys[i] >> shift
        counts[at] = counts[at] + 1
    begin = 0
    for i in range(slices):
        more = counts[i]
        counts[i] = begin
        begin += more
    keys = ctx.sorted_keys
    slots = ctx.sorted_slots
    for i in range(count):
        key = ctx.keys[i]
        at = counts[key >> shift]
        counts[key >> shift] = at + 1
        keys[at] = key
        slots[at] = ctx.slots[i]
    for i in range(1, count):
        key = keys[i]
        slot = slots[i]
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            slots[at] = slots[at - 1]
            at -= 1
        keys[at] = key
        slots[at] = slot


@native
def take(ctx: PartitionState, port: int) -> PacketRecord:
    """The next packet of a link that has one; the caller clears its slot."""
    read = slot_of(ctx, port, ctx.reads[port])
    ctx.reads[port] = read + PACKET_BYTES
    ctx.arrival[port] = head_time(read + PACKET_BYTES)
    return PacketRecord(read)


@native
def look(ctx: PartitionState) -> None:
    """Look at what other partitions have put on the links that lead here in the last window."""
    for other in range(ctx.parts):
        news = ctx.news + ((((ctx.window + 1) & 1) * ctx.parts + other) * ctx.parts + ctx.part) * ctx.news_size
        for i in range(news[0]):
            port = news[i + 1]
            if ctx.arrival[port] == NEVER_PS:
                time = head_time(ctx.reads[port])
                if time != NEVER_PS:
                    ctx.arrival[port] = time
                    target = -1 - ctx.ports[port].target
                    ctx.due[target] = min(ctx.due[target], time)
        news[0] = 0
