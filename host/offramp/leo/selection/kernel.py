# SPDX-License-Identifier: Apache-2.0
"""The selector in machine code: requests begin, end, move from a path that fails, and wait for their key.

Written in the part of Python that :mod:`offramp_base.native` compiles; other compiled functions may call these.
``memory`` is :mod:`offramp.leo.selection.layout`'s; times are ps of one clock, of which only differences count.
"""

from __future__ import annotations

from offramp.leo.selection.keys import find, hold, idle, insert, release, remove
from offramp.leo.selection.layout import (
    ALLOWED,
    ARRIVED,
    BACKLOG,
    COUNT,
    DONE,
    DOWN,
    ENTRY_COUNT,
    ENTRY_HEAD,
    ENTRY_PATH,
    ENTRY_WRITES,
    FIRST,
    GAP,
    HOLD,
    IDLE,
    KEYED,
    LOAD,
    MAIN,
    MISUSE,
    NONE,
    ONE,
    ORDER,
    PARKED,
    PATHS,
    PENDING,
    READS,
    RESOURCE,
    RESOURCES,
    ROW_ENTRY,
    ROW_NEXT,
    ROW_ORDER,
    ROW_PATH,
    ROW_SENT,
    ROW_TIME,
    ROW_TYPE,
    ROW_WAIT,
    ROWS,
    SCALE,
    SEEN,
    SENT,
    SEVERAL,
    SHARE,
    STARTED,
    STARTED_ROWS,
    TYPES,
    USED,
    WINDOW,
    WINDOW_SHIFT,
    WORK,
    entry_of,
    row_of,
)
from offramp.leo.selection.learning import join, learn, part
from offramp.leo.selection.scores import best_path, scaled, wait
from offramp_base.native.subset import Words, inlined, native

_LONGEST = 1 << 50  # ps: what an estimate of a gap may come to


@native
def _drain(memory: Words, now: int) -> None:
    """Every resource has worked since the last look."""
    passed = now - memory[SEEN]
    if passed <= 0:
        return
    memory[SEEN] = now
    backlog = memory + memory[BACKLOG]
    for i in range(memory[RESOURCES]):
        backlog[i] = max(backlog[i] - passed, 0)


@native
def _arrive(memory: Words, now: int) -> None:
    """The mean gap between arrivals follows the last of them."""
    if memory[ORDER] == 0:
        memory[GAP] = _LONGEST
    else:
        gap = min(max(now - memory[ARRIVED], 0), _LONGEST >> WINDOW_SHIFT)
        if memory[ORDER] == 1:
            memory[GAP] = gap * WINDOW
        else:
            memory[GAP] = memory[GAP] - (memory[GAP] >> WINDOW_SHIFT) + gap
    memory[ARRIVED] = now
    memory[ORDER] = memory[ORDER] + 1


@native
def _start(memory: Words, row: int, kind: int, path: int) -> None:
    """A request is under way."""
    own = row_of(memory, row)
    pair = kind * memory[PATHS] + path
    first = memory + memory[FIRST]
    resources = memory + memory[RESOURCE]
    loads = memory + memory[LOAD]
    pending = memory + memory[PENDING]
    backlog = memory + memory[BACKLOG]
    share = memory + memory[SHARE]
    work = memory + memory[WORK]
    sent = memory + memory[SENT]
    scale = memory + memory[SCALE]
    counts = memory + memory[COUNT]
    own[ROW_WAIT] = wait(memory, pair)
    own[ROW_TIME] = memory[SEEN]
    own[ROW_SENT] = sent[(memory + memory[MAIN])[pair]]
    own[ROW_PATH] = path
    (memory + memory[USED])[path] = memory[ORDER]
    counts[path] = counts[path] + 1
    join(memory, row, path)
    for i in range(memory[RESOURCES]):
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
def _stop(memory: Words, row: int, kind: int, path: int) -> None:
    """A request is no longer under way; a backlog is at most the work of those that are."""
    pair = kind * memory[PATHS] + path
    first = memory + memory[FIRST]
    resources = memory + memory[RESOURCE]
    loads = memory + memory[LOAD]
    pending = memory + memory[PENDING]
    backlog = memory + memory[BACKLOG]
    scale = memory + memory[SCALE]
    counts = memory + memory[COUNT]
    row_of(memory, row)[ROW_PATH] = IDLE
    counts[path] = counts[path] - 1
    part(memory, row, path)
    for i in range(first[pair], first[pair + 1]):
        at = resources[i]
        pending[at] = pending[at] - loads[i]
        backlog[at] = min(backlog[at], scaled(pending[at], scale[at]))


