# SPDX-License-Identifier: Apache-2.0
"""The main loop: requests come, are given a path, and take its steps.

Written in the part of Python that :mod:`offramp_base.native` compiles; the selectors are the runtime's own.
"""

from __future__ import annotations

from offramp.leo.selection.exact import search
from offramp.leo.selection.kernel import choose, finished
from offramp.leo.selection.layout import FIRST as FIRST_LOAD
from offramp.leo.selection.layout import HOLD, LOAD, ROW_PATH, STARTED_ROWS, row_of
from offramp.leo.selection.layout import RESOURCE as RESOURCE_OF
from offramp.leo.selection.steps import NETWORK
from offramp_base.native.subset import Words, native
from offramp_sim.leo.layout import (
    ARRIVAL,
    ARRIVALS,
    AWAY,
    BACKLOG,
    BEGAN,
    CAME,
    CHOICE,
    CHOSEN,
    ENDED,
    EVENT_KINDS,
    FINISHED,
    FIRST,
    GAPS,
    HEAP,
    HEAP_USED,
    ISSUED,
    KEYS,
    KINDS,
    MEMORIES,
    NETWORKS,
    NOW,
    OWNERS,
    PATHS,
    PLACES,
    REQUESTS,
    RESOURCES,
    SCRATCH,
    SEEN,
    STEP,
    STEP_ENDS,
    STEPS_AHEAD,
    TIMES,
    UNIT_SHIFT,
    WINDOW,
)
from offramp_sim.leo.servers import enter, leave, place_of
from offramp_sim.packets.events import schedule, take_event


@native
def _begin_step(ctx: Words, request: int) -> None:
    """A request comes to its next step."""
    place = place_of(ctx, request)
    resource = Words(ctx[PLACES])[place]
    if resource >= 0:
        enter(ctx, resource, request)
        return
    time = Words(ctx[TIMES])[place]
    if resource == NETWORK:
        time = (Words(ctx[NETWORKS])[request] * time) >> UNIT_SHIFT
        away = Words(ctx[AWAY])
        away[request] = away[request] + time
    schedule(ctx, ctx[NOW] + time, STEP_ENDS, request)


@native
def _begin(ctx: Words, request: int, path: int) -> None:
    Words(ctx[CHOSEN])[request] = path
    Words(ctx[BEGAN])[request] = ctx[NOW]
    Words(ctx[STEP])[request] = 0
    _begin_step(ctx, request)


@native
def _foresee(ctx: Words, request: int) -> int:
    """The first of the best choices for this request and those after it, with their arrivals and all queues known."""
    memory = Words(Words(ctx[MEMORIES])[0])
    backlog = Words(ctx[BACKLOG])
    gaps = Words(ctx[GAPS])
    arrivals = Words(ctx[ARRIVALS])
    choice = Words(ctx[CHOICE])
    for r in range(ctx[RESOURCES]):
        backlog[r] = max(backlog[r] - (ctx[NOW] - ctx[SEEN]), 0)
    ctx[SEEN] = ctx[NOW]
    steps = min(ctx[STEPS_AHEAD], ctx[REQUESTS] - request)
    for i in range(steps):
        gaps[i] = 0
        if ctx[WINDOW] == 0 and request + i + 1 < ctx[REQUESTS]:
            gaps[i] = arrivals[request + i + 1] - arrivals[request + i]
    search(memory, Words(ctx[KINDS]) + request, gaps, backlog, steps, Words(ctx[SCRATCH]), choice)
    pair = Words(ctx[KINDS])[request] * ctx[PATHS] + choice[0]
    first = memory + memory[FIRST_LOAD]
    for i in range(first[pair], first[pair + 1]):
        at = (memory + memory[RESOURCE_OF])[i]
        backlog[at] = backlog[at] + (memory + memory[LOAD])[i]
    return choice[0]


@native
def _issue(ctx: Words) -> None:
    """The next request is there."""
    request = ctx[ISSUED]
    ctx[ISSUED] = request + 1
    Words(ctx[CAME])[request] = ctx[NOW]
    if ctx[STEPS_AHEAD] > 0:
        _begin(ctx, request, _foresee(ctx, request))
        return
    memory = Words(Words(ctx[MEMORIES])[Words(ctx[OWNERS])[request]])
    path = choose(memory, request, Words(ctx[KINDS])[request], Words(ctx[KEYS])[request], ctx[NOW])
    if path != HOLD:
        _begin(ctx, request, path)


@native
def _end(ctx: Words, request: int) -> None:
    """A request's answer is there."""
    Words(ctx[FINISHED])[request] = ctx[NOW]
    ctx[ENDED] = ctx[ENDED] + 1
    if ctx[STEPS_AHEAD] == 0:
        memory = Words(Words(ctx[MEMORIES])[Words(ctx[OWNERS])[request]])
        whole = ctx[NOW] - Words(ctx[BEGAN])[request]
        count = finished(memory, request, whole - Words(ctx[AWAY])[request], whole, ctx[NOW])
        for i in range(count):
            started = (memory + memory[STARTED_ROWS])[i]
            _begin(ctx, started, row_of(memory, started)[ROW_PATH])
    if ctx[WINDOW] > 0 and ctx[ISSUED] < ctx[REQUESTS]:
        _issue(ctx)


@native
def _step_ends(ctx: Words, request: int) -> None:
    """A request goes on to its next step, or has made its last."""
    resource = Words(ctx[PLACES])[place_of(ctx, request)]
    if resource >= 0:
        leave(ctx, resource)
    step = Words(ctx[STEP])
    step[request] = step[request] + 1
    pair = Words(ctx[KINDS])[request] * ctx[PATHS] + Words(ctx[CHOSEN])[request]
    if place_of(ctx, request) == Words(ctx[FIRST])[pair + 1]:
        _end(ctx, request)
    else:
        _begin_step(ctx, request)


@native
def run(ctx: Words) -> int:
    """Serve all requests; returns how many have ended, which is fewer where some are held for ever."""
    if ctx[WINDOW] > 0:
        for _ in range(min(ctx[WINDOW], ctx[REQUESTS])):
            _issue(ctx)
    else:
        schedule(ctx, Words(ctx[ARRIVALS])[0], ARRIVAL, 0)
    while ctx[HEAP_USED] > 0:
        first = Words(ctx[HEAP])
        ctx[NOW] = first[0]
        event = first[2]
        take_event(ctx)
        if event % EVENT_KINDS == ARRIVAL:
            _issue(ctx)
            if ctx[ISSUED] < ctx[REQUESTS]:
                schedule(ctx, Words(ctx[ARRIVALS])[ctx[ISSUED]], ARRIVAL, 0)
        else:
            _step_ends(ctx, event // EVENT_KINDS)
    return ctx[ENDED]
