# SPDX-License-Identifier: Apache-2.0
"""The main loop: the next end of a delay or a flow, and what it lets start."""

from __future__ import annotations

from offramp_base.native.subset import Doubles, Words, native
from offramp_sim.hermod.flow.layout import (
    ACTIVE,
    ACTIVE_COUNT,
    AFTER,
    AFTER_ROW,
    CLASS,
    CLOCK,
    DELAY,
    DONE,
    END,
    EVENTS,
    FIFO,
    FLOW_ROW,
    HEAP_COUNT,
    HEAP_TASK,
    HEAP_TIME,
    HOST,
    LEFT,
    OPEN,
    OWNER,
    RATE,
    SLACK,
    STACK,
    START,
    TASKS,
    WAITS,
)
from offramp_sim.hermod.flow.sharing import MUCH, allocate


@native
def push(ctx: Words, time: float, task: int) -> None:
    """A delay ends at ``time``; of equal times the lower task goes first."""
    times = Doubles(ctx[HEAP_TIME])
    tasks = Words(ctx[HEAP_TASK])
    at = ctx[HEAP_COUNT]
    ctx[HEAP_COUNT] = at + 1
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
def pop(ctx: Words) -> int:
    """The task whose delay ends next."""
    times = Doubles(ctx[HEAP_TIME])
    tasks = Words(ctx[HEAP_TASK])
    first = tasks[0]
    count = ctx[HEAP_COUNT] - 1
    ctx[HEAP_COUNT] = count
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
def activate(ctx: Words, flow: int) -> None:
    """Among the flows under way, behind those of its class."""
    active = Words(ctx[ACTIVE])
    classes = Words(ctx[CLASS])
    if ctx[FIFO] == 1:
        classes[flow] = ctx[EVENTS]
    elif ctx[FIFO] == 2:
        Words(ctx[HOST])[flow] = ctx[EVENTS]
    at = ctx[ACTIVE_COUNT]
    ctx[ACTIVE_COUNT] = at + 1
    mine = classes[flow]
    while at > 0 and classes[active[at - 1]] > mine:
        active[at] = active[at - 1]
        at -= 1
    active[at] = flow


@native
def finish(ctx: Words, task: int, now: float) -> None:
    """A task ends; what waits for nothing else starts its delay."""
    waits = Words(ctx[WAITS])
    row = Words(ctx[AFTER_ROW])
    after = Words(ctx[AFTER])
    delay = Doubles(ctx[DELAY])
    start = Doubles(ctx[START])
    end = Doubles(ctx[END])
    end[task] = now
    ctx[DONE] += 1
    for k in range(row[task], row[task + 1]):
        then = after[k]
        waits[then] -= 1
        if waits[then] == 0:
            start[then] = now
            push(ctx, now + delay[then], then)


@native
def delay_over(ctx: Words, task: int, now: float) -> int:
    """Its flows start, or it is done; returns how many flows have started."""
    row = Words(ctx[FLOW_ROW])
    started = row[task + 1] - row[task]
    if started == 0:
        finish(ctx, task, now)
    else:
        for flow in range(row[task], row[task + 1]):
            activate(ctx, flow)
    return started


@native
def ended(ctx: Words, now: float, slack: float) -> int:
    """Take the flows that have arrived off the list; returns how many."""
    active = Words(ctx[ACTIVE])
    left = Doubles(ctx[LEFT])
    rate = Doubles(ctx[RATE])
    owner = Words(ctx[OWNER])
    open_flows = Words(ctx[OPEN])
    stack = Words(ctx[STACK])
    kept = 0
    tasks = 0
    count = ctx[ACTIVE_COUNT]
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
    ctx[ACTIVE_COUNT] = kept
    for i in range(tasks):
        finish(ctx, stack[i], now)
    return count - kept


@native
def run(ctx: Words, most_events: int) -> int:
    """Until everything is done (1), ``most_events`` events are (0), or nothing can go on (2)."""
    times = Doubles(ctx[HEAP_TIME])
    active = Words(ctx[ACTIVE])
    left = Doubles(ctx[LEFT])
    rate = Doubles(ctx[RATE])
    clock = Doubles(ctx[CLOCK])
    slack = Doubles(ctx[SLACK])[0]
    until = ctx[EVENTS] + most_events
    while ctx[DONE] < ctx[TASKS]:
        if ctx[EVENTS] >= until:
            return 0
        ctx[EVENTS] += 1
        now = clock[0]
        step = MUCH
        if ctx[HEAP_COUNT] > 0:
            step = times[0] - now
        for i in range(ctx[ACTIVE_COUNT]):
            flow = active[i]
            if rate[flow] > 0.0:
                step = min(step, left[flow] / rate[flow])
        if step >= MUCH:
            return 2
        step = max(step, 0.0)
        now = now + step
        clock[0] = now
        for i in range(ctx[ACTIVE_COUNT]):
            flow = active[i]
            left[flow] = left[flow] - rate[flow] * step
        changed = ended(ctx, now, slack)
        while ctx[HEAP_COUNT] > 0 and times[0] <= now + slack:
            changed += delay_over(ctx, pop(ctx), now)
        if changed > 0:
            allocate(ctx)
    return 1
