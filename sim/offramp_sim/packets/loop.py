# SPDX-License-Identifier: Apache-2.0
"""The main loop: event after event, until everything has arrived."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.packets.events import packet, take_event
from offramp_sim.packets.hosts import start_flow, wake
from offramp_sim.packets.layout import (
    ARRIVAL,
    EMISSION,
    EVENT_KINDS,
    FINISHED_RUN,
    FLOW_START,
    NEEDS_ROOM,
    STARVED,
    TIMER,
    WAKE,
    Context,
)
from offramp_sim.packets.ports import forward
from offramp_sim.packets.rounds import receive, start_round, time_out
from offramp_sim.packets.switches import switched


@native
def begin(ctx: Context) -> None:
    """All hosts start with the first block."""
    for host in range(ctx.host_count):
        start_round(ctx, host, 0)


@native
def run(ctx: Context, until_ps: int, wait_for_flows: int) -> int:
    """Do all that is due by a time, or until the exchange (and with ``wait_for_flows`` every flow) has ended."""
    while ctx.hosts_left > 0 or (wait_for_flows == 1 and ctx.flows_left > 0):
        if ctx.heap_used == 0:
            return STARVED
        if ctx.heap_used + ctx.margin > ctx.heap_size or ctx.pool_used + ctx.margin > ctx.pool_size:
            return NEEDS_ROOM
        first = ctx.heap
        time = first[0]
        event = first[2]
        if time > until_ps:
            return STARVED
        take_event(ctx)
        ctx.now = time
        ctx.events += 1
        kind = event % EVENT_KINDS
        item = event // EVENT_KINDS
        if kind == ARRIVAL:
            node = packet(ctx, item).node
            if node < ctx.host_count:
                receive(ctx, item, node)
            else:
                switched(ctx, item, node)
        elif kind == WAKE:
            wake(ctx, item)
        elif kind == TIMER:
            time_out(ctx, item)
        elif kind == FLOW_START:
            start_flow(ctx, item)
        elif kind == EMISSION:
            forward(ctx, item, packet(ctx, item).node)
    return FINISHED_RUN
