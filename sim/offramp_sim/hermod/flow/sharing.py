# SPDX-License-Identifier: Apache-2.0
"""Rates: strict priority between classes, weighted max-min fairness within one."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.hermod.flow.layout import (
    Context,
)

EXACT: Final = 1.000000001
"""Levels this near to each other count as equal."""
NOTHING: Final = 1e-9
"""Of a resource's capacity: less than that is none."""
MUCH: Final = 1e300


@native
def take(ctx: Context, flow: int, rate: float) -> None:
    """Give a flow its rate and take it off its resources."""
    row = ctx.use_row
    use = ctx.use
    amount = ctx.amount
    room = ctx.room
    capacity = ctx.capacity
    rates = ctx.rate
    rates[flow] = rate
    for k in range(row[flow], row[flow + 1]):
        left = room[use[k]] - rate * amount[k]
        room[use[k]] = left if left > NOTHING * capacity[use[k]] else 0.0


@native
def alone(ctx: Context, flow: int) -> None:
    """All that its resources have left."""
    row = ctx.use_row
    use = ctx.use
    amount = ctx.amount
    room = ctx.room
    rate = MUCH
    for k in range(row[flow], row[flow + 1]):
        rate = min(rate, room[use[k]] / amount[k])
    take(ctx, flow, rate)


@native
def gather(ctx: Context, first: int, last: int) -> None:
    """What the flows of active[first:last] without a rate ask of each resource."""
    active = ctx.active
    row = ctx.use_row
    use = ctx.use
    amount = ctx.amount
    weight = ctx.weight
    demand = ctx.demand
    lowest = ctx.lowest
    fixed = ctx.fixed
    for i in range(first, last):
        flow = active[i]
        if fixed[flow] == 0:
            for k in range(row[flow], row[flow + 1]):
                demand[use[k]] = 0.0
                lowest[use[k]] = MUCH
    for i in range(first, last):
        flow = active[i]
        if fixed[flow] == 0:
            for k in range(row[flow], row[flow + 1]):
                demand[use[k]] = demand[use[k]] + weight[flow] * amount[k]


@native
def find_levels(ctx: Context, first: int, last: int) -> None:
    """The fair share that the narrowest resource of each flow allows, and the lowest of them on each resource."""
    active = ctx.active
    row = ctx.use_row
    use = ctx.use
    room = ctx.room
    demand = ctx.demand
    lowest = ctx.lowest
    level = ctx.level
    fixed = ctx.fixed
    for i in range(first, last):
        flow = active[i]
        if fixed[flow] == 0:
            least = MUCH
            for k in range(row[flow], row[flow + 1]):
                least = min(least, room[use[k]] / demand[use[k]])
            level[flow] = least
            for k in range(row[flow], row[flow + 1]):
                lowest[use[k]] = min(lowest[use[k]], least)


@native
def narrowed(ctx: Context, flow: int) -> bool:
    """Whether one of a flow's resources is the narrowest of all flows on it."""
    row = ctx.use_row
    use = ctx.use
    room = ctx.room
    demand = ctx.demand
    lowest = ctx.lowest
    level = ctx.level
    for k in range(row[flow], row[flow + 1]):
        here = room[use[k]] / demand[use[k]]
        if here <= level[flow] * EXACT and lowest[use[k]] * EXACT >= here:
            return True
    return False


@native
def share(ctx: Context, first: int, last: int) -> None:
    """Max-min fairness among active[first:last]; a round fixes all flows that :func:`narrowed` holds for."""
    active = ctx.active
    weight = ctx.weight
    level = ctx.level
    fixed = ctx.fixed
    without = 0
    for i in range(first, last):
        if fixed[active[i]] == 0:
            without += 1
    while without > 0:
        gather(ctx, first, last)
        find_levels(ctx, first, last)
        for i in range(first, last):
            if fixed[active[i]] == 0 and narrowed(ctx, active[i]):
                fixed[active[i]] = 2
        for i in range(first, last):
            flow = active[i]
            if fixed[flow] == 2:
                fixed[flow] = 1
                take(ctx, flow, weight[flow] * level[flow])
                without -= 1


@native
def hold_back(ctx: Context, count: int) -> None:
    """Flows of side 2 wait while a flow of side 1 leaves one of their senders."""
    active = ctx.active
    row = ctx.use_row
    use = ctx.use
    side = ctx.side
    held = ctx.held
    fixed = ctx.fixed
    rates = ctx.rate
    for port in range(ctx.ports):
        held[port] = 0
    for i in range(count):
        flow = active[i]
        if side[flow] == 1:
            for k in range(row[flow], row[flow + 1]):
                if use[k] < ctx.ports:
                    held[use[k]] = 1
    for i in range(count):
        flow = active[i]
        if side[flow] == 2:
            for k in range(row[flow], row[flow + 1]):
                if use[k] < ctx.ports and held[use[k]] == 1:
                    fixed[flow] = 1
                    rates[flow] = 0.0


@native
def put_off(ctx: Context, first: int, last: int) -> int:
    """Set those of active[first:last] aside that are not the first of their class at one of their senders; how many."""
    active = ctx.active
    row = ctx.use_row
    use = ctx.use
    host = ctx.host
    top = ctx.top
    fixed = ctx.fixed
    for i in range(first, last):
        flow = active[i]
        if fixed[flow] == 0:
            for k in range(row[flow], row[flow + 1]):
                if use[k] < ctx.ports:
                    top[use[k]] = host[flow]
    for i in range(first, last):
        flow = active[i]
        if fixed[flow] == 0:
            for k in range(row[flow], row[flow + 1]):
                if use[k] < ctx.ports:
                    top[use[k]] = min(top[use[k]], host[flow])
    aside = 0
    for i in range(first, last):
        flow = active[i]
        if fixed[flow] == 0:
            for k in range(row[flow], row[flow + 1]):
                if fixed[flow] == 0 and use[k] < ctx.ports and top[use[k]] < host[flow]:
                    fixed[flow] = 3
                    aside += 1
    return aside


@native
def share_in_order(ctx: Context, first: int, last: int) -> None:
    """One class whose senders know a finer order: the first flow of each sender shares, the next get what is left."""
    active = ctx.active
    fixed = ctx.fixed
    aside = 1
    while aside > 0:
        aside = put_off(ctx, first, last)
        share(ctx, first, last)
        for i in range(first, last):
            if fixed[active[i]] == 3:
                fixed[active[i]] = 0


@native
def allocate(ctx: Context) -> None:
    """Rates of all flows under way."""
    active = ctx.active
    classes = ctx.classes
    fixed = ctx.fixed
    room = ctx.room
    capacity = ctx.capacity
    count = ctx.active_count
    for r in range(ctx.resources):
        room[r] = capacity[r]
    for i in range(count):
        fixed[active[i]] = 0
    hold_back(ctx, count)
    first = 0
    while first < count:
        last = first + 1
        while last < count and classes[active[last]] == classes[active[first]]:
            last += 1
        if last == first + 1:
            if fixed[active[first]] == 0:
                alone(ctx, active[first])
        elif ctx.ordered == 1:
            share_in_order(ctx, first, last)
        else:
            share(ctx, first, last)
        first = last
