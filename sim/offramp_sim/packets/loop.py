# SPDX-License-Identifier: Apache-2.0
"""The main loop: event after event, until everything has arrived."""

from __future__ import annotations

from offramp_p4.native.subset import Words, native
from offramp_sim.packets.events import packet, take_event
from offramp_sim.packets.hosts import start_flow, wake
from offramp_sim.packets.layout import (
    ARRIVAL,
    EMISSION,
    EVENT_KINDS,
    EVENTS,
    FINISHED_RUN,
    FLOW_START,
    FLOWS_LEFT,
    HEAP,
    HEAP_SIZE,
    HEAP_USED,
    HOSTS,
    HOSTS_LEFT,
    MARGIN,
    NEEDS_ROOM,
    NODE,
    NOW,
    POOL_SIZE,
    POOL_USED,
    STARVED,
    TIMER,
    WAKE,
)
from offramp_sim.packets.ports import forward
from offramp_sim.packets.rounds import receive, start_round, time_out
from offramp_sim.packets.switches import switched


@native
def begin(ctx: Words) -> None:
    """All hosts start with the first block."""
    for host in range(ctx[HOSTS]):
        start_round(ctx, host, 0)


@native
def run(ctx: Words, until_ps: int, wait_for_flows: int) -> int:
    """Do all that is due by a time, or until the exchange (and with ``wait_for_flows`` every flow) has ended."""
    while ctx[HOSTS_LEFT] > 0 or (wait_for_flows == 1 and ctx[FLOWS_LEFT] > 0):
        if ctx[HEAP_USED] == 0:
            return STARVED
        if ctx[HEAP_USED] + ctx[MARGIN] > ctx[HEAP_SIZE] or ctx[POOL_USED] + ctx[MARGIN] > ctx[POOL_SIZE]:
            return NEEDS_ROOM
        first = Words(ctx[HEAP])
        time = first[0]
        event = first[2]
        if time > until_ps:
            return STARVED
        take_event(ctx)
        ctx[NOW] = time
        ctx[EVENTS] += 1
        kind = event % EVENT_KINDS
        item = event // EVENT_KINDS
        if kind == ARRIVAL:
            node = packet(ctx, item)[NODE]
            if node < ctx[HOSTS]:
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
            forward(ctx, item, packet(ctx, item)[NODE])
    return FINISHED_RUN