@inlined
def _reads(memory: Words, kind: int) -> bool:
    """Whether requests of a type only read."""
    return (memory + memory[KEYED])[kind] & READS != 0


@native
def _joins(memory: Words, entry: int, kind: int, open_paths: int) -> int:
    """The path of a request behind those of its key that are under way; NONE: it must wait for them.

    Reads go where they like while only reads are under way. All else goes where the others are.
    """
    held = entry_of(memory, entry)
    path = held[ENTRY_PATH]
    alone = held[ENTRY_COUNT] == 0
    if alone or (_reads(memory, kind) and held[ENTRY_WRITES] == 0):
        if open_paths == 0:
            return NONE
        path = best_path(memory, kind, open_paths)
        held[ENTRY_PATH] = path if alone or held[ENTRY_PATH] == path else SEVERAL
    elif path == SEVERAL or (open_paths >> path) & 1 == 0:
        return NONE
    _enter(memory, entry, kind)
    return path


@inlined
def _enter(memory: Words, entry: int, kind: int) -> None:
    """A request of a key is under way."""
    held = entry_of(memory, entry)
    held[ENTRY_COUNT] = held[ENTRY_COUNT] + 1
    if not _reads(memory, kind):
        held[ENTRY_WRITES] = held[ENTRY_WRITES] + 1


@inlined
def _leave(memory: Words, entry: int, kind: int) -> None:
    """It no longer is."""
    held = entry_of(memory, entry)
    held[ENTRY_COUNT] = held[ENTRY_COUNT] - 1
    if not _reads(memory, kind):
        held[ENTRY_WRITES] = held[ENTRY_WRITES] - 1


@native
def _start_held(memory: Words, entry: int) -> None:
    """Those in front of the queue of an entry that may go now."""
    allowed = memory + memory[ALLOWED]
    started = memory + memory[STARTED_ROWS]
    while entry_of(memory, entry)[ENTRY_HEAD] != NONE:
        kind = row_of(memory, entry_of(memory, entry)[ENTRY_HEAD])[ROW_TYPE]
        path = _joins(memory, entry, kind, allowed[kind] & ~memory[DOWN])
        if path == NONE:
            return
        row = release(memory, entry, NONE)
        _start(memory, row, kind, path)
        started[memory[STARTED]] = row
        memory[STARTED] = memory[STARTED] + 1


@native
def _first_held(memory: Words) -> int:
    """The entry whose first request came first, of those that nobody uses and that may start; or NONE."""
    allowed = memory + memory[ALLOWED]
    found = NONE
    earliest = 0
    for entry in range(1, memory[ROWS] + 1):
        held = entry_of(memory, entry)
        if held[ENTRY_COUNT] > 0 or held[ENTRY_HEAD] == NONE:
            continue
        first = row_of(memory, held[ENTRY_HEAD])
        if allowed[first[ROW_TYPE]] & ~memory[DOWN] == 0:
            continue
        if found == NONE or first[ROW_ORDER] < earliest:
            found = entry
            earliest = first[ROW_ORDER]
    return found


@native
def _keyed(memory: Words, row: int, kind: int, key: int, space: int) -> int:
    """Path of a request with a key: that of the others under way with it, in order."""
    entry = find(memory, key, space)
    if entry == NONE:
        entry = insert(memory, key, space)
    if entry_of(memory, entry)[ENTRY_HEAD] != NONE:
        return hold(memory, entry, row)
    path = _joins(memory, entry, kind, (memory + memory[ALLOWED])[kind] & ~memory[DOWN])
    if path == NONE:
        return hold(memory, entry, row)
    row_of(memory, row)[ROW_ENTRY] = entry
    return path


@native
def _free_path(memory: Words, row: int, kind: int) -> int:
    """Path of a request without a key."""
    open_paths = (memory + memory[ALLOWED])[kind] & ~memory[DOWN]
    if open_paths == 0:
        return hold(memory, PARKED, row)
    row_of(memory, row)[ROW_ENTRY] = PARKED
    return best_path(memory, kind, open_paths)


