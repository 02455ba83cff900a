# SPDX-License-Identifier: Apache-2.0
"""The engine in machine code, and the arrays that it works on."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.native.arrays import Array, RecordArrays
from offramp_base.native.library import machine_code
from offramp_sim.packets import layout as at
from offramp_sim.packets.layout import BLOCK_BYTES, NEVER_PS

_FIRST_EVENTS: Final = 1 << 10
_FIRST_BLOCKS: Final = 1 << 10
_MOST_BLOCKS: Final = 1 << 18
"""Most blocks that are added at a time: 64 MiB."""


@cache
def _functions() -> tuple[Any, Any]:
    from offramp_sim.packets.loop import begin, run

    code, word = machine_code((begin, run)), ctypes.c_int64
    start = code.function("rt.begin", None, ctypes.c_void_p)
    start.code = code  # keeps the machine code alive
    return start, code.function("rt.run", word, ctypes.c_void_p, word, word)


class NetworkPartition(RecordArrays[at.PartitionState]):
    """Part of the network that one core simulates: its calendar and the blocks of its packets."""

    def __init__(self) -> None:
        super().__init__(at.PartitionState)
        self._segments: list[Array] = []
        self._fresh_end = 0
        self.give(at.PartitionState.heap, np.zeros((_FIRST_EVENTS, 3), np.int64))
        self.fields.heap_size = _FIRST_EVENTS
        self.fields.sent_low = NEVER_PS
        self.fields.place = -1
        self._give_starts()
        self._give_sorting(_FIRST_EVENTS)

    @property
    def bytes(self) -> int:
        """Bytes of the queues and of the calendar."""
        names = (at.PartitionState.heap, at.PartitionState.starts, at.PartitionState.keys, at.PartitionState.slots)
        return sum(len(each) * 8 for each in self._segments) + sum(self[name].nbytes for name in names)

    def set_calendar(self, rows: Array) -> None:
        """Replace all events by ``rows``, a heap."""
        self.give(at.PartitionState.heap, rows)
        self.fields.heap_used = self.fields.heap_size = len(rows)
        self._give_starts()

    def reserve(self) -> None:
        """Double the room if it is short, to at least the need of one event."""
        context = self.fields
        needed = context.heap_used + at.MOST_EVENTS
        if needed > context.heap_size:
            self.give(at.PartitionState.heap, _longer(self[at.PartitionState.heap], needed))
            context.heap_size = len(self[at.PartitionState.heap])
            starts = self[at.PartitionState.starts]
            self.give(at.PartitionState.starts, _longer(starts, context.heap_size))
        if context.place < 0 and context.gathered == context.sort_size:  # not while sorted arrivals are served
            self._give_sorting(2 * context.sort_size)
        if context.blocks_left < context.margin:
            count = sum(len(each) for each in self._segments) * 8 // BLOCK_BYTES
            self.add_blocks(max(min(count, _MOST_BLOCKS), _FIRST_BLOCKS, 2 * context.margin))

    def add_blocks(self, count: int) -> int:
        """Add empty blocks; returns the address of the first."""
        words = BLOCK_BYTES // 8
        segment = np.zeros((count + 1) * words, np.int64)
        self._segments.append(segment)
        first = -(-segment.ctypes.data // BLOCK_BYTES) * BLOCK_BYTES
        context = self.fields
        for block in range(context.fresh, self._fresh_end, BLOCK_BYTES):  # fewer than an event may need
            ctypes.c_int64.from_address(block).value = context.free_block
            context.free_block = block
        context.fresh, self._fresh_end = first, first + count * BLOCK_BYTES
        context.blocks_left += count
        return first

    def take_fresh(self, count: int) -> npt.NDArray[np.int64]:
        """Addresses of ``count`` empty blocks."""
        first = self.add_blocks(count)
        self.fields.fresh += count * BLOCK_BYTES
        self.fields.blocks_left -= count
        return first + np.arange(count) * BLOCK_BYTES

    def _give_starts(self) -> None:
        self.give(at.PartitionState.starts, np.zeros((self.fields.heap_size, at.FlowStart.WORDS), np.int64))

    def _give_sorting(self, size: int) -> None:
        for field in (at.PartitionState.keys, at.PartitionState.slots):
            old = self[field] if self.fields.sort_size else np.zeros(0, np.int64)
            self.give(field, np.concatenate([old, np.zeros(size - len(old), np.int64)]))
        for field in (at.PartitionState.sorted_keys, at.PartitionState.sorted_slots):
            self.give(field, np.zeros(size, np.int64))
        self.give(at.PartitionState.counts, np.zeros(size + 2, np.int64))
        self.fields.sort_size = size


class SimulationMemory:
    """One simulation's memory.

    Attributes:
        partitions: partitions of the network, one for each core.
        contexts: their words by name.
        wall_s: time that they have run.
    """

    def __init__(self, parts: int = 1) -> None:
        self.partitions = [NetworkPartition() for _ in range(parts)]
        self.contexts = [each.fields for each in self.partitions]
        self.wall_s = 0.0
        meetings = lines(2 * parts, at.Meeting.WORDS)
        returned = lines(2 * parts * parts, at.Returned.WORDS)
        for part, context in enumerate(self.contexts):
            context.part, context.parts = part, parts
        self.give(at.PartitionState.meetings, meetings)
        self.give(at.PartitionState.returned, returned)

    def give(self, field: object, array: npt.ArrayLike) -> Array:
        """Make a field of all partitions point to one array; returns the array."""
        held = np.ascontiguousarray(array)
        for each in self.partitions:
            each.give(field, held)
        return held

    def __getitem__(self, field: object) -> Array:
        """The array that a field of all partitions points to."""
        return self.partitions[0][field]

    def total(self, name: str) -> int:
        """The sum of a word over all partitions."""
        return sum(getattr(context, name) for context in self.contexts)

    def begin(self) -> None:
        """Start all hosts with the first block."""
        for each in self.partitions:
            each.reserve()
            _functions()[0](each.address)

    def run(self, until_ps: int = NEVER_PS - 1, *, wait_for_flows: bool) -> bool:
        """Simulate; returns whether everything has ended (otherwise the time has, or nothing is left to happen)."""
        _functions()
        ended = [0] * len(self.partitions)

        def simulate(part: int) -> None:
            ended[part] = self._run(self.partitions[part], until_ps, wait_for_flows)

        threads = [threading.Thread(target=simulate, args=(part,)) for part in range(1, len(self.partitions))]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        try:
            simulate(0)
        finally:
            for thread in threads:
                thread.join()
            self.wall_s += time.perf_counter() - begun
        if at.FAILED in ended:
            raise OfframpError("packet-level simulation: not enough memory")
        return ended[0] == at.FINISHED_RUN

    def _run(self, partition: NetworkPartition, until_ps: int, wait_for_flows: bool) -> int:
        run = _functions()[1]
        while True:
            try:
                ended = int(run(partition.address, until_ps, int(wait_for_flows)))
                if ended == at.NEEDS_ROOM:
                    partition.reserve()
                elif ended == at.WAITING:
                    os.sched_yield()
                else:
                    return ended
            except BaseException as error:
                self._give_up(partition)
                if isinstance(error, MemoryError):
                    return at.FAILED
                raise

    def _give_up(self, partition: NetworkPartition) -> None:
        """Tell the others at the end of this window, so that they do not wait."""
        context = partition.fields
        mine = self[at.PartitionState.meetings][((context.window + 1) & 1) * context.parts + context.part]
        mine[at.Meeting.failed] = 1
        mine[at.Meeting.window] = context.window + 1


def _longer(held: Array, needed: int) -> Array:
    larger = np.zeros((max(2 * len(held), needed), held.shape[1]), np.int64)
    larger[: len(held)] = held
    return larger


def lines(count: int, words: int) -> Array:
    """Records that each begin a cache line."""
    room = np.zeros((count + 1) * words, np.int64)
    skip = -(room.ctypes.data // 8) % 8
    return room[skip : skip + count * words].reshape(count, words)
