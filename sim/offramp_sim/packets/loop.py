# SPDX-License-Identifier: Apache-2.0
"""The main loop: window after window, until everything has arrived.

A window is as long as the shortest delay between two nodes, so each node can be simulated by itself within a window
(conservative simulation; Chandy and Misra 1979, with the synchronous windows of Lubachevsky 1989). This keeps a node's
words in the cache, lets partitions run in parallel, and makes results independent of the partitions.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words, native, observe, publish
from offramp_sim.packets.arrivals import look
from offramp_sim.packets.layout import (
    FAILED,
    FINISHED_RUN,
    MEET,
    NEEDS_ROOM,
    NEVER_PS,
    NODES,
    STARVED,
    WAIT,
    WAITING,
    Meeting,
    PartitionState,
)
from offramp_sim.packets.queues import take_returned
from offramp_sim.packets.rounds import start_round
from offramp_sim.packets.windows import begin_starts, hear_notices, serve_host, serve_switch

SPINS: Final = 20_000


@native
def begin(ctx: PartitionState) -> None:
    """Start all hosts of the partition with the first block."""
    for host in range(ctx.ranges[0], ctx.ranges[1]):
        start_round(ctx, host, 0)


@native
def run(ctx: PartitionState, until_ps: int, wait_for_flows: int) -> int:
    """Process all events until a time, or until the exchange (and with ``wait_for_flows`` every flow) has ended."""
    while True:
        if ctx.stage == MEET:
            _tell(ctx, wait_for_flows)
            ctx.stage = WAIT
        if ctx.stage == WAIT:
            if not _all_there(ctx):
                return WAITING
            ended = _decide(ctx, until_ps)
            if ended >= 0:
                return ended
            ctx.stage = NODES
            ctx.node = -1
        if not _serve(ctx):
            return NEEDS_ROOM
        ctx.stage = MEET


@native
def _tell(ctx: PartitionState, wait_for_flows: int) -> None:
    """Publish what is due here, at the end of a window."""
    low = ctx.sent_low
    if ctx.heap_used > 0:
        low = min(low, ctx.heap[0])
    for i in range(ctx.range_count):
        for node in range(ctx.ranges[2 * i], ctx.ranges[2 * i + 1]):
            low = min(low, ctx.due[node])
    ctx.window += 1
    mine = _meeting(ctx, ctx.part)
    mine.low = low
    mine.left = ctx.hosts_left + wait_for_flows * ctx.flows_left
    publish(Words(mine), ctx.window)


@native
def _meeting(ctx: PartitionState, part: int) -> Meeting:
    return ctx.meetings[(ctx.window & 1) * ctx.parts + part]


@native
def _all_there(ctx: PartitionState) -> bool:
    spins = 0
    for part in range(ctx.parts):
        while observe(Words(_meeting(ctx, part))) != ctx.window:
            spins += 1
            if spins > SPINS:
                return False
    return True


@native
def _decide(ctx: PartitionState, until_ps: int) -> int:
    """Decide on the next window, or how the run has ended; the same in all partitions."""
    low = NEVER_PS
    left = 0
    failed = 0
    for part in range(ctx.parts):
        other = _meeting(ctx, part)
        low = min(low, other.low)
        left += other.left
        failed += other.failed
    if failed > 0:
        return FAILED
    if left == 0:
        return FINISHED_RUN
    if low == NEVER_PS or low > until_ps:
        return STARVED
    ctx.begin = low
    ctx.end_of_window = min(low + ctx.window_ps, until_ps + 1)
    ctx.sent_low = NEVER_PS
    return -1


@native
def _serve(ctx: PartitionState) -> bool:
    """Simulate all nodes of the partition until the end of the window; returns whether there was room."""
    if ctx.node < 0:
        if ctx.parts > 1:
            take_returned(ctx)
            look(ctx)
            if not hear_notices(ctx):
                return False
        begin_starts(ctx)
        ctx.node = 0
        ctx.place = -1
    for i in range(ctx.range_count):
        for node in range(max(ctx.node, ctx.ranges[2 * i]), ctx.ranges[2 * i + 1]):
            if ctx.due[node] < ctx.end_of_window or ctx.place >= 0 or ctx.gathered > 0:
                ctx.node = node
                if not _serve_node(ctx, node):
                    return False
    return True


@native
def _serve_node(ctx: PartitionState, node: int) -> bool:
    if node < ctx.host_count:
        return serve_host(ctx, node)
    if ctx.place < 0 and ctx.gathered == 0:
        switch = ctx.switches[node - ctx.host_count]
        ctx.gather_port = switch.first_in
        ctx.gather_low = NEVER_PS
    if not serve_switch(ctx, node):
        return False
    ctx.place = -1
    ctx.gathered = 0
    return True