@native
def choose(memory: Words, row: int, kind: int, key: int, now: int) -> int:
    """Path of a request, which is under way from now on; HOLD: it waits; MISUSE: nothing has changed."""
    if row < 0 or row >= memory[ROWS] or kind < 0 or kind >= memory[TYPES]:
        return MISUSE
    own = row_of(memory, row)
    if own[ROW_PATH] != IDLE:
        return MISUSE
    _drain(memory, now)
    _arrive(memory, now)
    own[ROW_TYPE] = kind
    own[ROW_ORDER] = memory[ORDER]
    space = (memory + memory[KEYED])[kind] & (READS - 1)
    path = _free_path(memory, row, kind) if space == 0 else _keyed(memory, row, kind, key, space)
    if path != HOLD:
        _start(memory, row, kind, path)
    return path


@native
def choose_many(memory: Words, rows: Words, kinds: Words, keys: Words, paths: Words, count: int, now: int) -> int:
    """``paths`` of requests that come at one time; returns how many before the first misuse."""
    for i in range(count):
        paths[i] = choose(memory, rows[i], kinds[i], keys[i], now)
        if paths[i] == MISUSE:
            return i
    return count


@native
def finished(memory: Words, row: int, jct: int, e2e: int, now: int) -> int:
    """A request has ended, or is given up (``jct`` below 0); returns how many that were held have started."""
    if row < 0 or row >= memory[ROWS]:
        return MISUSE
    own = row_of(memory, row)
    path = own[ROW_PATH]
    if path < 0:
        return MISUSE
    _drain(memory, now)
    memory[STARTED] = 0
    kind = own[ROW_TYPE]
    done = memory + memory[DONE]
    if jct >= 0:
        done[path] = done[path] + 1
        learn(memory, row, kind * memory[PATHS] + path, jct, e2e)
    _stop(memory, row, kind, path)
    entry = own[ROW_ENTRY]
    if entry != PARKED:
        _leave(memory, entry, kind)
        if entry_of(memory, entry)[ENTRY_COUNT] == 0:
            _start_held(memory, entry)
            if idle(memory, entry):
                remove(memory, entry)
    return memory[STARTED]


@native
def reroute(memory: Words, row: int, now: int) -> int:
    """The path that a request under way takes now, because its own has failed or its answer is lost; or HOLD.

    Call it for all requests of a path that failed in the order in which they came; those of a key stay together.
    """
    if row < 0 or row >= memory[ROWS]:
        return MISUSE
    own = row_of(memory, row)
    path = own[ROW_PATH]
    if path < 0:
        return MISUSE
    _drain(memory, now)
    kind = own[ROW_TYPE]
    entry = own[ROW_ENTRY]
    held = entry_of(memory, entry)
    open_paths = (memory + memory[ALLOWED])[kind] & ~memory[DOWN]
    free = True
    _stop(memory, row, kind, path)
    if entry != PARKED:
        _leave(memory, entry, kind)
        free = _reads(memory, kind) and held[ENTRY_WRITES] == 0
        if held[ENTRY_COUNT] > 0 and not free and (memory[DOWN] >> held[ENTRY_PATH]) & 1 == 0:
            open_paths = open_paths & (1 << held[ENTRY_PATH])
        first = held[ENTRY_HEAD]
        if first != NONE and row_of(memory, first)[ROW_ORDER] < own[ROW_ORDER]:
            open_paths = 0
    if open_paths == 0:
        return hold(memory, entry, row)
    path = best_path(memory, kind, open_paths)
    if entry != PARKED:
        held[ENTRY_PATH] = path if held[ENTRY_COUNT] == 0 or not free or held[ENTRY_PATH] == path else SEVERAL
        _enter(memory, entry, kind)
    _start(memory, row, kind, path)
    return path


@native
def set_down(memory: Words, down: int, now: int) -> int:
    """Close the paths of these bits and open all others; returns how many requests that were held have started."""
    memory[DOWN] = down
    memory[STARTED] = 0
    _drain(memory, now)
    allowed = memory + memory[ALLOWED]
    started = memory + memory[STARTED_ROWS]
    before = NONE
    row = entry_of(memory, PARKED)[ENTRY_HEAD]
    while row != NONE:
        after = row_of(memory, row)[ROW_NEXT]
        kind = row_of(memory, row)[ROW_TYPE]
        open_paths = allowed[kind] & ~down
        if open_paths == 0:
            before = row
        else:
            release(memory, PARKED, before)
            _start(memory, row, kind, best_path(memory, kind, open_paths))
            started[memory[STARTED]] = row
            memory[STARTED] = memory[STARTED] + 1
        row = after
    while True:
        entry = _first_held(memory)
        if entry == NONE:
            break
        _start_held(memory, entry)
    return memory[STARTED]
