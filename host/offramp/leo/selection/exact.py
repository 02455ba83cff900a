# SPDX-License-Identifier: Apache-2.0
"""The best of all sequences of k choices, by enumeration with a bound (specification section 2), in machine code.

Written in the part of Python that :mod:`offramp_base.native` compiles. Queues follow equations 6.1 and 6.2; a request
is charged the backlog in front of it, before its own work.
"""

from __future__ import annotations

from offramp.leo.selection.layout import (
    NONE,
    SelectorState,
)
from offramp_base.native.subset import Words, native

_ENDLESS = 0x3FFFFFFFFFFFFFFF


@native
def _shortest(memory: SelectorState, kind: int) -> int:
    """The least time that a request of this type can take."""
    base = memory.base
    allowed = memory.allowed[kind]
    least = _ENDLESS
    for path in range(memory.paths):
        if (allowed >> path) & 1:
            least = min(least, base[kind * memory.paths + path])
    return least


@native
def _step(memory: SelectorState, pair: int, gap: int, before: Words, after: Words) -> int:
    """The cost of a request on a path; writes the backlogs that the next one meets to ``after``."""
    first = memory.first
    resources = memory.resource
    loads = memory.load
    slack = memory.slack
    cost = memory.base[pair]
    for r in range(memory.resources):
        after[r] = before[r]
    for i in range(first[pair], first[pair + 1]):
        at = resources[i]
        cost += max(before[at] - slack[i], 0)
        after[at] = after[at] + loads[i]
    for r in range(memory.resources):
        after[r] = max(after[r] - gap, 0)
    return cost


@native
def search(
    memory: SelectorState, kinds: Words, gaps: Words, backlog: Words, steps: int, scratch: Words, choice: Words
) -> int:
    """The least sum of JCTs of ``steps`` requests; ``choice`` becomes the lexicographically first optimal sequence.

    Args:
        memory: memory of a selector, for its table.
        kinds: type of each request.
        gaps: time from each request to the next, ps.
        backlog: backlog of each resource when the first request arrives, ps.
        steps: number of requests, at least 1.
        scratch: buffer of ``(steps + 1) * (resources + 3)`` words.
        choice: output, ``steps`` words.
    """
    resources = memory.resources
    paths = memory.paths
    allowed = memory.allowed
    trying = scratch
    spent = scratch + (steps + 1)
    rest = scratch + 2 * (steps + 1)
    queues = scratch + 3 * (steps + 1)
    rest[steps] = 0
    for back in range(steps):
        t = steps - 1 - back
        rest[t] = rest[t + 1] + _shortest(memory, kinds[t])
    for r in range(resources):
        queues[r] = backlog[r]
    best = _ENDLESS
    spent[0] = 0
    trying[0] = NONE
    t = 0
    while t >= 0:
        path = trying[t] + 1
        while path < paths and (allowed[kinds[t]] >> path) & 1 == 0:
            path += 1
        trying[t] = path
        if path >= paths:
            t -= 1
            continue
        pair = kinds[t] * paths + path
        spent[t + 1] = spent[t] + _step(memory, pair, gaps[t], queues + t * resources, queues + (t + 1) * resources)
        if spent[t + 1] + rest[t + 1] >= best:
            continue
        if t + 1 == steps:
            best = spent[steps]
            for i in range(steps):
                choice[i] = trying[i]
            continue
        t += 1
        trying[t] = NONE
    return best
