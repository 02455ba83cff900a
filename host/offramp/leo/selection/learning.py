# SPDX-License-Identifier: Apache-2.0
"""What finished requests teach of a path: its own T, what a unit of work takes, how long the network keeps answers.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from offramp.leo.selection.layout import (
    ENDLESS,
    NONE,
    UNIT,
    SelectorState,
    row_of,
)
from offramp_base.native.subset import native

OFFSET_SHIFT = 6  # what one request adds to it
AWAY_SHIFT = 10
EXCESS_SHIFT = 9
PRIOR = 16  # requests
SPELL = 256
MEMORY = 512  # requests of busy spells that are remembered
LEAST = UNIT // 16
MOST = UNIT * 64


@native
def join(memory: SelectorState, row: int, path: int) -> None:
    """A request is the newest of its path."""
    newest = memory.newest
    row_of(memory, row).older = newest[path]
    row_of(memory, row).newer = NONE
    if newest[path] == NONE:
        memory.oldest[path] = row
    else:
        row_of(memory, newest[path]).newer = row
    newest[path] = row


@native
def part(memory: SelectorState, row: int, path: int) -> None:
    """A request leaves the list of its path."""
    if row_of(memory, row).older == NONE:
        memory.oldest[path] = row_of(memory, row).newer
    else:
        row_of(memory, row_of(memory, row).older).newer = row_of(memory, row).newer
    if row_of(memory, row).newer == NONE:
        memory.newest[path] = row_of(memory, row).older
    else:
        row_of(memory, row_of(memory, row).newer).older = row_of(memory, row).older


@native
def _shifted(value: int, by: int) -> int:
    """A signed value over a power of two, towards 0."""
    return -((-value) >> by) if value < 0 else value >> by


@native
def _weigh(memory: SelectorState, resource: int, load: int) -> None:
    """The table counts for as much as a few requests."""
    dealt = memory.dealt
    if dealt[resource] == 0:
        dealt[resource] = PRIOR * load
        memory.spent[resource] = PRIOR * load


@native
def _set_scale(memory: SelectorState, resource: int) -> None:
    ratio = float(memory.spent[resource]) / float(memory.dealt[resource])
    found = max(int(ratio * float(UNIT)), LEAST)
    memory.scale[resource] = min(found, MOST)


@native
def _lower_scale(memory: SelectorState, resource: int, expected: int, waited: int, load: int) -> None:
    """Waits that fall short of those expected, over many requests, tell of a resource that is faster."""
    sums = memory.expected
    waits = memory.waited
    samples = memory.samples
    sums[resource] = sums[resource] + expected
    waits[resource] = waits[resource] + max(waited, 0)
    samples[resource] = samples[resource] + 1
    if samples[resource] < SPELL:
        return
    if 2 * waits[resource] < sums[resource] and sums[resource] > SPELL // 4 * load:
        _weigh(memory, resource, load)
        spent = memory.spent
        spent[resource] = spent[resource] - (spent[resource] >> 4)
        _set_scale(memory, resource)
    sums[resource] = 0
    waits[resource] = 0
    samples[resource] = 0


@native
def _learn_scale(memory: SelectorState, row: int, resource: int, waited: int, load: int) -> None:
    """Between two requests of one busy spell, waits grow by the work in between less the time."""
    times = memory.mark_time
    sents = memory.mark_sent
    waits = memory.mark_wait
    spent = memory.spent
    dealt = memory.dealt
    time = row_of(memory, row).time
    sent = row_of(memory, row).sent
    passed = time - times[resource]
    if waits[resource] != NONE and passed < 0:
        return
    if waits[resource] != NONE and 2 * passed <= waits[resource] and sent > sents[resource]:
        _weigh(memory, resource, load)
        spent[resource] = spent[resource] + max(waited - waits[resource] + passed, 0)
        dealt[resource] = dealt[resource] + sent - sents[resource]
        if dealt[resource] > MEMORY * load:
            spent[resource] = spent[resource] >> 1
            dealt[resource] = dealt[resource] >> 1
        _set_scale(memory, resource)
    times[resource] = time
    sents[resource] = sent
    waits[resource] = waited if waited > 4 * load else NONE


@native
def _least(memory: SelectorState, path: int, beyond: int) -> int:
    """The least time beyond T of the last requests, in which no wait can hide: waits only add to T."""
    now = memory.low_now
    last = memory.low_last
    seen = memory.low_seen
    now[path] = min(now[path], beyond)
    least = min(now[path], last[path])
    seen[path] = seen[path] + 1
    if seen[path] == SPELL:
        last[path] = now[path]
        now[path] = ENDLESS
        seen[path] = 0
    return least


@native
def learn(memory: SelectorState, row: int, pair: int, jct: int, e2e: int) -> None:
    """The times of a finished request."""
    path = row_of(memory, row).path
    base = memory.base[pair]
    khat = memory.khat
    offset = memory.offset
    away = memory.away
    memory.intra[path] = jct
    memory.e2e[path] = e2e
    memory.last = path
    memory.late = e2e - base - memory.network
    khat[path] = khat[path] + 1 if jct > memory.limit[pair] else 0
    away[path] = max(e2e - jct, away[path] - (away[path] >> AWAY_SHIFT))
    load = memory.toll[pair]
    offset[path] = min(offset[path], _least(memory, path, jct - base) + load)
    beyond = jct - base - offset[path]
    main = memory.main[pair]
    expected = row_of(memory, row).wait
    _learn_scale(memory, row, main, beyond, load)
    _lower_scale(memory, main, expected, beyond, load)
    excess = memory.excess
    for other in range(memory.paths):
        excess[other] = excess[other] - (excess[other] >> EXCESS_SHIFT)
    more = excess[path] + _shifted(beyond - expected - excess[path], OFFSET_SHIFT)
    excess[path] = max(more, 0)
    if expected == 0:
        offset[path] = offset[path] + _shifted(beyond, OFFSET_SHIFT)
