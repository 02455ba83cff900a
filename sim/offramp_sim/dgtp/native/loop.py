# SPDX-License-Identifier: Apache-2.0
"""The main loops: event after event, until every task has done every iteration."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.dgtp.native.layout import (
    CLOSE,
    DONE_ALL,
    NEVER,
    STALLED,
    PlacementRunState,
)
from offramp_sim.dgtp.native.pairs import first_pair, settle, take_ended
from offramp_sim.dgtp.native.rates import give_rates
from offramp_sim.dgtp.native.tasks import arrive, begin, end_task, next_flow


@native
def first_end(ctx: PlacementRunState) -> float:
    """Time at which the first of the running tasks ends."""
    if ctx.calendar_used == 0:
        return NEVER
    return ctx.calendar_time[0]


@native
def run_equal(ctx: PlacementRunState) -> int:
    """Run online execution: flows at equal shares."""
    clock = ctx.now
    tree = ctx.tree
    begin(ctx)
    while ctx.left_to_do > 0:
        settle(ctx)
        soonest = min(first_end(ctx), tree[1])
        if soonest >= NEVER:
            return STALLED
        clock[0] = soonest
        moment = soonest * CLOSE
        while first_end(ctx) <= moment:
            end_task(ctx)
        while tree[1] <= moment:
            edge = take_ended(ctx, first_pair(ctx))
            while edge >= 0:
                after = ctx.next[edge]
                arrive(ctx, edge)
                next_flow(ctx, edge)
                edge = after
    return DONE_ALL


@native
def run_listed(ctx: PlacementRunState) -> int:
    """Run another policy: each flow at its own rate."""
    clock = ctx.now
    flows = ctx.list
    left = ctx.left
    speed = ctx.speed
    finished = ctx.finished
    begin(ctx)
    while ctx.left_to_do > 0:
        while first_end(ctx) <= clock[0] * CLOSE:
            end_task(ctx)
        give_rates(ctx)
        now = clock[0]
        soonest = first_end(ctx)
        for i in range(ctx.flows):
            if speed[flows[i]] > 0.0:
                soonest = min(soonest, now + left[flows[i]] / speed[flows[i]])
        if soonest >= NEVER:
            return DONE_ALL if ctx.left_to_do == 0 else STALLED
        moment = soonest * CLOSE
        kept = 0
        ended = 0
        for i in range(ctx.flows):
            edge = flows[i]
            if speed[edge] > 0.0 and now + left[edge] / speed[edge] <= moment:
                finished[ended] = edge
                ended += 1
            else:
                left[edge] = left[edge] - speed[edge] * (soonest - now)
                flows[kept] = edge
                kept += 1
        ctx.flows = kept
        clock[0] = soonest
        for i in range(ended):
            arrive(ctx, finished[i])
            next_flow(ctx, finished[i])
    return DONE_ALL
