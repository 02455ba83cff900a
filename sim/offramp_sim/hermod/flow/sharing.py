# SPDX-License-Identifier: Apache-2.0
"""Rates of the members, flows of one class: weighted max-min fair shares of what earlier classes leave."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.hermod.flow.layout import ASIDE, FIXED, FREE, NARROWED, FlowRunState
from offramp_sim.hermod.flow.links import NOTHING

EXACT: Final = 1.000000001
"""Relative difference below which levels count as equal."""
MUCH: Final = 1e300


@native
def take(ctx: FlowRunState, flow: int, rate: float) -> None:
    """Give a flow its rate and take it off its resources."""
    row = ctx.use_row
    load = ctx.load
    use = ctx.use
    amount = ctx.amount
    room = ctx.room
    capacity = ctx.capacity
    rates = ctx.rate
    rates[flow] = rate
    for k in range(row[load[flow]], row[load[flow] + 1]):
        left = room[use[k]] - rate * amount[k]
        room[use[k]] = left if left > NOTHING * capacity[use[k]] else 0.0


@native
def alone(ctx: FlowRunState, flow: int) -> None:
    """Rate of a flow that gets all that its resources have left."""
    row = ctx.use_row
    load = ctx.load
    use = ctx.use
    amount = ctx.amount
    room = ctx.room
    rate = MUCH
    for k in range(row[load[flow]], row[load[flow] + 1]):
        rate = min(rate, room[use[k]] / amount[k])
    take(ctx, flow, rate)


@native
def gather(ctx: FlowRunState) -> None:
    """Sum up what the members without a rate need of each resource."""
    members = ctx.members
    row = ctx.use_row
    load = ctx.load
    use = ctx.use
    amount = ctx.amount
    weight = ctx.weight
    demand = ctx.demand
    lowest = ctx.lowest
    fixed = ctx.fixed
    for i in range(ctx.member_count):
        flow = members[i]
        if fixed[flow] == FREE:
            for k in range(row[load[flow]], row[load[flow] + 1]):
                demand[use[k]] = 0.0
                lowest[use[k]] = MUCH
    for i in range(ctx.member_count):
        flow = members[i]
        if fixed[flow] == FREE:
            for k in range(row[load[flow]], row[load[flow] + 1]):
                demand[use[k]] = demand[use[k]] + weight[load[flow]] * amount[k]


@native
def find_levels(ctx: FlowRunState) -> None:
    """The fair share that the narrowest resource of each flow allows, and the lowest of them on each resource."""
    members = ctx.members
    row = ctx.use_row
    load = ctx.load
    use = ctx.use
    room = ctx.room
    demand = ctx.demand
    lowest = ctx.lowest
    level = ctx.level
    fixed = ctx.fixed
    for i in range(ctx.member_count):
        flow = members[i]
        if fixed[flow] == FREE:
            least = MUCH
            for k in range(row[load[flow]], row[load[flow] + 1]):
                least = min(least, room[use[k]] / demand[use[k]])
            level[flow] = least
            for k in range(row[load[flow]], row[load[flow] + 1]):
                lowest[use[k]] = min(lowest[use[k]], least)


@native
def narrowed(ctx: FlowRunState, flow: int) -> bool:
    """Whether one of a flow's resources is the narrowest of all flows on it."""
    row = ctx.use_row
    load = ctx.load
    use = ctx.use
    room = ctx.room
    demand = ctx.demand
    lowest = ctx.lowest
    level = ctx.level
    for k in range(row[load[flow]], row[load[flow] + 1]):
        here = room[use[k]] / demand[use[k]]
        if here <= level[flow] * EXACT and lowest[use[k]] * EXACT >= here:
            return True
    return False


@native
def share(ctx: FlowRunState) -> None:
    """Max-min fairness among the members; a round fixes all flows that :func:`narrowed` holds for."""
    members = ctx.members
    load = ctx.load
    weight = ctx.weight
    level = ctx.level
    fixed = ctx.fixed
    without = 0
    for i in range(ctx.member_count):
        if fixed[members[i]] == FREE:
            without += 1
    while without > 0:
        gather(ctx)
        find_levels(ctx)
        for i in range(ctx.member_count):
            if fixed[members[i]] == FREE and narrowed(ctx, members[i]):
                fixed[members[i]] = NARROWED
        for i in range(ctx.member_count):
            flow = members[i]
            if fixed[flow] == NARROWED:
                fixed[flow] = FIXED
                take(ctx, flow, weight[load[flow]] * level[flow])
                without -= 1


@native
def put_off(ctx: FlowRunState) -> int:
    """Set aside the members that are not first at one of their senders; returns their number."""
    members = ctx.members
    row = ctx.use_row
    load = ctx.load
    use = ctx.use
    host = ctx.host
    top = ctx.top
    fixed = ctx.fixed
    for i in range(ctx.member_count):
        flow = members[i]
        if fixed[flow] == FREE:
            for k in range(row[load[flow]], row[load[flow] + 1]):
                if use[k] < ctx.ports:
                    top[use[k]] = host[flow]
    for i in range(ctx.member_count):
        flow = members[i]
        if fixed[flow] == FREE:
            for k in range(row[load[flow]], row[load[flow] + 1]):
                if use[k] < ctx.ports:
                    top[use[k]] = min(top[use[k]], host[flow])
    aside = 0
    for i in range(ctx.member_count):
        flow = members[i]
        if fixed[flow] == FREE:
            for k in range(row[load[flow]], row[load[flow] + 1]):
                if fixed[flow] == FREE and use[k] < ctx.ports and top[use[k]] < host[flow]:
                    fixed[flow] = ASIDE
                    aside += 1
    return aside


@native
def share_in_order(ctx: FlowRunState) -> None:
    """Share within a class whose senders know a finer order: first flows of senders share, the next get the rest."""
    members = ctx.members
    fixed = ctx.fixed
    aside = 1
    while aside > 0:
        aside = put_off(ctx)
        share(ctx)
        for i in range(ctx.member_count):
            if fixed[members[i]] == ASIDE:
                fixed[members[i]] = FREE
