# SPDX-License-Identifier: Apache-2.0
"""The selector's memory: one array of words that may be moved, since positions in it are offsets from its start.

Times are picoseconds. Sections are rows of words; the header holds the offset of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from offramp.leo.selection.policies import AnyPolicy
from offramp.leo.selection.table import Table
from offramp_base.native.arrays import section, with_sections
from offramp_base.native.records import Record, Within, offset
from offramp_base.native.subset import Words, inlined

Memory = npt.NDArray[np.int64]

PS: Final = 1000
"""Picoseconds per nanosecond."""
NONE: Final = -1
HOLD: Final = -1
"""Answer: the request waits; the selector starts it when possible."""
MISUSE: Final = -2
"""Answer: no such type, or the request's number is out of range or in use."""
IDLE: Final = -3
"""Path of a number that no request uses."""


class RequestRecord(Record):
    """A request, in the row of its number."""

    path: int
    type: int
    entry: int
    next: int  # in the queue of its key
    order: int
    wait: int  # wait that was expected
    time: int  # when it was sent
    sent: int  # SENT then
    counted: int  # work under way then on its path
    older: int  # on its path
    newer: int
    reserved: Annotated[Words, 5]


class KeyRecord(Record):
    """A key of requests under way or waiting."""

    key: int
    space: int
    path: int
    count: int
    head: int
    tail: int
    next: int
    writes: int  # requests under way that are no reads


class SelectorState(Record):
    """Header of a selector; sections are found by their offsets, since its memory may move."""

    policy: int
    types: int
    paths: int
    resources: int
    row_count: int
    bucket_count: int  # a power of two
    down: int  # a bit for each path that is not to be taken
    random: int
    seen: int  # time of the last drain
    arrived: int  # time of the last arrival
    gap: int  # WINDOW times the mean gap between arrivals
    order: int  # requests so far
    free: int  # first unused entry
    started: int  # held requests that the last call has started
    last: int  # path of the request that ended last
    network: int  # mean time on the network, for iPipe
    late: int  # how much longer than T and NETWORK it took
    rule: int  # address of a rule that another package brings, or 0
    asked_type: int  # what it is asked: the type of a request, and the paths that it may take, a bit for each
    asked_paths: int
    miss_model: int  # how far the waits expected by the model are off, mean
    miss_count: int  # and those by the work under way

    # Where sections begin, and how long each is.
    allowed: Within[Words]  # types: a bit for each path
    keyed: Within[Words]  # types: code of the dependency, and READS
    base: Within[Words]  # types x paths: T
    toll: Within[Words]
    limit: Within[Words]  # a JCT beyond it tells of a queue
    main: Within[Words]  # the resource that the request keeps busy longest
    first: Within[Words]  # types x paths + 1: place of the first load
    resource: Within[Words]  # loads
    load: Within[Words]
    slack: Within[Words]  # backlog that delays nobody, of a resource that serves several at a time
    count: Within[Words]  # paths: requests under way
    khat: Within[Words]
    intra: Within[Words]  # last intra-host JCT, NONE at first
    e2e: Within[Words]
    done: Within[Words]
    offset: Within[Words]  # what T has turned out to be beyond the table's
    used: Within[Words]  # order of the last request
    away: Within[Words]  # longest time on the network of late
    oldest: Within[Words]  # of the requests under way
    newest: Within[Words]
    low_now: Within[Words]  # least time beyond T, of the last requests and of those before
    low_last: Within[Words]
    low_seen: Within[Words]
    surplus: Within[Words]  # what waits come to beyond the work under way
    excess: Within[Words]  # mean of what waits come to beyond those expected
    pending: Within[Words]  # resources: work of all requests under way
    backlog: Within[Words]  # work that is expected to be left
    share: Within[Words]  # WINDOW x ONE x share of the arrivals that come here
    work: Within[Words]  # WINDOW x mean work that an arrival brings
    sent: Within[Words]  # work so far
    scale: Within[Words]  # UNIT x time that a unit of work has turned out to take
    spent: Within[Words]  # time, and work, of busy spells that were measured
    dealt: Within[Words]
    mark_time: Within[Words]  # a request that waited: when it was sent
    mark_sent: Within[Words]  # SENT then
    mark_wait: Within[Words]  # its wait
    expected: Within[Words]  # sums of the waits of some requests, as expected
    waited: Within[Words]  # and as they were
    samples: Within[Words]
    rate_time: Within[Words]  # when a count of finished work began
    rate_work: Within[Words]  # that was finished since
    rate_count: Within[Words]  # by so many requests
    overtaking: Within[Words]  # how often of late requests overtook each other before it
    rows: Within[RequestRecord]  # rows, each with its words side by side: a request touches them together
    buckets: Within[Words]  # buckets: first entry
    entries: Within[KeyRecord]  # rows + 1 entries of keys, likewise
    started_rows: Within[Words]  # rows
    reserved2: Annotated[Words, 3]


WINDOW: Final = 64
WINDOW_SHIFT: Final = 6
ONE: Final = 1 << 20
UNIT: Final = 1 << 16
ENDLESS: Final = 1 << 60
READS: Final = 4
"""A bit added to the code of a dependency: requests of the type only read."""
SEVERAL: Final = -1
"""Path of an entry whose requests under way, all of them reads, are on several."""
PARKED: Final = 0
"""The entry of requests without a key, which wait while all their paths are down."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerances for the clocks and the network.

    Attributes:
        part: fraction of T by which a JCT must exceed it to indicate a queue.
        resolution_ns: resolution of the clocks; the larger of the two tolerances counts.
        network_ns: mean round-trip time on the network, with which iPipe's rule compares.
    """

    part: float = 0.01
    resolution_ns: float = 0.0
    network_ns: float = 0.0


