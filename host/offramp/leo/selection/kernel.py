"""The selector in machine code: requests begin, end, move from a path that fails, and wait for their key.

Written in the part of Python that :mod:`offramp.native` compiles; other compiled functions may call these. ``memory``
is :mod:`offramp.leo.selection.layout`'s; times are ps of one clock, of which only differences count.
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
)
from offramp.leo.selection.learning import join, learn, part
from offramp.leo.selection.scores import best_path, scaled, wait
from offramp.native.subset import Words, inlined, native

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
    (memory + memory[ROW_WAIT])[row] = wait(memory, pair)
    (memory + memory[ROW_TIME])[row] = memory[SEEN]
    (memory + memory[ROW_SENT])[row] = sent[(memory + memory[MAIN])[pair]]
    (memory + memory[ROW_PATH])[row] = path
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
    (memory + memory[ROW_PATH])[row] = IDLE
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
    paths = memory + memory[ENTRY_PATH]
    path = paths[entry]
    alone = (memory + memory[ENTRY_COUNT])[entry] == 0
    if alone or (_reads(memory, kind) and (memory + memory[ENTRY_WRITES])[entry] == 0):
        if open_paths == 0:
            return NONE
        path = best_path(memory, kind, open_paths)
        paths[entry] = path if alone or paths[entry] == path else SEVERAL
    elif path == SEVERAL or (open_paths >> path) & 1 == 0:
        return NONE
    _enter(memory, entry, kind)
    return path


@inlined
def _enter(memory: Words, entry: int, kind: int) -> None:
    """A request of a key is under way."""
    counts = memory + memory[ENTRY_COUNT]
    writes = memory + memory[ENTRY_WRITES]
    counts[entry] = counts[entry] + 1
    if not _reads(memory, kind):
        writes[entry] = writes[entry] + 1


@inlined
def _leave(memory: Words, entry: int, kind: int) -> None:
    """It no longer is."""
    counts = memory + memory[ENTRY_COUNT]
    writes = memory + memory[ENTRY_WRITES]
    counts[entry] = counts[entry] - 1
    if not _reads(memory, kind):
        writes[entry] = writes[entry] - 1


@native
def _start_held(memory: Words, entry: int) -> None:
    """Those in front of the queue of an entry that may go now."""
    allowed = memory + memory[ALLOWED]
    kinds = memory + memory[ROW_TYPE]
    heads = memory + memory[ENTRY_HEAD]
    started = memory + memory[STARTED_ROWS]
    while heads[entry] != NONE:
        kind = kinds[heads[entry]]
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
    kinds = memory + memory[ROW_TYPE]
    order = memory + memory[ROW_ORDER]
    counts = memory + memory[ENTRY_COUNT]
    heads = memory + memory[ENTRY_HEAD]
    found = NONE
    for entry in range(1, memory[ROWS] + 1):
        row = heads[entry]
        if counts[entry] > 0 or row == NONE or allowed[kinds[row]] & ~memory[DOWN] == 0:
            continue
        if found == NONE or order[row] < order[heads[found]]:
            found = entry
    return found


@native
def _keyed(memory: Words, row: int, kind: int, key: int, space: int) -> int:
    """Path of a request with a key: that of the others under way with it, in order."""
    entry = find(memory, key, space)
    if entry == NONE:
        entry = insert(memory, key, space)
    if (memory + memory[ENTRY_HEAD])[entry] != NONE:
        return hold(memory, entry, row)
    path = _joins(memory, entry, kind, (memory + memory[ALLOWED])[kind] & ~memory[DOWN])
    if path == NONE:
        return hold(memory, entry, row)
    (memory + memory[ROW_ENTRY])[row] = entry
    return path


@native
def _free_path(memory: Words, row: int, kind: int) -> int:
    """Path of a request without a key."""
    open_paths = (memory + memory[ALLOWED])[kind] & ~memory[DOWN]
    if open_paths == 0:
        return hold(memory, PARKED, row)
    (memory + memory[ROW_ENTRY])[row] = PARKED
    return best_path(memory, kind, open_paths)


@native
def choose(memory: Words, row: int, kind: int, key: int, now: int) -> int:
    """Path of a request, which is under way from now on; HOLD: it waits; MISUSE: nothing has changed."""
    if row < 0 or row >= memory[ROWS] or kind < 0 or kind >= memory[TYPES]:
        return MISUSE
    if (memory + memory[ROW_PATH])[row] != IDLE:
        return MISUSE
    _drain(memory, now)
    _arrive(memory, now)
    (memory + memory[ROW_TYPE])[row] = kind
    (memory + memory[ROW_ORDER])[row] = memory[ORDER]
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
    path = (memory + memory[ROW_PATH])[row]
    if path < 0:
        return MISUSE
    _drain(memory, now)
    memory[STARTED] = 0
    kind = (memory + memory[ROW_TYPE])[row]
    done = memory + memory[DONE]
    if jct >= 0:
        done[path] = done[path] + 1
        learn(memory, row, kind * memory[PATHS] + path, jct, e2e)
    _stop(memory, row, kind, path)
    entry = (memory + memory[ROW_ENTRY])[row]
    if entry != PARKED:
        _leave(memory, entry, kind)
        if (memory + memory[ENTRY_COUNT])[entry] == 0:
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
    path = (memory + memory[ROW_PATH])[row]
    if path < 0:
        return MISUSE
    _drain(memory, now)
    kind = (memory + memory[ROW_TYPE])[row]
    entry = (memory + memory[ROW_ENTRY])[row]
    counts = memory + memory[ENTRY_COUNT]
    paths = memory + memory[ENTRY_PATH]
    open_paths = (memory + memory[ALLOWED])[kind] & ~memory[DOWN]
    free = True
    _stop(memory, row, kind, path)
    if entry != PARKED:
        _leave(memory, entry, kind)
        free = _reads(memory, kind) and (memory + memory[ENTRY_WRITES])[entry] == 0
        if counts[entry] > 0 and not free and (memory[DOWN] >> paths[entry]) & 1 == 0:
            open_paths = open_paths & (1 << paths[entry])
        first = (memory + memory[ENTRY_HEAD])[entry]
        order = memory + memory[ROW_ORDER]
        if first != NONE and order[first] < order[row]:
            open_paths = 0
    if open_paths == 0:
        return hold(memory, entry, row)
    path = best_path(memory, kind, open_paths)
    if entry != PARKED:
        paths[entry] = path if counts[entry] == 0 or not free or paths[entry] == path else SEVERAL
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
    kinds = memory + memory[ROW_TYPE]
    following = memory + memory[ROW_NEXT]
    started = memory + memory[STARTED_ROWS]
    before = NONE
    row = (memory + memory[ENTRY_HEAD])[PARKED]
    while row != NONE:
        after = following[row]
        open_paths = allowed[kinds[row]] & ~down
        if open_paths == 0:
            before = row
        else:
            release(memory, PARKED, before)
            _start(memory, row, kinds[row], best_path(memory, kinds[row], open_paths))
            started[memory[STARTED]] = row
            memory[STARTED] = memory[STARTED] + 1
        row = after
    while True:
        entry = _first_held(memory)
        if entry == NONE:
            break
        _start_held(memory, entry)
    return memory[STARTED]
