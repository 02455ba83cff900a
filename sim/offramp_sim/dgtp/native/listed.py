# SPDX-License-Identifier: Apache-2.0
"""Policies that give each flow a rate of its own: the list of flows under way, in the order of service."""

from __future__ import annotations

from offramp_p4.native.subset import Doubles, Words, native
from offramp_sim.dgtp.native.layout import (
    ARRIVED,
    AT,
    EGRESS,
    FLOWS,
    INGRESS,
    ITERATIONS,
    KEY,
    LAG,
    LEFT,
    LIST,
    NOW,
    POLICY,
    RANK,
    SOURCE,
    TARGET,
)

MRTF = 3
MRTF_EXCLUSIVE = 4
OMCOFLOW = 5
HERMOD = 7


@native
def source_of(ctx: Words, edge: int) -> int:
    """The machine that an edge leaves."""
    return Words(ctx[AT])[Words(ctx[SOURCE])[edge]]


@native
def target_of(ctx: Words, edge: int) -> int:
    """The machine that an edge enters."""
    return Words(ctx[AT])[Words(ctx[TARGET])[edge]]


@native
def list_flow(ctx: Words, edge: int, n: int, size: float) -> None:
    """A flow is under way, last in the list until it is sorted."""
    Words(ctx[LIST])[ctx[FLOWS]] = edge
    ctx[FLOWS] += 1
    Doubles(ctx[LEFT])[edge] = size
    Doubles(ctx[ARRIVED])[edge] = Doubles(ctx[NOW])[0]
    consumed = n + Words(ctx[LAG])[edge]
    key = 0
    if ctx[POLICY] == OMCOFLOW:
        key = Words(ctx[TARGET])[edge] * (ctx[ITERATIONS] + 1) + consumed
    if ctx[POLICY] == HERMOD:
        key = consumed * (Words(ctx[RANK])[-1] + 1) + Words(ctx[RANK])[edge]
    Doubles(ctx[KEY])[edge] = float(key)


@native
def before(ctx: Words, edge: int, other: int) -> bool:
    """Whether a flow is served before another: by key, then by arrival, then by number."""
    keys = Doubles(ctx[KEY])
    arrived = Doubles(ctx[ARRIVED])
    if keys[edge] != keys[other]:
        return keys[edge] < keys[other]
    if arrived[edge] != arrived[other]:
        return arrived[edge] < arrived[other]
    return edge < other


@native
def sort(ctx: Words) -> None:
    """Put the list in order; it nearly is."""
    flows = Words(ctx[LIST])
    if ctx[POLICY] == MRTF or ctx[POLICY] == MRTF_EXCLUSIVE:
        for i in range(ctx[FLOWS]):
            edge = flows[i]
            alone = min(
                Doubles(ctx[EGRESS])[source_of(ctx, edge)],
                Doubles(ctx[INGRESS])[target_of(ctx, edge)],
            )
            Doubles(ctx[KEY])[edge] = Doubles(ctx[LEFT])[edge] / alone
    for i in range(1, ctx[FLOWS]):
        edge = flows[i]
        place = i
        while place > 0 and before(ctx, edge, flows[place - 1]):
            flows[place] = flows[place - 1]
            place -= 1
        flows[place] = edge
