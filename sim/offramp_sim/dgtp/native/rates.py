# SPDX-License-Identifier: Apache-2.0
"""The policies that online execution is compared with; the same arithmetic as :mod:`offramp_sim.dgtp.policies`."""

from __future__ import annotations

from offramp_p4.native.subset import Doubles, Words, native
from offramp_sim.dgtp.native.layout import (
    COUNT_IN,
    COUNT_OUT,
    EGRESS,
    FLOWS,
    FREE_IN,
    FREE_OUT,
    INGRESS,
    KEY,
    LEFT,
    LIST,
    MACHINES,
    NEVER,
    POLICY,
    SPEED,
)
from offramp_sim.dgtp.native.listed import HERMOD, MRTF_EXCLUSIVE, OMCOFLOW, sort, source_of, target_of

FIFO = 1
MAXMIN = 6


@native
def give_rates(ctx: Words) -> None:
    """A rate for each flow of the list."""
    sort(ctx)
    for m in range(ctx[MACHINES]):
        Doubles(ctx[FREE_IN])[m] = Doubles(ctx[INGRESS])[m]
        Doubles(ctx[FREE_OUT])[m] = Doubles(ctx[EGRESS])[m]
        Words(ctx[COUNT_IN])[m] = 0
        Words(ctx[COUNT_OUT])[m] = 0
    if ctx[POLICY] == FIFO:
        oldest_only(ctx)
    elif ctx[POLICY] == OMCOFLOW:
        in_proportion(ctx)
    elif ctx[POLICY] == MAXMIN:
        fill(ctx)
    elif ctx[POLICY] == HERMOD:
        by_class(ctx)
    else:
        greedy(ctx)


@native
def oldest_only(ctx: Words) -> None:
    """Each sender serves its oldest flow; receivers share equally."""
    flows = Words(ctx[LIST])
    speed = Doubles(ctx[SPEED])
    for i in range(ctx[FLOWS]):
        edge = flows[i]
        source = source_of(ctx, edge)
        speed[edge] = 0.0
        if Words(ctx[COUNT_OUT])[source] == 0:
            Words(ctx[COUNT_OUT])[source] = 1
            Words(ctx[COUNT_IN])[target_of(ctx, edge)] += 1
            speed[edge] = Doubles(ctx[EGRESS])[source]
    for i in range(ctx[FLOWS]):
        edge = flows[i]
        if speed[edge] > 0.0:
            target = target_of(ctx, edge)
            speed[edge] = min(speed[edge], Doubles(ctx[INGRESS])[target] / float(Words(ctx[COUNT_IN])[target]))


@native
def greedy(ctx: Words) -> None:
    """In order, each takes what is left; exclusively: all of both network cards."""
    free_in = Doubles(ctx[FREE_IN])
    free_out = Doubles(ctx[FREE_OUT])
    for i in range(ctx[FLOWS]):
        edge = Words(ctx[LIST])[i]
        source = source_of(ctx, edge)
        target = target_of(ctx, edge)
        rate = min(free_out[source], free_in[target])
        Doubles(ctx[SPEED])[edge] = rate
        if rate > 0.0:
            if ctx[POLICY] == MRTF_EXCLUSIVE:
                free_out[source] = 0.0
                free_in[target] = 0.0
            else:
                free_out[source] = free_out[source] - rate
                free_in[target] = free_in[target] - rate


@native
def group_end(ctx: Words, begin: int) -> int:
    """Where the flows of the list that share a key with that at ``begin`` end; counts them by machine."""
    flows = Words(ctx[LIST])
    keys = Doubles(ctx[KEY])
    end = begin
    while end < ctx[FLOWS] and keys[flows[end]] == keys[flows[begin]]:
        Words(ctx[COUNT_OUT])[source_of(ctx, flows[end])] += 1
        Words(ctx[COUNT_IN])[target_of(ctx, flows[end])] += 1
        end += 1
    return end


@native
def forget_counts(ctx: Words, begin: int, end: int) -> None:
    """Take back what :func:`group_end` has counted."""
    for i in range(begin, end):
        edge = Words(ctx[LIST])[i]
        Words(ctx[COUNT_OUT])[source_of(ctx, edge)] = 0
        Words(ctx[COUNT_IN])[target_of(ctx, edge)] = 0


