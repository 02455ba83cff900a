# SPDX-License-Identifier: Apache-2.0
"""The policies that online execution is compared with; the same arithmetic as :mod:`offramp_sim.dgtp.policies`."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.dgtp.native.layout import (
    NEVER,
    PlacementRunState,
)
from offramp_sim.dgtp.native.listed import HERMOD, MRTF_EXCLUSIVE, MRTF_SHORTEST, OMCOFLOW, sort, source_of, target_of

FIFO = 1
MAXMIN = 6


@native
def give_rates(ctx: PlacementRunState) -> None:
    """A rate for each flow of the list."""
    sort(ctx)
    for m in range(ctx.machines):
        ctx.free_in[m] = ctx.ingress[m]
        ctx.free_out[m] = ctx.egress[m]
        ctx.count_in[m] = 0
        ctx.count_out[m] = 0
    if ctx.policy == FIFO:
        oldest_only(ctx)
    elif ctx.policy == OMCOFLOW:
        in_proportion(ctx)
    elif ctx.policy == MAXMIN:
        fill(ctx)
    elif ctx.policy == HERMOD:
        by_class(ctx)
    else:
        greedy(ctx)


@native
def oldest_only(ctx: PlacementRunState) -> None:
    """Each sender serves its oldest flow; receivers share equally."""
    flows = ctx.list
    speed = ctx.speed
    for i in range(ctx.flows):
        edge = flows[i]
        source = source_of(ctx, edge)
        speed[edge] = 0.0
        if ctx.count_out[source] == 0:
            ctx.count_out[source] = 1
            ctx.count_in[target_of(ctx, edge)] += 1
            speed[edge] = ctx.egress[source]
    for i in range(ctx.flows):
        edge = flows[i]
        if speed[edge] > 0.0:
            target = target_of(ctx, edge)
            speed[edge] = min(speed[edge], ctx.ingress[target] / float(ctx.count_in[target]))


@native
def greedy(ctx: PlacementRunState) -> None:
    """Rates in order: each flow takes the rest; exclusively: all of both cards; the shortest: even if it waits."""
    free_in = ctx.free_in
    free_out = ctx.free_out
    for i in range(ctx.flows):
        edge = ctx.list[i]
        source = source_of(ctx, edge)
        target = target_of(ctx, edge)
        rate = min(free_out[source], free_in[target])
        ctx.speed[edge] = rate
        if ctx.policy == MRTF_SHORTEST:
            free_out[source] = 0.0
            free_in[target] = 0.0
        elif rate > 0.0:
            if ctx.policy == MRTF_EXCLUSIVE:
                free_out[source] = 0.0
                free_in[target] = 0.0
            else:
                free_out[source] = free_out[source] - rate
                free_in[target] = free_in[target] - rate


@native
def group_end(ctx: PlacementRunState, begin: int) -> int:
    """The end of the flows in the list that share a key with the one at ``begin``; counts them by machine."""
    flows = ctx.list
    keys = ctx.key
    end = begin
    while end < ctx.flows and keys[flows[end]] == keys[flows[begin]]:
        ctx.count_out[source_of(ctx, flows[end])] += 1
        ctx.count_in[target_of(ctx, flows[end])] += 1
        end += 1
    return end


@native
def forget_counts(ctx: PlacementRunState, begin: int, end: int) -> None:
    """Undo the counts of :func:`group_end`."""
    for i in range(begin, end):
        edge = ctx.list[i]
        ctx.count_out[source_of(ctx, edge)] = 0
        ctx.count_in[target_of(ctx, edge)] = 0


@native
def in_proportion(ctx: PlacementRunState) -> None:
    """Share in proportion to 1 / finish time as if the coflow were alone, normalised at each network card."""
    flows = ctx.list
    speed = ctx.speed
    into = ctx.free_in
    out_of = ctx.free_out
    for m in range(ctx.machines):
        into[m] = 0.0
        out_of[m] = 0.0
    begin = 0
    while begin < ctx.flows:
        end = group_end(ctx, begin)
        for i in range(begin, end):
            edge = flows[i]
            source = source_of(ctx, edge)
            target = target_of(ctx, edge)
            alone = min(
                ctx.ingress[target] / float(ctx.count_in[target]),
                ctx.egress[source] / float(ctx.count_out[source]),
            )
            weight = alone / ctx.left[edge]
            speed[edge] = weight
            into[target] = into[target] + weight
            out_of[source] = out_of[source] + weight
        forget_counts(ctx, begin, end)
        begin = end
    for i in range(ctx.flows):
        edge = flows[i]
        source = source_of(ctx, edge)
        target = target_of(ctx, edge)
        speed[edge] = min(
            ctx.ingress[target] * speed[edge] / into[target],
            ctx.egress[source] * speed[edge] / out_of[source],
        )


@native
def by_class(ctx: PlacementRunState) -> None:
    """Class after class, equal shares of the remaining capacity."""
    flows = ctx.list
    free_in = ctx.free_in
    free_out = ctx.free_out
    speed = ctx.speed
    begin = 0
    while begin < ctx.flows:
        end = group_end(ctx, begin)
        for i in range(begin, end):
            source = source_of(ctx, flows[i])
            target = target_of(ctx, flows[i])
            speed[flows[i]] = min(
                free_in[target] / float(ctx.count_in[target]),
                free_out[source] / float(ctx.count_out[source]),
            )
        for i in range(begin, end):
            source = source_of(ctx, flows[i])
            target = target_of(ctx, flows[i])
            free_in[target] = max(free_in[target] - speed[flows[i]], 0.0)
            free_out[source] = max(free_out[source] - speed[flows[i]], 0.0)
        forget_counts(ctx, begin, end)
        begin = end


@native
def fill(ctx: PlacementRunState) -> None:
    """Water-filling: the tightest network card shares equally among its flows, then the next."""
    flows = ctx.list
    speed = ctx.speed
    free_in = ctx.free_in
    free_out = ctx.free_out
    counts_in = ctx.count_in
    counts_out = ctx.count_out
    for i in range(ctx.flows):
        speed[flows[i]] = -1.0
        counts_out[source_of(ctx, flows[i])] += 1
        counts_in[target_of(ctx, flows[i])] += 1
    left = ctx.flows
    while left > 0:
        level = NEVER
        tight = 0
        for m in range(2 * ctx.machines):
            machine = m % ctx.machines
            count = counts_in[machine] if m < ctx.machines else counts_out[machine]
            if count > 0:
                free = free_in[machine] if m < ctx.machines else free_out[machine]
                if free / float(count) < level:
                    level = free / float(count)
                    tight = m
        for i in range(ctx.flows):
            edge = flows[i]
            source = source_of(ctx, edge)
            target = target_of(ctx, edge)
            if speed[edge] < 0.0 and (target == tight or ctx.machines + source == tight):
                speed[edge] = level
                left -= 1
                free_in[target] = max(free_in[target] - level, 0.0)
                free_out[source] = max(free_out[source] - level, 0.0)
                counts_in[target] -= 1
                counts_out[source] -= 1
