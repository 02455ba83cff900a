# SPDX-License-Identifier: Apache-2.0
"""Learning from finished requests, path by path: T, the time of a unit of work, how long the network keeps answers.

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
from offramp.leo.selection.scores import scaled
from offramp_base.native.subset import native

# Shifts: a request moves an estimate by 2^-SHIFT of the error, or an estimate fades by so much with each request.
OFFSET_SHIFT = 6
AWAY_SHIFT = 10
EXCESS_SHIFT = 9
SURPLUS_SHIFT = 8
MISS_SHIFT = 8
PRIOR = 16  # requests whose weight the table's load has
SPELL = 256  # requests between two checks of a path or resource
SHORT_SPELL = 64
OVERTAKING_SHIFT = 5
OVERTAKING = 24  # of 1024: if more requests overtake others, waits do not show how fast a resource is
MEMORY = 512  # requests of busy spells that are remembered
LEAST = UNIT // 16  # bounds of a scale
MOST = UNIT * 64


@native
def join(memory: SelectorState, row: int, path: int) -> None:
    """Append a request to the list of its path, as the newest."""
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
    """Remove a request from the list of its path."""
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
    """A signed value divided by a power of two, rounded towards 0."""
    return -((-value) >> by) if value < 0 else value >> by


@native
def _weigh(memory: SelectorState, resource: int, load: int) -> None:
    """Give the table's load the weight of :data:`PRIOR` requests, before anything has been measured."""
    dealt = memory.dealt
    if dealt[resource] == 0:
        dealt[resource] = PRIOR * load
        memory.spent[resource] = PRIOR * load


@native
def _set_scale(memory: SelectorState, resource: int) -> None:
    ratio = float(memory.spent[resource]) / float(memory.dealt[resource])
    scale = max(int(ratio * float(UNIT)), LEAST)
    memory.scale[resource] = min(scale, MOST)


@native
def _lower_scale(memory: SelectorState, resource: int, expected: int, waited: int, load: int) -> None:
    """Lower the scale of a resource whose waits fall short of those expected over many requests: it is faster."""
    if memory.overtaking[resource] >= OVERTAKING:
        return
    sums = memory.expected
    waits = memory.waited
    samples = memory.samples
    sums[resource] = sums[resource] + expected
    waits[resource] = waits[resource] + max(waited, 0)
    samples[resource] = samples[resource] + 1
    if samples[resource] < SHORT_SPELL:
        return
    if 2 * waits[resource] < sums[resource] and sums[resource] > SHORT_SPELL // 4 * load:
        _weigh(memory, resource, load)
        spent = memory.spent
        spent[resource] = spent[resource] - (spent[resource] >> 2)
        _set_scale(memory, resource)
    sums[resource] = 0
    waits[resource] = 0
    samples[resource] = 0


@native
def _overtakes(memory: SelectorState, resource: int, later: int, grown: int) -> bool:
    """Whether requests overtake each other before a resource; the learned scale is discarded then.

    ``later`` is the work between two requests and ``grown`` the time from the end of one to that of the other, both
    below 0 where the second was sent first. In a queue, a request that arrives later ends later. Behind a network, or
    with servers of different speeds, that does not hold, and the time between two ends is not that of the work in
    between.
    """
    overtaking = memory.overtaking
    before = overtaking[resource]
    if later == 0:
        return before >= OVERTAKING
    overtaking[resource] = before - (before >> OVERTAKING_SHIFT)
    if (grown < 0 and later > 0) or (grown > 0 and later < 0):
        overtaking[resource] = overtaking[resource] + (1 << OVERTAKING_SHIFT)
    if overtaking[resource] < OVERTAKING:
        return False
    if before < OVERTAKING and memory.dealt[resource] > 0:
        memory.spent[resource] = memory.dealt[resource]
        memory.scale[resource] = UNIT
    return True


@native
def _learn_scale(memory: SelectorState, row: int, resource: int, waited: int, load: int) -> None:
    """Learn the scale: between two requests of one busy spell, waits grow by the work in between minus the time."""
    times = memory.mark_time
    sents = memory.mark_sent
    waits = memory.mark_wait
    spent = memory.spent
    dealt = memory.dealt
    time = row_of(memory, row).time
    sent = row_of(memory, row).sent
    passed = time - times[resource]
    if waits[resource] != NONE:
        grown = waited - waits[resource] + passed
        mixed = _overtakes(memory, resource, sent - sents[resource], grown)
        if passed < 0:
            return
        if not mixed and 2 * passed <= waits[resource] and sent > sents[resource]:
            _weigh(memory, resource, load)
            spent[resource] = spent[resource] + max(grown, 0)
            dealt[resource] = dealt[resource] + sent - sents[resource]
            if dealt[resource] > MEMORY * load:
                spent[resource] = spent[resource] >> 1
                dealt[resource] = dealt[resource] >> 1
            _set_scale(memory, resource)
    times[resource] = time
    sents[resource] = sent
    waits[resource] = waited if waited > 4 * load else NONE


@native
def _bound_scale(memory: SelectorState, resource: int, load: int) -> None:
    """Lower the scale if the work of a spell took less than three quarters of the time that the scale predicts."""
    since = memory.rate_time
    work = memory.rate_work
    count = memory.rate_count
    if count[resource] == 0:
        since[resource] = memory.seen
        work[resource] = 0
    else:
        work[resource] = work[resource] + load
    count[resource] = count[resource] + 1
    if count[resource] <= SPELL:
        return
    count[resource] = 0
    passed = memory.seen - since[resource]
    believed = scaled(work[resource], memory.scale[resource])
    if passed > 0 and passed < believed - (believed >> 2):
        _weigh(memory, resource, load)
        part = float(memory.dealt[resource]) * float(passed) / float(work[resource])
        memory.spent[resource] = int(part)
        _set_scale(memory, resource)


@native
def _least(memory: SelectorState, path: int, beyond: int) -> int:
    """The least time beyond T among the latest requests; it contains no wait, since waits only add to T."""
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
def _nearer(mean: int, error: int) -> int:
    """A moving mean of absolute errors after one more error."""
    return mean + _shifted(max(error, -error) - mean, MISS_SHIFT)


@native
def _compare(memory: SelectorState, row: int, path: int, waited: int) -> None:
    """Compare a wait with the predictions of the model and of the work under way.

    The mean error of each becomes a price of the path, which fades; the remaining error tells which predicts better.
    """
    excess = memory.excess
    surplus = memory.surplus
    by_model = waited - row_of(memory, row).wait - excess[path]
    by_count = waited - row_of(memory, row).counted - surplus[path]
    memory.miss_model = _nearer(memory.miss_model, by_model)
    memory.miss_count = _nearer(memory.miss_count, by_count)
    for other in range(memory.paths):
        excess[other] = excess[other] - (excess[other] >> EXCESS_SHIFT)
        surplus[other] = surplus[other] - (max(surplus[other], 0) >> SURPLUS_SHIFT)
    excess[path] = max(excess[path] + _shifted(by_model, OFFSET_SHIFT), 0)
    surplus[path] = surplus[path] + _shifted(by_count, OFFSET_SHIFT)


@native
def learn(memory: SelectorState, row: int, pair: int, jct: int, e2e: int) -> None:
    """Learn from a finished request's intra-host and end-to-end times, in picoseconds (specification, section 4)."""
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
    first = memory.first
    for i in range(first[pair], first[pair + 1]):
        _bound_scale(memory, memory.resource[i], memory.load[i])
    _compare(memory, row, path, beyond)
    if expected == 0:
        offset[path] = offset[path] + _shifted(beyond, OFFSET_SHIFT)
