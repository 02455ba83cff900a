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
NETWORK: Final = 15  # mean time on the network, for iPipe

# Where sections begin, and how long each is.
ALLOWED: Final = 16  # types: a bit for each path
KEYED: Final = 17  # types: code of the dependency
BASE: Final = 18  # types x paths
TOLL: Final = 19
LIMIT: Final = 20  # a JCT beyond it tells of a queue
FIRST: Final = 21  # types x paths + 1: place of the first load
RESOURCE: Final = 22  # loads
LOAD: Final = 23
SLACK: Final = 24  # backlog that delays nobody, of a resource that serves several at a time
COUNT: Final = 25  # paths: requests under way
KHAT: Final = 26
INTRA: Final = 27  # last intra-host JCT, NONE at first
E2E: Final = 28
DONE: Final = 29
BIAS: Final = 30  # what JCTs have added to the model's waits so far
PENDING: Final = 31  # resources: work of all requests under way
BACKLOG: Final = 32  # resources: work that is expected to be left
SHARE: Final = 33  # WINDOW x ONE x share of the arrivals that come here
WORK: Final = 34  # WINDOW x mean work that an arrival brings
ROW_PATH: Final = 35
ROW_TYPE: Final = 36
ROW_ENTRY: Final = 37
ROW_NEXT: Final = 38
ROW_ORDER: Final = 39
ROW_WAIT: Final = 40  # wait that was expected
ROW_BIAS: Final = 41
BUCKET: Final = 42
ENTRY_KEY: Final = 43
ENTRY_SPACE: Final = 44
ENTRY_PATH: Final = 45
ENTRY_COUNT: Final = 46
ENTRY_HEAD: Final = 47
ENTRY_TAIL: Final = 48
ENTRY_NEXT: Final = 49
STARTED_ROWS: Final = 50
LATE: Final = 51  # in the header: how much longer than T and NETWORK the last request took
HEADER: Final = 64

WINDOW: Final = 64
WINDOW_SHIFT: Final = 6
ONE: Final = 1 << 20
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
        (PENDING, ROW_PATH, resources),
        (ROW_PATH, BUCKET, rows),
        (BUCKET, ENTRY_KEY, buckets),
        (ENTRY_KEY, STARTED_ROWS, rows + 1),
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
    fill(KEYED, [d.code for d in table.dependency])
    base = np.rint(np.where(table.allowed, table.base, 0.0) * PS).ravel()
    fill(BASE, base)
    fill(LIMIT, base + np.maximum(np.rint(base * times.part), round(times.resolution_ns * PS)))
    work = np.rint(used * PS).astype(np.int64)
    fill(TOLL, work.sum(axis=1))
    fill(FIRST, np.concatenate([[0], np.cumsum([len(p) for p in places])]))
    for i, row in enumerate(places):
        begin = int(memory[memory[FIRST] + i])
        for j, resource in enumerate(row):
            amount = int(work[i, resource])
            memory[memory[RESOURCE] + begin + j] = resource
            memory[memory[LOAD] + begin + j] = amount
            memory[memory[SLACK] + begin + j] = amount * (table.capacity[resource] - 1)
    for which in (INTRA, E2E, ROW_ENTRY, ROW_NEXT, BUCKET, ENTRY_HEAD, ENTRY_TAIL):
        fill(which, NONE)
    fill(ROW_PATH, IDLE)
    fill(ENTRY_NEXT, [NONE, *range(2, rows + 1), NONE] if rows else [NONE])
    return memory
