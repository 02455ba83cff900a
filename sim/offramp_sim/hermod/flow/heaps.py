# SPDX-License-Identifier: Apache-2.0
"""Three heaps: delays by end, flows by end, and flows that wait for a new rate by class."""

from __future__ import annotations

from typing import Final

from offramp_base.native.heap import drop_first_item, drop_first_key, sift_item_up, sift_key_up
from offramp_base.native.subset import native
from offramp_sim.hermod.flow.layout import NOBODY, FlowRunState

_HALF: Final = 32
_LOW: Final = (1 << _HALF) - 1


@native
def push(ctx: FlowRunState, time: float, task: int) -> None:
    """Add a delay that ends at ``time``; of equal times the lower task goes first."""
    sift_item_up(ctx.heap_time, ctx.heap_task, ctx.heap_count, time, task)
    ctx.heap_count = ctx.heap_count + 1


@native
def pop(ctx: FlowRunState) -> int:
    """Remove and return the task whose delay ends next."""
    first = ctx.heap_task[0]
    ctx.heap_count = ctx.heap_count - 1
    drop_first_item(ctx.heap_time, ctx.heap_task, ctx.heap_count)
    return first


@native
def expect_end(ctx: FlowRunState, flow: int, time: float) -> None:
    """Schedule a flow's arrival at ``time``, unless its rate changes before."""
    ctx.due[flow] = time
    at = ctx.place[flow]
    if at == NOBODY:
        at = ctx.ends_count
        ctx.ends_count = at + 1
    _settle(ctx, flow, at)


@native
def forget_end(ctx: FlowRunState, flow: int) -> None:
    """Unschedule a flow that has arrived or has no rate."""
    at = ctx.place[flow]
    if at != NOBODY:
        ctx.place[flow] = NOBODY
        count = ctx.ends_count - 1
        ctx.ends_count = count
        if at < count:
            _settle(ctx, ctx.ends[count], at)


@native
def _settle(ctx: FlowRunState, flow: int, at: int) -> None:
    """Move a flow to its place in the heap, starting from a free place."""
    ends = ctx.ends
    place = ctx.place
    due = ctx.due
    time = due[flow]
    while at > 0 and due[ends[(at - 1) // 2]] > time:
        above = (at - 1) // 2
        ends[at] = ends[above]
        place[ends[at]] = at
        at = above
    count = ctx.ends_count
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and due[ends[below + 1]] < due[ends[below]]:
            below += 1
        if due[ends[below]] >= time:
            break
        ends[at] = ends[below]
        place[ends[at]] = at
        at = below
    ends[at] = flow
    place[flow] = at


@native
def enqueue(ctx: FlowRunState, flow: int) -> None:
    """Queue a flow whose rate may have changed."""
    if ctx.queued[flow] != 0:
        return
    ctx.queued[flow] = 1
    sift_key_up(ctx.queue, ctx.queue_count, (ctx.classes[flow] << _HALF) | flow)
    ctx.queue_count = ctx.queue_count + 1


@native
def dequeue(ctx: FlowRunState) -> int:
    """Remove and return the flow of the first class among those whose rates may have changed."""
    queue = ctx.queue
    first = queue[0] & _LOW
    ctx.queue_count = ctx.queue_count - 1
    drop_first_key(queue, ctx.queue_count)
    return first
