# SPDX-License-Identifier: Apache-2.0
"""A node's part in a window: all its events, in order of time."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.packets.arrivals import PORT_BITS, gather, take
from offramp_sim.packets.events import schedule_item, take_event
from offramp_sim.packets.hosts import start_flow, wake
from offramp_sim.packets.layout import HALF, LOW, MOST_EVENTS, NEVER_PS, PacketRecord, PartitionState
from offramp_sim.packets.queues import free_retired, head_time
from offramp_sim.packets.rounds import receive, time_out
from offramp_sim.packets.switches import switched


@native
def has_room(ctx: PartitionState) -> bool:
    """Whether there is room for all packets and events that one event may create."""
    return ctx.blocks_left >= ctx.margin and ctx.heap_used + MOST_EVENTS <= ctx.heap_size


@native
def serve_switch(ctx: PartitionState, node: int) -> bool:
    """Process all arrivals of a switch; returns whether there was room."""
    switch = ctx.switches[node - ctx.host_count]
    if ctx.place < 0:
        if not gather(ctx, node, switch):
            return False
        ctx.place = 0
    loop = switch.loop
    while True:
        place = ctx.place
        time = NEVER_PS
        if place < ctx.gathered:
            time = ctx.begin + (ctx.sorted_keys[place] >> PORT_BITS)
        if ctx.pass_ps > 0 and ctx.arrival[loop] < ctx.end_of_window and ctx.arrival[loop] <= time:
            if not has_room(ctx):
                return False
            ctx.now = ctx.arrival[loop]
            packet = take(ctx, loop)
        else:
            if time == NEVER_PS:
                break
            if not has_room(ctx):
                return False
            ctx.now = time
            packet = PacketRecord(ctx.sorted_slots[place])
            ctx.place = place + 1
        packet.time = 0
        ctx.events += 1
        switched(ctx, node, packet.label, packet.subject, packet.extra)
    if ctx.pass_ps > 0:
        ctx.due[node] = min(ctx.due[node], ctx.arrival[loop])
    free_retired(ctx)
    return True


@native
def serve_host(ctx: PartitionState, node: int) -> bool:
    """Process all events of a host; returns whether there was room."""
    host = ctx.hosts[node]
    end = ctx.end_of_window
    while True:
        arrival = ctx.arrival[node]
        start = NEVER_PS
        if host.pending >= 0:
            start = ctx.starts[host.pending].time
        received = min(arrival, start)
        own = min(host.timer, host.awake)
        time = min(received, own)
        if time >= end:
            ctx.due[node] = time
            break
        if not has_room(ctx):
            return False
        ctx.now = time
        ctx.events += 1
        if arrival == time:
            packet = take(ctx, node)
            packet.time = 0
            receive(ctx, node, packet.label, packet.subject, packet.extra)
        elif start == time:
            due = ctx.starts[host.pending]
            host.pending = due.next
            start_flow(ctx, due.flow, due.size)
        elif host.timer == time:
            time_out(ctx, node)
        else:
            wake(ctx, node)
    free_retired(ctx)
    return True


@native
def hear_notices(ctx: PartitionState) -> bool:
    """Schedule when flows of this partition resend what others have dropped; returns whether there was room."""
    for other in range(ctx.parts):
        port = ctx.notices + other * ctx.parts + ctx.part
        while True:
            time = head_time(ctx.reads[port])
            if time == NEVER_PS:
                break
            if not has_room(ctx):
                return False
            packet = take(ctx, port)
            packet.time = 0
            schedule_item(ctx, time, packet.subject & LOW, packet.subject)
    free_retired(ctx)
    return True


@native
def begin_starts(ctx: PartitionState) -> None:
    """Hand the starts of this window to their hosts."""
    used = 0
    while ctx.heap_used > 0 and ctx.heap[0] < ctx.end_of_window:
        item = ctx.heap[2]
        flow = item & LOW
        start = ctx.starts[used]
        start.time = ctx.heap[0]
        start.flow = flow
        start.size = item >> HALF
        start.next = -1
        take_event(ctx)
        source = ctx.flows[flow].source
        host = ctx.hosts[source]
        if host.pending < 0:
            host.pending = used
            ctx.due[source] = min(ctx.due[source], start.time)
        else:
            ctx.starts[host.last_pending].next = used
        host.last_pending = used
        used += 1
