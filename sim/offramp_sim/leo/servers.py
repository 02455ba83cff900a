# SPDX-License-Identifier: Apache-2.0
"""Links and nodes: several servers with a queue for each tenant, served in order of start tags.

Start-time fair queueing (Goyal, Vin, Cheng 1996); with one tenant it is first come, first served. Written in the part
of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from offramp_base.native.subset import Words, native
from offramp_sim.leo.layout import (
    BUSY,
    CAPACITY,
    CHOSEN,
    ENDS,
    FACTORS,
    FIRST,
    HEADS,
    KINDS,
    MOST_STEPS,
    NEXT,
    NOBODY,
    NOW,
    OWNERS,
    PATHS,
    STEP,
    STEP_ENDS,
    TAGS,
    TAILS,
    TENANTS,
    TIMES,
    UNIT_SHIFT,
    VIRTUAL,
    WEIGHTS,
    WORKED,
)
from offramp_sim.packets.events import schedule


@native
def place_of(ctx: Words, request: int) -> int:
    """Where the request's step stands in the list of all steps."""
    pair = Words(ctx[KINDS])[request] * ctx[PATHS] + Words(ctx[CHOSEN])[request]
    return Words(ctx[FIRST])[pair] + Words(ctx[STEP])[request]


@native
def duration(ctx: Words, request: int) -> int:
    """How long the request's step takes, ps."""
    factor = Words(ctx[FACTORS])[request * ctx[MOST_STEPS] + Words(ctx[STEP])[request]]
    return (Words(ctx[TIMES])[place_of(ctx, request)] * factor) >> UNIT_SHIFT


@native
def _serve(ctx: Words, resource: int, request: int) -> None:
    time = duration(ctx, request)
    busy = Words(ctx[BUSY])
    busy[resource] = busy[resource] + 1
    worked = Words(ctx[WORKED])
    worked[resource] = worked[resource] + time
    Words(ctx[VIRTUAL])[resource] = Words(ctx[TAGS])[request]
    schedule(ctx, ctx[NOW] + time, STEP_ENDS, request)


@native
def enter(ctx: Words, resource: int, request: int) -> None:
    """A request comes to a resource."""
    owner = Words(ctx[OWNERS])[request]
    queue = resource * ctx[TENANTS] + owner
    ends = Words(ctx[ENDS])
    tags = Words(ctx[TAGS])
    tags[request] = max(Words(ctx[VIRTUAL])[resource], ends[queue])
    ends[queue] = tags[request] + ((duration(ctx, request) * Words(ctx[WEIGHTS])[owner]) >> UNIT_SHIFT)
    if Words(ctx[BUSY])[resource] < Words(ctx[CAPACITY])[resource]:
        _serve(ctx, resource, request)
        return
    following = Words(ctx[NEXT])
    following[request] = NOBODY
    if Words(ctx[HEADS])[queue] == NOBODY:
        Words(ctx[HEADS])[queue] = request
    else:
        following[Words(ctx[TAILS])[queue]] = request
    Words(ctx[TAILS])[queue] = request


@native
def leave(ctx: Words, resource: int) -> None:
    """A server is free: it takes the waiting request of the lowest start tag."""
    busy = Words(ctx[BUSY])
    busy[resource] = busy[resource] - 1
    heads = Words(ctx[HEADS])
    tags = Words(ctx[TAGS])
    chosen = NOBODY
    for queue in range(resource * ctx[TENANTS], (resource + 1) * ctx[TENANTS]):
        if heads[queue] == NOBODY:
            continue
        if chosen == NOBODY or tags[heads[queue]] < tags[heads[chosen]]:
            chosen = queue
    if chosen != NOBODY:
        request = heads[chosen]
        heads[chosen] = Words(ctx[NEXT])[request]
        _serve(ctx, resource, request)