@native
def in_proportion(ctx: Words) -> None:
    """In proportion to 1 / finish time as if the coflow were alone, normalised at each network card."""
    flows = Words(ctx[LIST])
    speed = Doubles(ctx[SPEED])
    into = Doubles(ctx[FREE_IN])
    out_of = Doubles(ctx[FREE_OUT])
    for m in range(ctx[MACHINES]):
        into[m] = 0.0
        out_of[m] = 0.0
    begin = 0
    while begin < ctx[FLOWS]:
        end = group_end(ctx, begin)
        for i in range(begin, end):
            edge = flows[i]
            source = source_of(ctx, edge)
            target = target_of(ctx, edge)
            alone = min(
                Doubles(ctx[INGRESS])[target] / float(Words(ctx[COUNT_IN])[target]),
                Doubles(ctx[EGRESS])[source] / float(Words(ctx[COUNT_OUT])[source]),
            )
            weight = alone / Doubles(ctx[LEFT])[edge]
            speed[edge] = weight
            into[target] = into[target] + weight
            out_of[source] = out_of[source] + weight
        forget_counts(ctx, begin, end)
        begin = end
    for i in range(ctx[FLOWS]):
        edge = flows[i]
        source = source_of(ctx, edge)
        target = target_of(ctx, edge)
        speed[edge] = min(
            Doubles(ctx[INGRESS])[target] * speed[edge] / into[target],
            Doubles(ctx[EGRESS])[source] * speed[edge] / out_of[source],
        )


@native
def by_class(ctx: Words) -> None:
    """Class after class, equal shares of what is left."""
    flows = Words(ctx[LIST])
    free_in = Doubles(ctx[FREE_IN])
    free_out = Doubles(ctx[FREE_OUT])
    speed = Doubles(ctx[SPEED])
    begin = 0
    while begin < ctx[FLOWS]:
        end = group_end(ctx, begin)
        for i in range(begin, end):
            source = source_of(ctx, flows[i])
            target = target_of(ctx, flows[i])
            speed[flows[i]] = min(
                free_in[target] / float(Words(ctx[COUNT_IN])[target]),
                free_out[source] / float(Words(ctx[COUNT_OUT])[source]),
            )
        for i in range(begin, end):
            source = source_of(ctx, flows[i])
            target = target_of(ctx, flows[i])
            free_in[target] = max(free_in[target] - speed[flows[i]], 0.0)
            free_out[source] = max(free_out[source] - speed[flows[i]], 0.0)
        forget_counts(ctx, begin, end)
        begin = end


@native
def fill(ctx: Words) -> None:
    """Water-filling: the tightest network card shares equally among its flows, then the next."""
    flows = Words(ctx[LIST])
    speed = Doubles(ctx[SPEED])
    free_in = Doubles(ctx[FREE_IN])
    free_out = Doubles(ctx[FREE_OUT])
    counts_in = Words(ctx[COUNT_IN])
    counts_out = Words(ctx[COUNT_OUT])
    for i in range(ctx[FLOWS]):
        speed[flows[i]] = -1.0
        counts_out[source_of(ctx, flows[i])] += 1
        counts_in[target_of(ctx, flows[i])] += 1
    left = ctx[FLOWS]
    while left > 0:
        level = NEVER
        tight = 0
        for m in range(2 * ctx[MACHINES]):
            machine = m % ctx[MACHINES]
            count = counts_in[machine] if m < ctx[MACHINES] else counts_out[machine]
            if count > 0:
                free = free_in[machine] if m < ctx[MACHINES] else free_out[machine]
                if free / float(count) < level:
                    level = free / float(count)
                    tight = m
        for i in range(ctx[FLOWS]):
            edge = flows[i]
            source = source_of(ctx, edge)
            target = target_of(ctx, edge)
            if speed[edge] < 0.0 and (target == tight or ctx[MACHINES] + source == tight):
                speed[edge] = level
                left -= 1
                free_in[target] = max(free_in[target] - level, 0.0)
                free_out[source] = max(free_out[source] - level, 0.0)
                counts_in[target] -= 1
                counts_out[source] -= 1
