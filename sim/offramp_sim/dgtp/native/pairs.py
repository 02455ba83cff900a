# SPDX-License-Identifier: Apache-2.0
"""Equal shares: all flows from one machine to another run at one rate, so a pair of machines has a single clock.

A flow ends when its pair has served each of its flows up to the flow's mark. A change of a machine's degrees touches
its row and its column of pairs only, and a tournament over all pairs says which ends first.
"""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.dgtp.native.layout import (
    CLOSE,
    NEVER,
    PlacementRunState,
)


@native
def set_end(ctx: PlacementRunState, pair: int, time: float) -> None:
    """Update the time at which the next flow of a pair ends."""
    tree = ctx.tree
    node = ctx.leaves + pair
    tree[node] = time
    while node > 1:
        node = node >> 1
        sooner = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == sooner:
            return
        tree[node] = sooner


@native
def first_pair(ctx: PlacementRunState) -> int:
    """The pair whose flow ends first."""
    tree = ctx.tree
    node = 1
    while node < ctx.leaves:
        node = 2 * node
        if tree[node + 1] < tree[node]:
            node += 1
    return node - ctx.leaves


@native
def advance(ctx: PlacementRunState, pair: int) -> None:
    """Bring a pair's clock to now."""
    now = ctx.now[0]
    served = ctx.served
    since = ctx.since
    served[pair] = served[pair] + ctx.rate[pair] * (now - since[pair])
    since[pair] = now


@native
def mark_dirty(ctx: PlacementRunState, line: int) -> None:
    """The rates of a row of pairs (a sender) or of a column (a receiver, after the senders) may change."""
    flags = ctx.is_dirty
    if flags[line] == 0:
        flags[line] = 1
        ctx.dirty[ctx.dirty_used] = line
        ctx.dirty_used += 1


@native
def add_flow(ctx: PlacementRunState, edge: int, size: float) -> None:
    """Start a flow."""
    source = ctx.at[ctx.source[edge]]
    target = ctx.at[ctx.target[edge]]
    pair = source * ctx.machines + target
    head = ctx.head
    first = ctx.first
    served = ctx.served
    advance(ctx, pair)
    if head[pair] < 0:
        served[pair] = 0.0
        first[pair] = NEVER
    mark = served[pair] + size
    ctx.mark[edge] = mark
    ctx.next[edge] = head[pair]
    head[pair] = edge
    first[pair] = min(first[pair], mark)
    ctx.rate[pair] = 0.0
    entering = ctx.entering
    leaving = ctx.leaving
    entering[target] += 1
    leaving[source] += 1
    ctx.peak_in[target] = max(ctx.peak_in[target], entering[target])
    ctx.peak_out[source] = max(ctx.peak_out[source], leaving[source])
    mark_dirty(ctx, source)
    mark_dirty(ctx, ctx.machines + target)


@native
def take_ended(ctx: PlacementRunState, pair: int) -> int:
    """Remove the flows of a pair that end now; they come back as a list along ``NEXT``."""
    links = ctx.next
    marks = ctx.mark
    first = ctx.first
    machines = ctx.machines
    reached = first[pair]
    ctx.served[pair] = reached
    ctx.since[pair] = ctx.now[0]
    ctx.rate[pair] = 0.0
    ended = -1
    kept = -1
    nearest = NEVER
    edge = ctx.head[pair]
    count = 0
    while edge >= 0:
        after = links[edge]
        if marks[edge] <= reached * CLOSE:
            links[edge] = ended
            ended = edge
            count += 1
        else:
            links[edge] = kept
            kept = edge
            nearest = min(nearest, marks[edge])
        edge = after
    ctx.head[pair] = kept
    first[pair] = nearest
    set_end(ctx, pair, NEVER)
    ctx.leaving[pair // machines] -= count
    ctx.entering[pair % machines] -= count
    mark_dirty(ctx, pair // machines)
    mark_dirty(ctx, machines + pair % machines)
    return ended


@native
def share(ctx: PlacementRunState, pair: int) -> None:
    """The rate of a pair's flows, and when the next of them ends."""
    if ctx.head[pair] < 0:
        return
    machines = ctx.machines
    source = pair // machines
    target = pair % machines
    rate = min(
        ctx.ingress[target] / float(ctx.entering[target]),
        ctx.egress[source] / float(ctx.leaving[source]),
    )
    if rate == ctx.rate[pair]:
        return
    advance(ctx, pair)
    ctx.rate[pair] = rate
    left = max(0.0, ctx.first[pair] - ctx.served[pair])
    set_end(ctx, pair, ctx.now[0] + left / rate)


@native
def settle(ctx: PlacementRunState) -> None:
    """Rates after degrees have changed."""
    machines = ctx.machines
    lines = ctx.dirty
    for i in range(ctx.dirty_used):
        line = lines[i]
        ctx.is_dirty[line] = 0
        for other in range(machines):
            if line < machines:
                share(ctx, line * machines + other)
            else:
                share(ctx, other * machines + line - machines)
    ctx.dirty_used = 0
