# SPDX-License-Identifier: Apache-2.0
"""The selector's memory: one array of words that can move, since places in it are offsets from its start.

Times are picoseconds. Sections are rows of words; the header holds where each begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.leo.selection.policies import Policy
from offramp.leo.selection.table import Table
from offramp_base.native.subset import Words, inlined

Memory = npt.NDArray[np.int64]

PS: Final = 1000
"""Picoseconds of a nanosecond."""
NONE: Final = -1
HOLD: Final = -1
"""Answer: the request waits; the selector starts it when it can."""
MISUSE: Final = -2
"""Answer: no such type, or the request's number is out of range or in use."""
IDLE: Final = -3
"""Path of a number that no request uses."""

# The header.
POLICY: Final = 0
TYPES: Final = 1
PATHS: Final = 2
RESOURCES: Final = 3
ROWS: Final = 4
BUCKETS: Final = 5  # a power of two
DOWN: Final = 6  # a bit for each path that is not to be taken
RANDOM: Final = 7
SEEN: Final = 8  # time of the last drain
ARRIVED: Final = 9  # time of the last arrival
GAP: Final = 10  # WINDOW times the mean gap between arrivals
ORDER: Final = 11  # requests so far
FREE: Final = 12  # first unused entry
STARTED: Final = 13  # held requests that the last call has started
LAST: Final = 14  # path of the request that ended last
LATE: Final = 16  # how much longer than T and NETWORK it took
NETWORK: Final = 15  # mean time on the network, for iPipe

# Where sections begin, and how long each is.
ALLOWED: Final = 20  # types: a bit for each path
KEYED: Final = 21  # types: code of the dependency, and READS
BASE: Final = 22  # types x paths: T
TOLL: Final = 23
LIMIT: Final = 24  # a JCT beyond it tells of a queue
MAIN: Final = 25  # the resource that the request keeps busy longest
FIRST: Final = 26  # types x paths + 1: place of the first load
RESOURCE: Final = 27  # loads
LOAD: Final = 28
SLACK: Final = 29  # backlog that delays nobody, of a resource that serves several at a time
COUNT: Final = 30  # paths: requests under way
KHAT: Final = 31
INTRA: Final = 32  # last intra-host JCT, NONE at first
E2E: Final = 33
DONE: Final = 34
OFFSET: Final = 35  # what T has turned out to be beyond the table's
USED: Final = 36  # order of the last request
AWAY: Final = 37  # longest time on the network of late
OLDEST: Final = 38  # of the requests under way
NEWEST: Final = 39
LOW_NOW: Final = 40  # least time beyond T, of the last requests and of those before
LOW_LAST: Final = 41
LOW_SEEN: Final = 42
EXCESS: Final = 43  # mean of what waits come to beyond those expected
PENDING: Final = 44  # resources: work of all requests under way
BACKLOG: Final = 45  # work that is expected to be left
SHARE: Final = 46  # WINDOW x ONE x share of the arrivals that come here
WORK: Final = 47  # WINDOW x mean work that an arrival brings
SENT: Final = 48  # work so far
SCALE: Final = 49  # UNIT x time that a unit of work has turned out to take
SPENT: Final = 50  # time, and work, of busy spells that were measured
DEALT: Final = 51
MARK_TIME: Final = 52  # a request that waited: when it was sent
MARK_SENT: Final = 53  # SENT then
MARK_WAIT: Final = 54  # its wait
EXPECTED: Final = 55  # sums of the waits of some requests, as expected
WAITED: Final = 56  # and as they were
SAMPLES: Final = 57
ROWS_AT: Final = 58  # rows, each with its words side by side: a request touches them together
BUCKET: Final = 59  # buckets: first entry
ENTRIES_AT: Final = 60  # rows + 1 entries of keys, likewise
STARTED_ROWS: Final = 61  # rows
HEADER: Final = 64


# A row's words.
ROW_PATH: Final = 0
ROW_TYPE: Final = 1
ROW_ENTRY: Final = 2
ROW_NEXT: Final = 3  # in the queue of its key
ROW_ORDER: Final = 4
ROW_WAIT: Final = 5  # wait that was expected
ROW_TIME: Final = 6  # when it was sent
ROW_SENT: Final = 7  # SENT then
ROW_OLDER: Final = 8  # on its path
ROW_NEWER: Final = 9
ROW_WORDS: Final = 16

# An entry's words.
ENTRY_KEY: Final = 0
ENTRY_SPACE: Final = 1
ENTRY_PATH: Final = 2
ENTRY_COUNT: Final = 3
ENTRY_HEAD: Final = 4
ENTRY_TAIL: Final = 5
ENTRY_NEXT: Final = 6
ENTRY_WRITES: Final = 7  # requests under way that are no reads
ENTRY_WORDS: Final = 8

