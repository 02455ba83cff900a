# SPDX-License-Identifier: Apache-2.0
"""Links and nodes: several servers with a queue for each tenant, served in order of start tags.

Start-time fair queueing (Goyal, Vin, Cheng 1996); with one tenant it is first come, first served. Written in the part
of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.leo.layout import (
    NOBODY,
    STEP_ENDS,
    UNIT_SHIFT,
    LeoRunState,
)
from offramp_sim.packets.events import schedule


@native
def place_of(ctx: LeoRunState, request: int) -> int:
    """Position of the request's step in the list of all steps."""
    pair = ctx.kinds[request] * ctx.paths + ctx.chosen[request]
    return ctx.first[pair] + ctx.step[request]


@native
def duration(ctx: LeoRunState, request: int) -> int:
    """Time of the request's step at a resource if it begins now, in picoseconds."""
    place = place_of(ctx, request)
    factor = ctx.factors[request * ctx.most_steps + ctx.step[request]]
    time = (ctx.times[place] * factor) >> UNIT_SHIFT
    resource = ctx.places[place]
    if ctx.slow_from[resource] <= ctx.now and ctx.now < ctx.slow_until[resource]:
        return time * ctx.slow_by[resource]
    return time


@native
def _serve(ctx: LeoRunState, resource: int, request: int) -> None:
    time = duration(ctx, request)
    busy = ctx.busy
    busy[resource] = busy[resource] + 1
    worked = ctx.worked
    worked[resource] = worked[resource] + time
    ctx.virtual[resource] = ctx.tags[request]
    schedule(ctx, ctx.now + time, STEP_ENDS, request)


@native
def enter(ctx: LeoRunState, resource: int, request: int) -> None:
    """Let a request enter a resource."""
    owner = ctx.owners[request]
    queue = resource * ctx.tenants + owner
    ends = ctx.ends
    tags = ctx.tags
    tags[request] = max(ctx.virtual[resource], ends[queue])
    ends[queue] = tags[request] + ((duration(ctx, request) * ctx.weights[owner]) >> UNIT_SHIFT)
    if ctx.busy[resource] < ctx.capacity[resource]:
        _serve(ctx, resource, request)
        return
    following = ctx.next
    following[request] = NOBODY
    if ctx.heads[queue] == NOBODY:
        ctx.heads[queue] = request
    else:
        following[ctx.tails[queue]] = request
    ctx.tails[queue] = request


@native
def leave(ctx: LeoRunState, resource: int) -> None:
    """Free a server: it takes the waiting request with the lowest start tag."""
    busy = ctx.busy
    busy[resource] = busy[resource] - 1
    heads = ctx.heads
    tags = ctx.tags
    chosen = NOBODY
    for queue in range(resource * ctx.tenants, (resource + 1) * ctx.tenants):
        if heads[queue] == NOBODY:
            continue
        if chosen == NOBODY or tags[heads[queue]] < tags[heads[chosen]]:
            chosen = queue
    if chosen != NOBODY:
        request = heads[chosen]
        heads[chosen] = ctx.next[request]
        _serve(ctx, resource, request)
