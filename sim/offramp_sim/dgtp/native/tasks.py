# SPDX-License-Identifier: Apache-2.0
"""Tasks: when they may start, the calendar of their ends, and what their ends release."""

from __future__ import annotations

from offramp_p4.native.subset import Doubles, Words, native
from offramp_sim.dgtp.native.layout import (
    BYTES,
    CALENDAR_TASK,
    CALENDAR_TIME,
    CALENDAR_USED,
    DONE,
    EDGES,
    FLOW_END,
    FLOW_START,
    ITERATIONS,
    LAG,
    LEFT_TO_DO,
    MISSING,
    NOTES,
    NOW,
    OUT_EDGE,
    OUT_START,
    POLICY,
    RELEASED,
    REMOTE,
    SECONDS,
    SENT,
    STARTED,
    TARGET,
    TASK_END,
    TASK_START,
    TASKS,
)
from offramp_sim.dgtp.native.listed import list_flow
from offramp_sim.dgtp.native.pairs import add_flow


@native
def begin(ctx: Words) -> None:
    """Start what waits for nothing."""
    for task in range(ctx[TASKS]):
        start(ctx, task)


@native
def start(ctx: Words, task: int) -> None:
    """Start the next iteration of a task if everything that it needs is there."""
    n = Words(ctx[DONE])[task]
    started = Words(ctx[STARTED])
    if started[task] > n or n >= ctx[ITERATIONS]:
        return
    if Words(ctx[MISSING])[n * ctx[TASKS] + task] > 0:
        return
    started[task] = n + 1
    now = Doubles(ctx[NOW])[0]
    if ctx[NOTES] == 1:
        Doubles(ctx[TASK_START])[n * ctx[TASKS] + task] = now
    put(ctx, now + Doubles(ctx[SECONDS])[task], task)


@native
def put(ctx: Words, time: float, task: int) -> None:
    """Note the end of a task in the calendar, a binary heap."""
    times = Doubles(ctx[CALENDAR_TIME])
    tasks = Words(ctx[CALENDAR_TASK])
    place = ctx[CALENDAR_USED]
    ctx[CALENDAR_USED] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        if times[parent] <= time:
            break
        times[place] = times[parent]
        tasks[place] = tasks[parent]
        place = parent
    times[place] = time
    tasks[place] = task


@native
def take(ctx: Words) -> int:
    """Remove the task that ends first."""
    times = Doubles(ctx[CALENDAR_TIME])
    tasks = Words(ctx[CALENDAR_TASK])
    first = tasks[0]
    count = ctx[CALENDAR_USED] - 1
    ctx[CALENDAR_USED] = count
    time = times[count]
    task = tasks[count]
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[place] = times[child]
        tasks[place] = tasks[child]
        place = child
    times[place] = time
    tasks[place] = task
    return first


@native
def end_task(ctx: Words) -> None:
    """The task that ends first has ended: deliver what stays local, release flows, start it again."""
    task = take(ctx)
    done = Words(ctx[DONE])
    n = done[task]
    done[task] = n + 1
    ctx[LEFT_TO_DO] -= 1
    if ctx[NOTES] == 1:
        Doubles(ctx[TASK_END])[n * ctx[TASKS] + task] = Doubles(ctx[NOW])[0]
    start(ctx, task)
    first = Words(ctx[OUT_START])
    for i in range(first[task], first[task + 1]):
        edge = Words(ctx[OUT_EDGE])[i]
        if n + Words(ctx[LAG])[edge] < ctx[ITERATIONS]:
            if Words(ctx[REMOTE])[edge] == 0:
                deliver(ctx, edge, n)
            else:
                released = Words(ctx[RELEASED])
                released[edge] += 1
                if released[edge] == Words(ctx[SENT])[edge] + 1:
                    next_flow(ctx, edge)


@native
def deliver(ctx: Words, edge: int, n: int) -> None:
    """What an edge carries for an iteration of its source has arrived."""
    target = Words(ctx[TARGET])[edge]
    Words(ctx[MISSING])[(n + Words(ctx[LAG])[edge]) * ctx[TASKS] + target] -= 1
    start(ctx, target)


@native
def next_flow(ctx: Words, edge: int) -> None:
    """Put the next pending flow of an edge under way; flows without bytes arrive at once."""
    sent = Words(ctx[SENT])
    while Words(ctx[RELEASED])[edge] > sent[edge]:
        n = sent[edge]
        place = n * ctx[EDGES] + edge
        size = Doubles(ctx[BYTES])[place]
        if ctx[NOTES] == 1:
            Doubles(ctx[FLOW_START])[place] = Doubles(ctx[NOW])[0]
        if size > 0.0:
            if ctx[POLICY] == 0:
                add_flow(ctx, edge, size)
            else:
                list_flow(ctx, edge, n, size)
            return
        arrive(ctx, edge)


@native
def arrive(ctx: Words, edge: int) -> None:
    """The flow of an edge that was under way has arrived."""
    sent = Words(ctx[SENT])
    n = sent[edge]
    sent[edge] = n + 1
    if ctx[NOTES] == 1:
        Doubles(ctx[FLOW_END])[n * ctx[EDGES] + edge] = Doubles(ctx[NOW])[0]
    deliver(ctx, edge, n)
