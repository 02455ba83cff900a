# SPDX-License-Identifier: Apache-2.0
"""What finished requests teach of a path: its own T, what a unit of work takes, how long the network keeps answers.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from offramp.leo.selection.layout import (
    AWAY,
    BASE,
    DEALT,
    E2E,
    ENDLESS,
    EXCESS,
    EXPECTED,
    INTRA,
    KHAT,
    LAST,
    LATE,
    LIMIT,
    LOW_LAST,
    LOW_NOW,
    LOW_SEEN,
    MAIN,
    MARK_SENT,
    MARK_TIME,
    MARK_WAIT,
    NETWORK,
    NEWEST,
    NONE,
    OFFSET,
    OLDEST,
    PATHS,
    ROW_NEWER,
    ROW_OLDER,
    ROW_PATH,
    ROW_SENT,
    ROW_TIME,
    ROW_WAIT,
    SAMPLES,
    SCALE,
    SPENT,
    TOLL,
    UNIT,
    WAITED,
    row_of,
)
from offramp_base.native.subset import Words, native

OFFSET_SHIFT = 6  # what one request adds to it
AWAY_SHIFT = 10
EXCESS_SHIFT = 9
PRIOR = 16  # requests
SPELL = 256
MEMORY = 512  # requests of busy spells that are remembered
LEAST = UNIT // 16
MOST = UNIT * 64


@native
def join(memory: Words, row: int, path: int) -> None:
    """A request is the newest of its path."""
    newest = memory + memory[NEWEST]
    row_of(memory, row)[ROW_OLDER] = newest[path]
    row_of(memory, row)[ROW_NEWER] = NONE
    if newest[path] == NONE:
        (memory + memory[OLDEST])[path] = row
    else:
        row_of(memory, newest[path])[ROW_NEWER] = row
    newest[path] = row


@native
def part(memory: Words, row: int, path: int) -> None:
    """A request leaves the list of its path."""
    if row_of(memory, row)[ROW_OLDER] == NONE:
        (memory + memory[OLDEST])[path] = row_of(memory, row)[ROW_NEWER]
    else:
        row_of(memory, row_of(memory, row)[ROW_OLDER])[ROW_NEWER] = row_of(memory, row)[ROW_NEWER]
    if row_of(memory, row)[ROW_NEWER] == NONE:
        (memory + memory[NEWEST])[path] = row_of(memory, row)[ROW_OLDER]
    else:
        row_of(memory, row_of(memory, row)[ROW_NEWER])[ROW_OLDER] = row_of(memory, row)[ROW_OLDER]


@native
def _shifted(value: int, by: int) -> int:
    """A signed value over a power of two, towards 0."""
    return -((-value) >> by) if value < 0 else value >> by


@native
def _weigh(memory: Words, resource: int, load: int) -> None:
    """The table counts for as much as a few requests."""
    dealt = memory + memory[DEALT]
    if dealt[resource] == 0:
        dealt[resource] = PRIOR * load
        (memory + memory[SPENT])[resource] = PRIOR * load


@native
def _set_scale(memory: Words, resource: int) -> None:
    ratio = float((memory + memory[SPENT])[resource]) / float((memory + memory[DEALT])[resource])
    found = max(int(ratio * float(UNIT)), LEAST)
    (memory + memory[SCALE])[resource] = min(found, MOST)


@native
def _lower_scale(memory: Words, resource: int, expected: int, waited: int, load: int) -> None:
    """Waits that fall short of those expected, over many requests, tell of a resource that is faster."""
    sums = memory + memory[EXPECTED]
    waits = memory + memory[WAITED]
    samples = memory + memory[SAMPLES]
    sums[resource] = sums[resource] + expected
    waits[resource] = waits[resource] + max(waited, 0)
    samples[resource] = samples[resource] + 1
    if samples[resource] < SPELL:
        return
    if 2 * waits[resource] < sums[resource] and sums[resource] > SPELL // 4 * load:
        _weigh(memory, resource, load)
        spent = memory + memory[SPENT]
        spent[resource] = spent[resource] - (spent[resource] >> 4)
        _set_scale(memory, resource)
    sums[resource] = 0
    waits[resource] = 0
    samples[resource] = 0


@native
def _learn_scale(memory: Words, row: int, resource: int, waited: int, load: int) -> None:
    """Between two requests of one busy spell, waits grow by the work in between less the time."""
    times = memory + memory[MARK_TIME]
    sents = memory + memory[MARK_SENT]
    waits = memory + memory[MARK_WAIT]
    spent = memory + memory[SPENT]
    dealt = memory + memory[DEALT]
    time = row_of(memory, row)[ROW_TIME]
    sent = row_of(memory, row)[ROW_SENT]
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
def _least(memory: Words, path: int, beyond: int) -> int:
    """The least time beyond T of the last requests, in which no wait can hide: waits only add to T."""
    now = memory + memory[LOW_NOW]
    last = memory + memory[LOW_LAST]
    seen = memory + memory[LOW_SEEN]
    now[path] = min(now[path], beyond)
    least = min(now[path], last[path])
    seen[path] = seen[path] + 1
    if seen[path] == SPELL:
        last[path] = now[path]
        now[path] = ENDLESS
        seen[path] = 0
    return least


@native
def learn(memory: Words, row: int, pair: int, jct: int, e2e: int) -> None:
    """The times of a finished request."""
    path = row_of(memory, row)[ROW_PATH]
    base = (memory + memory[BASE])[pair]
    khat = memory + memory[KHAT]
    offset = memory + memory[OFFSET]
    away = memory + memory[AWAY]
    (memory + memory[INTRA])[path] = jct
    (memory + memory[E2E])[path] = e2e
    memory[LAST] = path
    memory[LATE] = e2e - base - memory[NETWORK]
    khat[path] = khat[path] + 1 if jct > (memory + memory[LIMIT])[pair] else 0
    away[path] = max(e2e - jct, away[path] - (away[path] >> AWAY_SHIFT))
    load = (memory + memory[TOLL])[pair]
    offset[path] = min(offset[path], _least(memory, path, jct - base) + load)
    beyond = jct - base - offset[path]
    main = (memory + memory[MAIN])[pair]
    expected = row_of(memory, row)[ROW_WAIT]
    _learn_scale(memory, row, main, beyond, load)
    _lower_scale(memory, main, expected, beyond, load)
    excess = memory + memory[EXCESS]
    for other in range(memory[PATHS]):
        excess[other] = excess[other] - (excess[other] >> EXCESS_SHIFT)
    more = excess[path] + _shifted(beyond - expected - excess[path], OFFSET_SHIFT)
    excess[path] = max(more, 0)
    if expected == 0:
        offset[path] = offset[path] + _shifted(beyond, OFFSET_SHIFT)
