# SPDX-License-Identifier: Apache-2.0
"""Policies that give each flow its own rate: the list of active flows, in order of service."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.dgtp.native.layout import (
    PlacementRunState,
)

MRTF = 3
MRTF_EXCLUSIVE = 4
OMCOFLOW = 5
HERMOD = 7
MRTF_SHORTEST = 8


@native
def source_of(ctx: PlacementRunState, edge: int) -> int:
    """The machine that an edge leaves."""
    return ctx.at[ctx.source[edge]]


@native
def target_of(ctx: PlacementRunState, edge: int) -> int:
    """The machine that an edge enters."""
    return ctx.at[ctx.target[edge]]


@native
def list_flow(ctx: PlacementRunState, edge: int, n: int, size: float) -> None:
    """Add an active flow, at the end of the list until it is sorted."""
    ctx.list[ctx.flows] = edge
    ctx.flows += 1
    ctx.left[edge] = size
    ctx.arrived[edge] = ctx.now[0]
    consumed = n + ctx.lag[edge]
    key = 0
    if ctx.policy == OMCOFLOW:
        key = ctx.target[edge] * (ctx.iterations + 1) + consumed
    if ctx.policy == HERMOD:
        key = consumed * (ctx.rank[-1] + 1) + ctx.rank[edge]
    ctx.key[edge] = float(key)


@native
def before(ctx: PlacementRunState, edge: int, other: int) -> bool:
    """Whether a flow is served before another: by key, then by arrival, then by number."""
    keys = ctx.key
    arrived = ctx.arrived
    if keys[edge] != keys[other]:
        return keys[edge] < keys[other]
    if arrived[edge] != arrived[other]:
        return arrived[edge] < arrived[other]
    return edge < other


@native
def sort(ctx: PlacementRunState) -> None:
    """Sort the list, which is nearly in order."""
    flows = ctx.list
    if ctx.policy == MRTF or ctx.policy == MRTF_EXCLUSIVE or ctx.policy == MRTF_SHORTEST:
        for i in range(ctx.flows):
            edge = flows[i]
            alone = min(
                ctx.egress[source_of(ctx, edge)],
                ctx.ingress[target_of(ctx, edge)],
            )
            ctx.key[edge] = ctx.left[edge] / alone
    for i in range(1, ctx.flows):
        edge = flows[i]
        place = i
        while place > 0 and before(ctx, edge, flows[place - 1]):
            flows[place] = flows[place - 1]
            place -= 1
        flows[place] = edge
