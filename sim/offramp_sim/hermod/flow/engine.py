# SPDX-License-Identifier: Apache-2.0
"""The main loop: the next end of a delay or a flow, and what it lets start."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.hermod.flow.layout import (
    Context,
)
from offramp_sim.hermod.flow.sharing import MUCH, allocate


@native
def push(ctx: Context, time: float, task: int) -> None:
    """A delay ends at ``time``; of equal times the lower task goes first."""
    times = ctx.heap_time
    tasks = ctx.heap_task
    at = ctx.heap_count
    ctx.heap_count = at + 1
    while at > 0:
        above = (at - 1) // 2
        if times[above] < time or (times[above] == time and tasks[above] < task):
            break
        times[at] = times[above]
        tasks[at] = tasks[above]
        at = above
    times[at] = time
    tasks[at] = task


@native
def pop(ctx: Context) -> int:
    """The task whose delay ends next."""
    times = ctx.heap_time
    tasks = ctx.heap_task
    first = tasks[0]
    count = ctx.heap_count - 1
    ctx.heap_count = count
    time = times[count]
    task = tasks[count]
    at = 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count:
            right = below + 1
            if times[right] < times[below] or (times[right] == times[below] and tasks[right] < tasks[below]):
                below = right
        if time < times[below] or (time == times[below] and task < tasks[below]):
            break
        times[at] = times[below]
        tasks[at] = tasks[below]
        at = below
    times[at] = time
    tasks[at] = task
    return first


@native
def activate(ctx: Context, flow: int) -> None:
    """Among the flows under way, behind those of its class."""
    active = ctx.active
    classes = ctx.classes
    if ctx.fifo == 1:
        classes[flow] = ctx.events
    elif ctx.fifo == 2:
        ctx.host[flow] = ctx.events
    at = ctx.active_count
    ctx.active_count = at + 1
    mine = classes[flow]
    while at > 0 and classes[active[at - 1]] > mine:
        active[at] = active[at - 1]
        at -= 1
    active[at] = flow


@native
def finish(ctx: Context, task: int, now: float) -> None:
    """A task ends; what waits for nothing else starts its delay."""
    waits = ctx.waits
    row = ctx.after_row
    after = ctx.after
    delay = ctx.delay
    start = ctx.start
    end = ctx.end
    end[task] = now
    ctx.done += 1
    for k in range(row[task], row[task + 1]):
        then = after[k]
        waits[then] -= 1
        if waits[then] == 0:
            start[then] = now
            push(ctx, now + delay[then], then)


@native
def delay_over(ctx: Context, task: int, now: float) -> int:
    """Its flows start, or it is done; returns how many flows have started."""
    row = ctx.flow_row
    started = row[task + 1] - row[task]
    if started == 0:
        finish(ctx, task, now)
    else:
        for flow in range(row[task], row[task + 1]):
            activate(ctx, flow)
    return started


@native
def ended(ctx: Context, now: float, slack: float) -> int:
    """Take the flows that have arrived off the list; returns how many."""
    active = ctx.active
    left = ctx.left
    rate = ctx.rate
    owner = ctx.owner
    open_flows = ctx.open_flows
    stack = ctx.stack
    kept = 0
    tasks = 0
    count = ctx.active_count
    for i in range(count):
        flow = active[i]
        if left[flow] <= rate[flow] * slack + 1e-12:
            open_flows[owner[flow]] -= 1
            if open_flows[owner[flow]] == 0:
                stack[tasks] = owner[flow]
                tasks += 1
        else:
            active[kept] = flow
            kept += 1
    ctx.active_count = kept
    for i in range(tasks):
        finish(ctx, stack[i], now)
    return count - kept


@native
def run(ctx: Context, most_events: int) -> int:
    """Until everything is done (1), ``most_events`` events are (0), or nothing can go on (2)."""
    times = ctx.heap_time
    active = ctx.active
    left = ctx.left
    rate = ctx.rate
    clock = ctx.clock
    slack = ctx.slack[0]
    until = ctx.events + most_events
    while ctx.done < ctx.tasks:
        if ctx.events >= until:
            return 0
        ctx.events += 1
        now = clock[0]
        step = MUCH
        if ctx.heap_count > 0:
            step = times[0] - now
        for i in range(ctx.active_count):
            flow = active[i]
            if rate[flow] > 0.0:
                step = min(step, left[flow] / rate[flow])
        if step >= MUCH:
            return 2
        step = max(step, 0.0)
        now = now + step
        clock[0] = now
        for i in range(ctx.active_count):
            flow = active[i]
            left[flow] = left[flow] - rate[flow] * step
        changed = ended(ctx, now, slack)
        while ctx.heap_count > 0 and times[0] <= now + slack:
            changed += delay_over(ctx, pop(ctx), now)
        if changed > 0:
            allocate(ctx)
    return 1
