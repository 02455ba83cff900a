# SPDX-License-Identifier: Apache-2.0
"""The main loop: requests arrive, get a path, and take its steps.

Written in the part of Python that :mod:`offramp_base.native` compiles; the selectors are the runtime's own.
"""

from __future__ import annotations

from offramp.leo.selection.exact import search
from offramp.leo.selection.kernel import choose, finished
from offramp.leo.selection.layout import HOLD, SelectorState, row_of
from offramp.leo.selection.steps import NETWORK
from offramp_base.native.subset import native
from offramp_sim.leo.layout import (
    ARRIVAL,
    STEP_ENDS,
    UNIT_SHIFT,
    LeoRunState,
)
from offramp_sim.leo.servers import enter, leave, place_of
from offramp_sim.packets.events import schedule, take_event
from offramp_sim.packets.layout import EVENT_KINDS


@native
def _begin_step(ctx: LeoRunState, request: int) -> None:
    """Begin a request's next step."""
    place = place_of(ctx, request)
    resource = ctx.places[place]
    if resource >= 0:
        enter(ctx, resource, request)
        return
    time = ctx.times[place]
    if resource == NETWORK:
        time = (ctx.networks[request] * time) >> UNIT_SHIFT
        away = ctx.away
        away[request] = away[request] + time
    schedule(ctx, ctx.now + time, STEP_ENDS, request)


@native
def _begin(ctx: LeoRunState, request: int, path: int) -> None:
    ctx.chosen[request] = path
    ctx.began[request] = ctx.now
    ctx.step[request] = 0
    _begin_step(ctx, request)


@native
def _foresee(ctx: LeoRunState, request: int) -> int:
    """First of the best choices for this request and the next ones, with their arrivals and all queues known."""
    memory = SelectorState(ctx.memories[0])
    backlog = ctx.backlog
    gaps = ctx.gaps
    arrivals = ctx.arrivals
    choice = ctx.choice
    for r in range(ctx.resources):
        backlog[r] = max(backlog[r] - (ctx.now - ctx.seen), 0)
    ctx.seen = ctx.now
    steps = min(ctx.steps_ahead, ctx.requests - request)
    for i in range(steps):
        gaps[i] = 0
        if ctx.window == 0 and request + i + 1 < ctx.requests:
            gaps[i] = arrivals[request + i + 1] - arrivals[request + i]
    search(memory, ctx.kinds + request, gaps, backlog, steps, ctx.scratch, choice)
    pair = ctx.kinds[request] * ctx.paths + choice[0]
    first = memory.first
    for i in range(first[pair], first[pair + 1]):
        at = memory.resource[i]
        backlog[at] = backlog[at] + memory.load[i]
    return choice[0]


@native
def _issue(ctx: LeoRunState) -> None:
    """Issue the next request."""
    request = ctx.issued
    ctx.issued = request + 1
    ctx.came[request] = ctx.now
    if ctx.steps_ahead > 0:
        _begin(ctx, request, _foresee(ctx, request))
        return
    memory = SelectorState(ctx.memories[ctx.owners[request]])
    path = choose(memory, request, ctx.kinds[request], ctx.keys[request], ctx.now)
    if path != HOLD:
        _begin(ctx, request, path)


@native
def _end(ctx: LeoRunState, request: int) -> None:
    """End a request, whose answer has arrived."""
    ctx.finished[request] = ctx.now
    ctx.ended = ctx.ended + 1
    if ctx.steps_ahead == 0:
        memory = SelectorState(ctx.memories[ctx.owners[request]])
        whole = ctx.now - ctx.began[request]
        count = finished(memory, request, whole - ctx.away[request], whole, ctx.now)
        for i in range(count):
            started = memory.started_rows[i]
            _begin(ctx, started, row_of(memory, started).path)
    if ctx.window > 0 and ctx.issued < ctx.requests:
        _issue(ctx)


@native
def _step_ends(ctx: LeoRunState, request: int) -> None:
    """End a request's step: it goes on to the next, or has made its last."""
    resource = ctx.places[place_of(ctx, request)]
    if resource >= 0:
        leave(ctx, resource)
    step = ctx.step
    step[request] = step[request] + 1
    pair = ctx.kinds[request] * ctx.paths + ctx.chosen[request]
    if place_of(ctx, request) == ctx.first[pair + 1]:
        _end(ctx, request)
    else:
        _begin_step(ctx, request)


@native
def run(ctx: LeoRunState) -> int:
    """Serve all requests; returns how many have ended, which is fewer if some are held forever."""
    if ctx.window > 0:
        for _ in range(min(ctx.window, ctx.requests)):
            _issue(ctx)
    else:
        schedule(ctx, ctx.arrivals[0], ARRIVAL, 0)
    while ctx.heap_used > 0:
        first = ctx.heap
        ctx.now = first[0]
        event = first[2]
        take_event(ctx)
        if event % EVENT_KINDS == ARRIVAL:
            _issue(ctx)
            if ctx.issued < ctx.requests:
                schedule(ctx, ctx.arrivals[ctx.issued], ARRIVAL, 0)
        else:
            _step_ends(ctx, event // EVENT_KINDS)
    return ctx.ended
