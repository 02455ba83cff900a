# SPDX-License-Identifier: Apache-2.0
"""The selector in machine code: requests begin, end, move from a path that fails, and wait for their key.

Written in the part of Python that :mod:`offramp_base.native` compiles; other compiled functions may call these.
``memory`` is :mod:`offramp.leo.selection.layout`'s; times are ps of one clock, of which only differences count.
"""

from __future__ import annotations

from offramp.leo.selection.keys import find, hold, idle, insert, release, remove
from offramp.leo.selection.layout import (
    HOLD,
    IDLE,
    MISUSE,
    NONE,
    ONE,
    PARKED,
    READS,
    SEVERAL,
    WINDOW,
    WINDOW_SHIFT,
    SelectorState,
    entry_of,
    row_of,
)
from offramp.leo.selection.learning import join, learn, part
from offramp.leo.selection.scores import best_path, scaled, under_way, wait
from offramp_base.native.subset import Words, inlined, native

_LONGEST = 1 << 50  # ps: what an estimate of a gap may come to


@native
def _drain(memory: SelectorState, now: int) -> None:
    """Account for the work of every resource since the last call."""
    passed = now - memory.seen
    if passed <= 0:
        return
    memory.seen = now
    backlog = memory.backlog
    for i in range(memory.resources):
        backlog[i] = max(backlog[i] - passed, 0)


@native
def _arrive(memory: SelectorState, now: int) -> None:
    """Update the moving average of the gap between arrivals."""
    if memory.order == 0:
        memory.gap = _LONGEST
    else:
        gap = min(max(now - memory.arrived, 0), _LONGEST >> WINDOW_SHIFT)
        if memory.order == 1:
            memory.gap = gap * WINDOW
        else:
            memory.gap = memory.gap - (memory.gap >> WINDOW_SHIFT) + gap
    memory.arrived = now
    memory.order = memory.order + 1


@native
def _start(memory: SelectorState, row: int, kind: int, path: int) -> None:
    """Start a request."""
    own = row_of(memory, row)
    pair = kind * memory.paths + path
    first = memory.first
    resources = memory.resource
    loads = memory.load
    pending = memory.pending
    backlog = memory.backlog
    share = memory.share
    work = memory.work
    sent = memory.sent
    scale = memory.scale
    counts = memory.count
    own.wait = wait(memory, pair)
    own.counted = under_way(memory, pair)
    own.time = memory.seen
    own.sent = sent[memory.main[pair]]
    own.path = path
    memory.used[path] = memory.order
    counts[path] = counts[path] + 1
    join(memory, row, path)
    for i in range(memory.resources):
        share[i] = share[i] - (share[i] >> WINDOW_SHIFT)
        work[i] = work[i] - (work[i] >> WINDOW_SHIFT)
    for i in range(first[pair], first[pair + 1]):
        at = resources[i]
        load = scaled(loads[i], scale[at])
        pending[at] = pending[at] + loads[i]
        sent[at] = sent[at] + loads[i]
        backlog[at] = backlog[at] + load
        share[at] = share[at] + ONE
        work[at] = work[at] + load


@native
def _stop(memory: SelectorState, row: int, kind: int, path: int) -> None:
    """Stop a request; a backlog is at most the work of those under way."""
    pair = kind * memory.paths + path
    first = memory.first
    resources = memory.resource
    loads = memory.load
    pending = memory.pending
    backlog = memory.backlog
    scale = memory.scale
    counts = memory.count
    row_of(memory, row).path = IDLE
    counts[path] = counts[path] - 1
    part(memory, row, path)
    for i in range(first[pair], first[pair + 1]):
        at = resources[i]
        pending[at] = pending[at] - loads[i]
        backlog[at] = min(backlog[at], scaled(pending[at], scale[at]))


@inlined
def _reads(memory: SelectorState, kind: int) -> bool:
    """Whether requests of a type only read."""
    return memory.keyed[kind] & READS != 0


@native
def _joins(memory: SelectorState, entry: int, kind: int, open_paths: int) -> int:
    """The path of a request behind those of its key that are under way; NONE if it must wait for them.

    Reads choose freely while only reads are under way. Everything else goes where the others are.
    """
    held = entry_of(memory, entry)
    path = held.path
    alone = held.count == 0
    if alone or (_reads(memory, kind) and held.writes == 0):
        if open_paths == 0:
            return NONE
        path = best_path(memory, kind, open_paths)
        held.path = path if alone or held.path == path else SEVERAL
    elif path == SEVERAL or (open_paths >> path) & 1 == 0:
        return NONE
    _enter(memory, entry, kind)
    return path


@inlined
def _enter(memory: SelectorState, entry: int, kind: int) -> None:
    """Count a request of a key as under way."""
    held = entry_of(memory, entry)
    held.count = held.count + 1
    if not _reads(memory, kind):
        held.writes = held.writes + 1


@inlined
def _leave(memory: SelectorState, entry: int, kind: int) -> None:
    """Count a request of a key as no longer under way."""
    held = entry_of(memory, entry)
    held.count = held.count - 1
    if not _reads(memory, kind):
        held.writes = held.writes - 1


@native
def _start_held(memory: SelectorState, entry: int) -> None:
    """Start the requests at the front of an entry's queue that may go now."""
    allowed = memory.allowed
    started = memory.started_rows
    while entry_of(memory, entry).head != NONE:
        kind = row_of(memory, entry_of(memory, entry).head).type
        path = _joins(memory, entry, kind, allowed[kind] & ~memory.down)
        if path == NONE:
            return
        row = release(memory, entry, NONE)
        _start(memory, row, kind, path)
        started[memory.started] = row
        memory.started = memory.started + 1


