# SPDX-License-Identifier: Apache-2.0
"""Execution of an MSCCL program: the thread blocks of all GPUs, chunk by chunk, as MSCCL's interpreter runs them.

A step waits for the step that it names, then moves its chunks one after the other. A connection holds a few chunks that
are sent and not yet received. A watcher sees every access to memory; a timing says how long a chunk takes.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from offramp.themis.msccl.program import SLOTS, MscclProgram, Step, ThreadBlock

Connection = tuple[int, int, int]
"""Sending rank, receiving rank and channel."""


SILENT: Final = ", which signals nothing"
"""End of the reason of a wait that nothing can end."""


class StepWatcher(Protocol):
    """Sees what the thread blocks do, in an order that their waiting allows."""

    def wait(self, block: RunningBlock, signal: tuple[int, int]) -> None:
        """A block has waited for a step: number of its block, and step."""

    def signal(self, block: RunningBlock) -> None:
        """A block's step, for which others may wait, is done."""

    def move(self, block: RunningBlock, step: Step, unit: int, arrived: Any) -> Any:
        """Do a chunk of a step with what has arrived, if it receives; returns what it sends."""


class ChunkTiming(Protocol):
    """Says when a chunk can leave its sender, when it has left, and when it has arrived."""

    def free(self, source: int, sink: int) -> int:
        """Picosecond from which a chunk may leave."""

    def carry(self, source: int, sink: int, now: int) -> tuple[int, int]:
        """Picoseconds at which a chunk that leaves ``now`` has left, and has arrived."""


@dataclass(slots=True)
class RunningBlock:
    """A thread block while it runs.

    Attributes:
        number: its number among those of all GPUs.
        rank, index: its GPU, and its number there.
        program: its steps.
        at, unit: current step, and the chunk of it.
        waits: the reason for which it cannot go on, for people.
    """

    number: int
    rank: int
    index: int
    program: ThreadBlock
    at: int = 0
    unit: int = 0
    waited: bool = False
    waits: str = ""

    def __str__(self) -> str:
        return f"gpu {self.rank} tb {self.index} step {self.at}"


@dataclass(slots=True)
class _ConnectionQueue:
    """Chunks of a connection: arrival, step's count, chunk of the step, and what a watcher attached."""

    queue: deque[tuple[int, int, int, Any]] = field(default_factory=deque)
    receiver: RunningBlock | None = None
    sender: RunningBlock | None = None


class Engine:
    """Runs a program to its end, or until no thread block can go on."""

    def __init__(
        self, program: MscclProgram, watcher: StepWatcher | None = None, timing: ChunkTiming | None = None
    ) -> None:
        self.program, self.watcher, self.timing = program, watcher, timing
        self.blocks: list[RunningBlock] = []
        self._first: list[int] = []
        for rank, gpu in enumerate(program.gpus):
            self._first.append(len(self.blocks))
            for index, block in enumerate(gpu.blocks):
                self.blocks.append(RunningBlock(len(self.blocks), rank, index, block))
        self.finish_ps = 0
        self.mismatches: list[str] = []
        self._signals = [[at for at, s in enumerate(b.program.steps) if s.signals] for b in self.blocks]
        self._done = [-1] * len(self.blocks)
        self._waiters: dict[int, list[RunningBlock]] = defaultdict(list)
        self._channels: dict[Connection, _ConnectionQueue] = defaultdict(_ConnectionQueue)
        self._slots = SLOTS[program.protocol]
        self._events: list[tuple[int, int, RunningBlock]] = []
        self._count = 0

    def run(self) -> list[RunningBlock]:
        """Run; returns the blocks that cannot go on."""
        for block in self.blocks:
            self._later(0, block)
        while self._events:
            now, _, block = heapq.heappop(self._events)
            self.finish_ps = max(self.finish_ps, now)
            self._advance(block, now)
        return [block for block in self.blocks if block.at < len(block.program.steps)]

    def left(self) -> Iterator[tuple[Connection, int]]:
        """Connections with chunks that were sent and never received, and how many."""
        for connection, channel in self._channels.items():
            if channel.queue:
                yield connection, len(channel.queue)

    def target(self, block: RunningBlock, after: tuple[int, int]) -> tuple[int, int] | None:
        """The step that ends a wait: the first from the named one on that signals; None if none does."""
        number = self._first[block.rank] + after[0]
        at = bisect_left(self._signals[number], after[1])
        return (number, self._signals[number][at]) if at < len(self._signals[number]) else None

    def _later(self, time: int, block: RunningBlock) -> None:
        self._count += 1
        heapq.heappush(self._events, (time, self._count, block))

    def _advance(self, block: RunningBlock, now: int) -> None:
        steps = block.program.steps
        while block.at < len(steps):
            step = steps[block.at]
            if not block.waited and not self._waited(block, step):
                return
            while block.unit < step.count:
                free = self._move(block, step, now)
                if free is None:
                    return
                block.unit += 1
                if free > now:
                    self._later(free, block)
                    return
            self._complete(block, step, now)

    def _waited(self, block: RunningBlock, step: Step) -> bool:
        if step.after is not None:
            signal = self.target(block, step.after)
            if signal is None or self._done[signal[0]] < signal[1]:
                block.waits = f"step {step.after[1]} of tb {step.after[0]}"
                if signal is not None:
                    self._waiters[signal[0]].append(block)
                else:
                    block.waits += SILENT
                return False
            if self.watcher is not None:
                self.watcher.wait(block, signal)
        block.waited = True
        return True

    def _move(self, block: RunningBlock, step: Step, now: int) -> int | None:
        """Move a chunk; returns the time at which the block is free, None if it has to wait."""
        program, channel = block.program, block.program.channel
        arrived = None
        coming = self._channels[program.receive, block.rank, channel] if step.type.receives else None
        going = self._channels[block.rank, program.send, channel] if step.type.sends else None
        if coming is not None:
            if not coming.queue:
                coming.receiver, block.waits = block, f"a chunk from gpu {program.receive}"
                return None
            if coming.queue[0][0] > now:
                self._later(coming.queue[0][0], block)
                return None
        if going is not None and len(going.queue) >= self._slots:
            going.sender, block.waits = block, f"gpu {program.send} to receive"
            return None
        if going is not None and self.timing is not None:
            free = self.timing.free(block.rank, program.send)
            if free > now:
                self._later(free, block)
                return None
        if coming is not None:
            _, count, unit, arrived = coming.queue.popleft()
            if (count, unit) != (step.count, block.unit) and len(self.mismatches) < 8:
                self.mismatches.append(
                    f"{block} receives {step.count} chunks, of which chunk {block.unit} is chunk {unit} of {count} "
                    f"that gpu {program.receive} sends"
                )
            if coming.sender is not None:
                self._later(now, coming.sender)
                coming.sender = None
        sent = None if self.watcher is None else self.watcher.move(block, step, block.unit, arrived)
        if going is None:
            return now
        left, arrival = (now, now) if self.timing is None else self.timing.carry(block.rank, program.send, now)
        going.queue.append((arrival, step.count, block.unit, sent))
        self.finish_ps = max(self.finish_ps, left)
        if going.receiver is not None:
            self._later(arrival, going.receiver)
            going.receiver = None
        return left

    def _complete(self, block: RunningBlock, step: Step, now: int) -> None:
        if step.signals:
            self._done[block.number] = block.at
            if self.watcher is not None:
                self.watcher.signal(block)
            for waiter in self._waiters.pop(block.number, ()):
                self._later(now, waiter)
        block.at += 1
        block.unit, block.waited, block.waits = 0, False, ""
