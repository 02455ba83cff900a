# SPDX-License-Identifier: Apache-2.0
"""The main loop: take the next end of a delay or a flow, and start what waited for it."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.hermod.flow.allocation import allocate
from offramp_sim.hermod.flow.heaps import forget_end, pop, push
from offramp_sim.hermod.flow.layout import NOBODY, FlowRunState
from offramp_sim.hermod.flow.links import join, leave


@native
def start_flow(ctx: FlowRunState, number: int, task: int, time: float) -> None:
    """Add a flow that starts at ``time`` to the active ones, behind those of its class."""
    if ctx.spare_count > 0:
        ctx.spare_count -= 1
        flow = ctx.spare[ctx.spare_count]
    else:
        flow = ctx.fresh_slot
        ctx.fresh_slot = flow + 1
    ctx.task[flow] = task
    ctx.load[flow] = ctx.loads[number]
    ctx.classes[flow] = ctx.levels[number]
    ctx.host[flow] = ctx.hosts[number]
    ctx.side[flow] = ctx.sides[number]
    if ctx.fifo == 1:
        ctx.classes[flow] = ctx.events
    elif ctx.fifo == 2:
        ctx.host[flow] = ctx.events
    ctx.left[flow] = 1.0
    ctx.since[flow] = time
    ctx.rate[flow] = 0.0
    ctx.place[flow] = NOBODY
    ctx.witness[flow] = NOBODY
    join(ctx, flow)


@native
def finish(ctx: FlowRunState, task: int, now: float) -> None:
    """End a task; tasks that wait for nothing else start their delays."""
    ctx.end[task] = now
    ctx.done += 1
    for k in range(ctx.after_row[task], ctx.after_row[task + 1]):
        then = ctx.after[k]
        ctx.waits[then] -= 1
        if ctx.waits[then] == 0:
            ctx.start[then] = now
            push(ctx, now + ctx.delay[then], then)


@native
def delay_over(ctx: FlowRunState, task: int, now: float) -> None:
    """End a task's delay: its flows start, or it is done."""
    first = ctx.flow_row[task]
    last = ctx.flow_row[task + 1]
    if first == last:
        finish(ctx, task, now)
    for number in range(first, last):
        start_flow(ctx, number, task, now)


@native
def take_arrived(ctx: FlowRunState, now: float) -> None:
    """Take arrived flows off their resources; tasks without further flows end."""
    while ctx.ends_count > 0 and ctx.due[ctx.ends[0]] <= now + ctx.slack:
        flow = ctx.ends[0]
        forget_end(ctx, flow)
        leave(ctx, flow)
        ctx.gone[ctx.gone_count] = flow
        ctx.gone_count += 1
    for i in range(ctx.gone_count):
        task = ctx.task[ctx.gone[i]]
        ctx.open_flows[task] -= 1
        if ctx.open_flows[task] == 0:
            time = now
            if ctx.punctual == 1:
                time = ctx.due[ctx.gone[i]]
            finish(ctx, task, time)


@native
def free_slots(ctx: FlowRunState) -> None:
    """Free the slots of flows that have ended in this event: nothing refers to them any more."""
    for i in range(ctx.gone_count):
        ctx.spare[ctx.spare_count] = ctx.gone[i]
        ctx.spare_count += 1
    ctx.gone_count = 0


@native
def run(ctx: FlowRunState, most_events: int) -> int:
    """Run until all is done (1), ``most_events`` have happened (0), nothing can proceed (2) or time is up (3)."""
    until = ctx.events + most_events
    if ctx.rejoining > 0:
        for flow in range(ctx.rejoining):
            join(ctx, flow)
        ctx.rejoining = 0
        allocate(ctx)
    while ctx.done < ctx.tasks:
        if ctx.events >= until:
            return 0
        if ctx.heap_count == 0 and ctx.ends_count == 0:
            return 2
        now = ctx.clock
        if ctx.heap_count > 0:
            now = ctx.heap_time[0]
        if ctx.ends_count > 0 and (ctx.heap_count == 0 or ctx.due[ctx.ends[0]] < now):
            now = ctx.due[ctx.ends[0]]
        now = max(now, ctx.clock)
        if now > ctx.until:
            return 3
        ctx.events += 1
        ctx.clock = now
        take_arrived(ctx, now)
        while ctx.heap_count > 0 and ctx.heap_time[0] <= now + ctx.slack:
            time = now
            if ctx.punctual == 1:
                time = ctx.heap_time[0]
            delay_over(ctx, pop(ctx), time)
        allocate(ctx)
        free_slots(ctx)
    return 1