WINDOW: Final = 64
WINDOW_SHIFT: Final = 6
ONE: Final = 1 << 20
UNIT: Final = 1 << 16
ENDLESS: Final = 1 << 60
READS: Final = 4
"""A bit beside the code of a dependency: requests of the type only read."""
SEVERAL: Final = -1
"""Path of an entry whose requests under way, all of them reads, are on several."""
PARKED: Final = 0
"""The entry of requests without a key, which wait while all their paths are down."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How clocks and the network are allowed for.

    Attributes:
        part: of T, by which a JCT must exceed it to tell of a queue.
        resolution_ns: of the clocks; the larger of the two counts.
        network_ns: mean time on the network there and back, which iPipe's rule compares with.
    """

    part: float = 0.01
    resolution_ns: float = 0.0
    network_ns: float = 0.0


@inlined
def row_of(memory: Words, row: int) -> Words:
    """A row's words."""
    return memory + (memory[ROWS_AT] + row * ROW_WORDS)


@inlined
def entry_of(memory: Words, entry: int) -> Words:
    """An entry's words."""
    return memory + (memory[ENTRIES_AT] + entry * ENTRY_WORDS)


def section(memory: Memory, which: int, length: int) -> Memory:
    """A view of one section."""
    start = int(memory[which])
    return memory[start : start + length]


def make_memory(table: Table, policy: Policy, rows: int, seed: int, times: Tolerance) -> Memory:
    """A selector that has seen nothing."""
    kinds, paths, resources = table.load.shape
    pairs = kinds * paths
    used = np.where(table.allowed[:, :, None], table.load, 0.0).reshape(pairs, resources)
    places = [np.flatnonzero(row) for row in used]
    loads = sum(map(len, places))
    buckets = 1 << max(4, (2 * rows - 1).bit_length())
    sizes = (
        (ALLOWED, BASE, kinds),
        (BASE, FIRST, pairs),
        (FIRST, RESOURCE, pairs + 1),
        (RESOURCE, COUNT, loads),
        (COUNT, PENDING, paths),
        (PENDING, ROWS_AT, resources),
        (ROWS_AT, BUCKET, rows * ROW_WORDS),
        (BUCKET, ENTRIES_AT, buckets),
        (ENTRIES_AT, STARTED_ROWS, (rows + 1) * ENTRY_WORDS),
        (STARTED_ROWS, STARTED_ROWS + 1, rows),
    )
    lengths = {which: length for first, end, length in sizes for which in range(first, end)}
    memory = np.zeros(HEADER + sum(lengths.values()), np.int64)
    at = HEADER
    for which, length in lengths.items():
        memory[which] = at
        at += length
    memory[[POLICY, TYPES, PATHS, RESOURCES, ROWS, BUCKETS]] = policy.code, kinds, paths, resources, rows, buckets
    memory[RANDOM] = np.random.default_rng(seed).integers(1, 2**62)
    memory[FREE] = 1
    memory[NETWORK] = round(times.network_ns * PS)

    def fill(which: int, values: npt.ArrayLike) -> None:
        section(memory, which, lengths[which])[:] = values

    bits = 1 << np.arange(paths)
    fill(ALLOWED, (table.allowed * bits).sum(axis=1))
    reads = table.reads or (False,) * kinds
    fill(KEYED, [d.code | READS * r for d, r in zip(table.dependency, reads, strict=True)])
    base = np.rint(np.where(table.allowed, table.base, 0.0) * PS).ravel()
    fill(BASE, base)
    fill(LIMIT, base + np.maximum(np.rint(base * times.part), round(times.resolution_ns * PS)))
    work = np.rint(used * PS).astype(np.int64)
    fill(TOLL, work.sum(axis=1))
    fill(FIRST, np.concatenate([[0], np.cumsum([len(p) for p in places])]))
    fill(MAIN, used.argmax(axis=1))
    for i, row in enumerate(places):
        begin = int(memory[memory[FIRST] + i])
        for j, resource in enumerate(row):
            amount = int(work[i, resource])
            memory[memory[RESOURCE] + begin + j] = resource
            memory[memory[LOAD] + begin + j] = amount
            memory[memory[SLACK] + begin + j] = amount * (table.capacity[resource] - 1)
    for which in (INTRA, E2E, OLDEST, NEWEST, BUCKET):
        fill(which, NONE)
    fill(SCALE, UNIT)
    fill(MARK_WAIT, NONE)
    fill(LOW_NOW, ENDLESS)
    fill(LOW_LAST, ENDLESS)
    each_row = section(memory, ROWS_AT, rows * ROW_WORDS).reshape(rows, ROW_WORDS)
    each_row[:, [ROW_ENTRY, ROW_NEXT]] = NONE
    each_row[:, ROW_PATH] = IDLE
    entries = section(memory, ENTRIES_AT, (rows + 1) * ENTRY_WORDS).reshape(rows + 1, ENTRY_WORDS)
    entries[:, [ENTRY_HEAD, ENTRY_TAIL]] = NONE
    entries[:, ENTRY_NEXT] = [NONE, *range(2, rows + 1), NONE] if rows else [NONE]
    return memory
