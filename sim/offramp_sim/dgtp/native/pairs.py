# SPDX-License-Identifier: Apache-2.0
"""Equal shares: all flows from one machine to another run at one rate, so a pair of machines has a single clock.

A flow ends when its pair has served each of its flows up to the flow's mark. A change of a machine's degrees touches
its row and its column of pairs only, and a tournament over all pairs says which ends first.
"""

from __future__ import annotations

from offramp_p4.native.subset import Doubles, Words, native
from offramp_sim.dgtp.native.layout import (
    AT,
    CLOSE,
    DIRTY,
    DIRTY_USED,
    EGRESS,
    ENTERING,
    FIRST,
    HEAD,
    INGRESS,
    IS_DIRTY,
    LEAVES,
    LEAVING,
    MACHINES,
    MARK,
    NEVER,
    NEXT,
    NOW,
    PEAK_IN,
    PEAK_OUT,
    RATE,
    SERVED,
    SINCE,
    SOURCE,
    TARGET,
    TREE,
)


@native
def set_end(ctx: Words, pair: int, time: float) -> None:
    """When the next flow of a pair ends."""
    tree = Doubles(ctx[TREE])
    node = ctx[LEAVES] + pair
    tree[node] = time
    while node > 1:
        node = node >> 1
        sooner = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == sooner:
            return
        tree[node] = sooner


@native
def first_pair(ctx: Words) -> int:
    """The pair of which a flow ends first."""
    tree = Doubles(ctx[TREE])
    node = 1
    while node < ctx[LEAVES]:
        node = 2 * node
        if tree[node + 1] < tree[node]:
            node += 1
    return node - ctx[LEAVES]


@native
def advance(ctx: Words, pair: int) -> None:
    """Bring a pair's clock to now."""
    now = Doubles(ctx[NOW])[0]
    served = Doubles(ctx[SERVED])
    since = Doubles(ctx[SINCE])
    served[pair] = served[pair] + Doubles(ctx[RATE])[pair] * (now - since[pair])
    since[pair] = now


@native
def mark_dirty(ctx: Words, line: int) -> None:
    """The rates of a row of pairs (a sender) or of a column (a receiver, after the senders) may change."""
    flags = Words(ctx[IS_DIRTY])
    if flags[line] == 0:
        flags[line] = 1
        Words(ctx[DIRTY])[ctx[DIRTY_USED]] = line
        ctx[DIRTY_USED] += 1


@native
def add_flow(ctx: Words, edge: int, size: float) -> None:
    """A flow is under way."""
    source = Words(ctx[AT])[Words(ctx[SOURCE])[edge]]
    target = Words(ctx[AT])[Words(ctx[TARGET])[edge]]
    pair = source * ctx[MACHINES] + target
    head = Words(ctx[HEAD])
    first = Doubles(ctx[FIRST])
    served = Doubles(ctx[SERVED])
    advance(ctx, pair)
    if head[pair] < 0:
        served[pair] = 0.0
        first[pair] = NEVER
    mark = served[pair] + size
    Doubles(ctx[MARK])[edge] = mark
    Words(ctx[NEXT])[edge] = head[pair]
    head[pair] = edge
    first[pair] = min(first[pair], mark)
    Doubles(ctx[RATE])[pair] = 0.0
    entering = Words(ctx[ENTERING])
    leaving = Words(ctx[LEAVING])
    entering[target] += 1
    leaving[source] += 1
    Words(ctx[PEAK_IN])[target] = max(Words(ctx[PEAK_IN])[target], entering[target])
    Words(ctx[PEAK_OUT])[source] = max(Words(ctx[PEAK_OUT])[source], leaving[source])
    mark_dirty(ctx, source)
    mark_dirty(ctx, ctx[MACHINES] + target)


@native
def take_ended(ctx: Words, pair: int) -> int:
    """Remove the flows of a pair that end now; they come back as a list along ``NEXT``."""
    links = Words(ctx[NEXT])
    marks = Doubles(ctx[MARK])
    first = Doubles(ctx[FIRST])
    machines = ctx[MACHINES]
    reached = first[pair]
    Doubles(ctx[SERVED])[pair] = reached
    Doubles(ctx[SINCE])[pair] = Doubles(ctx[NOW])[0]
    Doubles(ctx[RATE])[pair] = 0.0
    ended = -1
    kept = -1
    nearest = NEVER
    edge = Words(ctx[HEAD])[pair]
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
    Words(ctx[HEAD])[pair] = kept
    first[pair] = nearest
    set_end(ctx, pair, NEVER)
    Words(ctx[LEAVING])[pair // machines] -= count
    Words(ctx[ENTERING])[pair % machines] -= count
    mark_dirty(ctx, pair // machines)
    mark_dirty(ctx, machines + pair % machines)
    return ended


@native
def share(ctx: Words, pair: int) -> None:
    """The rate of a pair's flows, and when the next of them ends."""
    if Words(ctx[HEAD])[pair] < 0:
        return
    machines = ctx[MACHINES]
    source = pair // machines
    target = pair % machines
    rate = min(
        Doubles(ctx[INGRESS])[target] / float(Words(ctx[ENTERING])[target]),
        Doubles(ctx[EGRESS])[source] / float(Words(ctx[LEAVING])[source]),
    )
    if rate == Doubles(ctx[RATE])[pair]:
        return
    advance(ctx, pair)
    Doubles(ctx[RATE])[pair] = rate
    left = max(0.0, Doubles(ctx[FIRST])[pair] - Doubles(ctx[SERVED])[pair])
    set_end(ctx, pair, Doubles(ctx[NOW])[0] + left / rate)


@native
def settle(ctx: Words) -> None:
    """Rates after degrees have changed."""
    machines = ctx[MACHINES]
    lines = Words(ctx[DIRTY])
    for i in range(ctx[DIRTY_USED]):
        line = lines[i]
        Words(ctx[IS_DIRTY])[line] = 0
        for other in range(machines):
            if line < machines:
                share(ctx, line * machines + other)
            else:
                share(ctx, other * machines + line - machines)
    ctx[DIRTY_USED] = 0
