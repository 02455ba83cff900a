# SPDX-License-Identifier: Apache-2.0
"""Tasks: when they may start, the calendar of their ends, and what is released when they end."""

from __future__ import annotations

from offramp_base.native.heap import drop_first_item, sift_item_up
from offramp_base.native.subset import native
from offramp_sim.dgtp.native.layout import (
    PlacementRunState,
)
from offramp_sim.dgtp.native.listed import list_flow
from offramp_sim.dgtp.native.pairs import add_flow


@native
def begin(ctx: PlacementRunState) -> None:
    """Start all tasks that wait for nothing."""
    for task in range(ctx.tasks):
        start(ctx, task)


@native
def start(ctx: PlacementRunState, task: int) -> None:
    """Start the next iteration of a task if everything that it needs is there."""
    n = ctx.done[task]
    started = ctx.started
    if started[task] > n or n >= ctx.iterations:
        return
    if ctx.missing[n * ctx.tasks + task] > 0:
        return
    started[task] = n + 1
    now = ctx.now[0]
    if ctx.notes == 1:
        ctx.task_start[n * ctx.tasks + task] = now
    put(ctx, now + ctx.seconds[task], task)


@native
def put(ctx: PlacementRunState, time: float, task: int) -> None:
    """Note the end of a task in the calendar; of equal times the lower task goes first."""
    sift_item_up(ctx.calendar_time, ctx.calendar_task, ctx.calendar_used, time, task)
    ctx.calendar_used += 1


@native
def take(ctx: PlacementRunState) -> int:
    """Remove the task that ends first."""
    first = ctx.calendar_task[0]
    ctx.calendar_used -= 1
    drop_first_item(ctx.calendar_time, ctx.calendar_task, ctx.calendar_used)
    return first


@native
def end_task(ctx: PlacementRunState) -> None:
    """End the task that ends first: deliver what stays local, release flows, start its next iteration."""
    task = take(ctx)
    done = ctx.done
    n = done[task]
    done[task] = n + 1
    ctx.left_to_do -= 1
    if ctx.notes == 1:
        ctx.task_end[n * ctx.tasks + task] = ctx.now[0]
    start(ctx, task)
    first = ctx.out_start
    for i in range(first[task], first[task + 1]):
        edge = ctx.out_edge[i]
        if n + ctx.lag[edge] < ctx.iterations:
            if ctx.remote[edge] == 0:
                deliver(ctx, edge, n)
            else:
                released = ctx.released
                released[edge] += 1
                if released[edge] == ctx.sent[edge] + 1:
                    next_flow(ctx, edge)


@native
def deliver(ctx: PlacementRunState, edge: int, n: int) -> None:
    """Deliver what an edge carries for an iteration of its source."""
    target = ctx.target[edge]
    ctx.missing[(n + ctx.lag[edge]) * ctx.tasks + target] -= 1
    start(ctx, target)


@native
def next_flow(ctx: PlacementRunState, edge: int) -> None:
    """Start the next pending flow of an edge; flows without bytes arrive at once."""
    sent = ctx.sent
    while ctx.released[edge] > sent[edge]:
        n = sent[edge]
        place = n * ctx.edges + edge
        size = ctx.bytes[place]
        if ctx.notes == 1:
            ctx.flow_start[place] = ctx.now[0]
        if size > 0.0:
            if ctx.policy == 0:
                add_flow(ctx, edge, size)
            else:
                list_flow(ctx, edge, n, size)
            return
        arrive(ctx, edge)


@native
def arrive(ctx: PlacementRunState, edge: int) -> None:
    """Deliver the active flow of an edge."""
    sent = ctx.sent
    n = sent[edge]
    sent[edge] = n + 1
    if ctx.notes == 1:
        ctx.flow_end[n * ctx.edges + edge] = ctx.now[0]
    deliver(ctx, edge, n)