@native
def _first_held(memory: SelectorState) -> int:
    """The entry whose first request arrived first, among the unused ones that may start; or NONE."""
    allowed = memory.allowed
    chosen = NONE
    earliest = 0
    for entry in range(1, memory.row_count + 1):
        held = entry_of(memory, entry)
        if held.count > 0 or held.head == NONE:
            continue
        first = row_of(memory, held.head)
        if allowed[first.type] & ~memory.down == 0:
            continue
        if chosen == NONE or first.order < earliest:
            chosen = entry
            earliest = first.order
    return chosen


@native
def _keyed(memory: SelectorState, row: int, kind: int, key: int, space: int) -> int:
    """Path of a request with a key: that of others with it under way, in order."""
    entry = find(memory, key, space)
    if entry == NONE:
        entry = insert(memory, key, space)
    if entry_of(memory, entry).head != NONE:
        return hold(memory, entry, row)
    path = _joins(memory, entry, kind, memory.allowed[kind] & ~memory.down)
    if path == NONE:
        return hold(memory, entry, row)
    row_of(memory, row).entry = entry
    return path


@native
def _free_path(memory: SelectorState, row: int, kind: int) -> int:
    """Path of a request without a key."""
    open_paths = memory.allowed[kind] & ~memory.down
    if open_paths == 0:
        return hold(memory, PARKED, row)
    row_of(memory, row).entry = PARKED
    return best_path(memory, kind, open_paths)


@native
def choose(memory: SelectorState, row: int, kind: int, key: int, now: int) -> int:
    """Path of a request, which is under way from now on; HOLD if it waits; MISUSE if nothing has changed."""
    if row < 0 or row >= memory.row_count or kind < 0 or kind >= memory.types:
        return MISUSE
    own = row_of(memory, row)
    if own.path != IDLE:
        return MISUSE
    _drain(memory, now)
    _arrive(memory, now)
    own.type = kind
    own.order = memory.order
    space = memory.keyed[kind] & (READS - 1)
    path = _free_path(memory, row, kind) if space == 0 else _keyed(memory, row, kind, key, space)
    if path != HOLD:
        _start(memory, row, kind, path)
    return path


@native
def choose_many(
    memory: SelectorState, rows: Words, kinds: Words, keys: Words, paths: Words, count: int, now: int
) -> int:
    """Choose ``paths`` of requests that arrive at one time; returns how many before the first misuse."""
    for i in range(count):
        paths[i] = choose(memory, rows[i], kinds[i], keys[i], now)
        if paths[i] == MISUSE:
            return i
    return count


@native
def finished(memory: SelectorState, row: int, jct: int, e2e: int, now: int) -> int:
    """End a request, or give it up (``jct`` below 0); returns how many held requests have started."""
    if row < 0 or row >= memory.row_count:
        return MISUSE
    own = row_of(memory, row)
    path = own.path
    if path < 0:
        return MISUSE
    _drain(memory, now)
    memory.started = 0
    kind = own.type
    done = memory.done
    if jct >= 0:
        done[path] = done[path] + 1
        learn(memory, row, kind * memory.paths + path, jct, e2e)
    _stop(memory, row, kind, path)
    entry = own.entry
    if entry != PARKED:
        _leave(memory, entry, kind)
        if entry_of(memory, entry).count == 0:
            _start_held(memory, entry)
            if idle(memory, entry):
                remove(memory, entry)
    return memory.started


@native
def reroute(memory: SelectorState, row: int, now: int) -> int:
    """Another path for a request under way whose path has failed or whose answer is lost; or HOLD.

    Call it for all requests of a failed path in the order of their arrival; those of a key stay together.
    """
    if row < 0 or row >= memory.row_count:
        return MISUSE
    own = row_of(memory, row)
    path = own.path
    if path < 0:
        return MISUSE
    _drain(memory, now)
    kind = own.type
    entry = own.entry
    held = entry_of(memory, entry)
    open_paths = memory.allowed[kind] & ~memory.down
    free = True
    _stop(memory, row, kind, path)
    if entry != PARKED:
        _leave(memory, entry, kind)
        free = _reads(memory, kind) and held.writes == 0
        if held.count > 0 and not free and (memory.down >> held.path) & 1 == 0:
            open_paths = open_paths & (1 << held.path)
        first = held.head
        if first != NONE and row_of(memory, first).order < own.order:
            open_paths = 0
    if open_paths == 0:
        return hold(memory, entry, row)
    path = best_path(memory, kind, open_paths)
    if entry != PARKED:
        held.path = path if held.count == 0 or not free or held.path == path else SEVERAL
        _enter(memory, entry, kind)
    _start(memory, row, kind, path)
    return path


@native
def set_down(memory: SelectorState, down: int, now: int) -> int:
    """Close the paths of these bits and open all others; returns how many held requests have started."""
    memory.down = down
    memory.started = 0
    _drain(memory, now)
    allowed = memory.allowed
    started = memory.started_rows
    before = NONE
    row = entry_of(memory, PARKED).head
    while row != NONE:
        after = row_of(memory, row).next
        kind = row_of(memory, row).type
        open_paths = allowed[kind] & ~down
        if open_paths == 0:
            before = row
        else:
            release(memory, PARKED, before)
            _start(memory, row, kind, best_path(memory, kind, open_paths))
            started[memory.started] = row
            memory.started = memory.started + 1
        row = after
    while True:
        entry = _first_held(memory)
        if entry == NONE:
            break
        _start_held(memory, entry)
    return memory.started