@inlined
def row_of(memory: SelectorState, row: int) -> RequestRecord:
    """The request's row."""
    return memory.rows[row]


@inlined
def entry_of(memory: SelectorState, entry: int) -> KeyRecord:
    """The key's entry."""
    return memory.entries[entry]


def _used(table: Table) -> npt.NDArray[np.float64]:
    """``(types x paths, resources)`` loads, 0 where the type may not take the path."""
    used: npt.NDArray[np.float64] = np.where(table.allowed[:, :, None], table.load, 0.0)
    return used.reshape(-1, table.load.shape[2])


def make_memory(table: Table, policy: AnyPolicy, rows: int, seed: int, times: Tolerance) -> Memory:
    """Make the memory of a selector that has learned nothing yet."""
    kinds, paths, resources = table.load.shape
    pairs = kinds * paths
    loads = int(np.count_nonzero(_used(table)))
    buckets = 1 << max(4, (2 * rows - 1).bit_length())
    sizes = (
        (SelectorState.allowed, SelectorState.base, kinds),
        (SelectorState.base, SelectorState.first, pairs),
        (SelectorState.first, SelectorState.resource, pairs + 1),
        (SelectorState.resource, SelectorState.count, loads),
        (SelectorState.count, SelectorState.pending, paths),
        (SelectorState.pending, SelectorState.rows, resources),
        (SelectorState.rows, SelectorState.buckets, rows * RequestRecord.WORDS),
        (SelectorState.buckets, SelectorState.entries, buckets),
        (SelectorState.entries, SelectorState.started_rows, (rows + 1) * KeyRecord.WORDS),
    )
    lengths = {which: length for first, end, length in sizes for which in range(offset(first), offset(end))}
    lengths[offset(SelectorState.started_rows)] = rows
    memory = with_sections(SelectorState, lengths.items())
    state = SelectorState(memory)
    state.policy, state.types, state.paths, state.resources = policy.code, kinds, paths, resources
    state.row_count, state.bucket_count = rows, buckets
    state.rule = policy.address
    state.random = int(np.random.default_rng(seed).integers(1, 2**62))
    state.free = 1
    state.network = round(times.network_ns * PS)

    _fill(memory, lengths, table, times)
    return memory


def _fill(memory: Memory, lengths: Mapping[int, int], table: Table, times: Tolerance) -> None:
    """Write the table of known times, and the initial state."""
    kinds, paths, _ = table.load.shape
    pairs, rows = kinds * paths, int(memory[SelectorState.row_count])
    used = _used(table)
    places = [np.flatnonzero(row) for row in used]
    loads = sum(map(len, places))

    def fill(which: object, values: npt.ArrayLike) -> None:
        section(memory, which, lengths[offset(which)])[:] = values

    bits = 1 << np.arange(paths)
    fill(SelectorState.allowed, (table.allowed * bits).sum(axis=1))
    reads = table.reads or (False,) * kinds
    fill(SelectorState.keyed, [d.code | READS * r for d, r in zip(table.dependency, reads, strict=True)])
    base = np.rint(np.where(table.allowed, table.base, 0.0) * PS).ravel()
    fill(SelectorState.base, base)
    fill(SelectorState.limit, base + np.maximum(np.rint(base * times.part), round(times.resolution_ns * PS)))
    work = np.rint(used * PS).astype(np.int64)
    fill(SelectorState.toll, work.sum(axis=1))
    fill(SelectorState.first, np.concatenate([[0], np.cumsum([len(p) for p in places])]))
    fill(SelectorState.main, used.argmax(axis=1))
    for i, row in enumerate(places):
        begin = int(section(memory, SelectorState.first, pairs)[i])
        for j, resource in enumerate(row):
            amount = int(work[i, resource])
            section(memory, SelectorState.resource, loads)[begin + j] = resource
            section(memory, SelectorState.load, loads)[begin + j] = amount
            section(memory, SelectorState.slack, loads)[begin + j] = amount * (table.capacity[resource] - 1)
    for field in (
        SelectorState.intra,
        SelectorState.e2e,
        SelectorState.oldest,
        SelectorState.newest,
        SelectorState.buckets,
    ):
        fill(field, NONE)
    fill(SelectorState.scale, UNIT)
    fill(SelectorState.mark_wait, NONE)
    fill(SelectorState.low_now, ENDLESS)
    fill(SelectorState.low_last, ENDLESS)
    each_row = section(memory, SelectorState.rows, rows * RequestRecord.WORDS).reshape(rows, RequestRecord.WORDS)
    each_row[:, [RequestRecord.entry, RequestRecord.next]] = NONE
    each_row[:, RequestRecord.path] = IDLE
    entries = section(memory, SelectorState.entries, (rows + 1) * KeyRecord.WORDS).reshape(rows + 1, KeyRecord.WORDS)
    entries[:, [KeyRecord.head, KeyRecord.tail]] = NONE
    entries[:, KeyRecord.next] = [NONE, *range(2, rows + 1), NONE] if rows else [NONE]
