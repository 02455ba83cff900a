# SPDX-License-Identifier: Apache-2.0
"""What is wrong with an MSCCL program: deadlocks, races, and results that are not the collective's.

The values are random 64-bit integers and sums wrap around, so a contribution that is missing or counted twice shows.
Two accesses to a chunk, one of which writes, race unless one happens before the other: by the order of a thread block,
a step's wait, or a message. These are the same in every execution, so one is enough to find a race if there is any.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.themis.kinds import Collective
from offramp.themis.msccl.program import SLOTS, GpuBuffer, MscclProgram, Place, Step, StepType
from offramp_base.errors import OfframpError
from offramp_sim.themis.msccl.engine import SILENT, Engine, RunningBlock

_MOST_CLOCKS: Final = 1 << 28
"""Most entries of the blocks' clocks, which are square in the number of thread blocks."""
_MOST_FAULTS: Final = 8
_WORDS: Final = 2
"""64-bit words of a chunk."""
_Words = npt.NDArray[np.uint64]
_Clock = npt.NDArray[np.int32]


def faults(program: MscclProgram, *, seed: int = 0) -> list[str]:
    """One line for each fault, at most a few of each kind; none if the program is right.

    Raises:
        OfframpError: the program has more thread blocks than can be checked.
    """
    blocks = sum(len(gpu.blocks) for gpu in program.gpus)
    if blocks * blocks > _MOST_CLOCKS:
        raise OfframpError(f"{blocks} thread blocks: expected at most {int(_MOST_CLOCKS**0.5)}")
    watcher = _GpuMemory(program, blocks, seed)
    engine = Engine(program, watcher)
    watcher.expect_waits(engine)
    stuck = engine.run()
    lines = [f"race: {line}" for line in watcher.races]
    lines += [f"mismatch: {line}" for line in engine.mismatches]
    if stuck:
        stuck.sort(key=lambda block: not block.waits.endswith(SILENT))  # the cause before its consequences
        shown = "; ".join(f"{block} waits for {block.waits}" for block in stuck[:3])
        held = f"a connection holds {SLOTS[program.protocol]} chunks"
        return [*lines, f"deadlock: {len(stuck)} thread blocks cannot go on, where {held}: {shown}"]
    for (source, sink, channel), count in engine.left():
        lines.append(f"mismatch: gpu {sink} never receives {count} chunks from gpu {source} on channel {channel}")
    return lines + watcher.wrong()


class _GpuMemory:
    """The GPUs' memory, and the clock of what happened before each access."""

    def __init__(self, program: MscclProgram, blocks: int, seed: int) -> None:
        self.program, self.gpus = program, len(program.gpus)
        scratch = max((gpu.scratch for gpu in program.gpus), default=0)
        ins, outs = program.input_chunks, program.output_chunks
        large = max(ins, outs)
        self._scratch_at = large if program.in_place else ins + outs
        self.memory: _Words = np.random.default_rng(seed).integers(
            0, 2**64, (self.gpus, self._scratch_at + scratch, _WORDS), np.uint64, endpoint=False
        )
        self._ins, self._outs = ins, outs
        self._first = [{buffer: self._at(rank, buffer) for buffer in GpuBuffer} for rank in range(self.gpus)]
        self.inputs = [
            self.memory[rank, self._first[rank][GpuBuffer.INPUT] :][:ins].copy() for rank in range(self.gpus)
        ]
        self.races: list[str] = []
        self._clocks: _Clock = np.zeros((blocks, blocks), np.int32)
        self._signals: dict[tuple[int, int], _Clock] = {}
        self._waits: Counter[tuple[int, int]] = Counter()
        self._written: dict[tuple[int, int], tuple[int, int, str]] = {}
        self._read: dict[tuple[int, int], dict[int, tuple[int, str]]] = {}

    def expect_waits(self, engine: Engine) -> None:
        """Count the waits for each step, after the last of which its clock is forgotten."""
        for block in engine.blocks:
            for step in block.program.steps:
                if step.after is not None and (signal := engine.target(block, step.after)) is not None:
                    self._waits[signal] += 1

    def _at(self, rank: int, buffer: GpuBuffer) -> int:
        """First cell of a buffer in a GPU's memory; in place, the smaller of input and output is part of the larger."""
        if buffer is GpuBuffer.SCRATCH:
            return self._scratch_at
        if not self.program.in_place:
            return self._ins if buffer is GpuBuffer.OUTPUT else 0
        mine = self._ins if buffer is GpuBuffer.INPUT else self._outs
        return rank * mine if mine < max(self._ins, self._outs) else 0

    def wait(self, block: RunningBlock, signal: tuple[int, int]) -> None:
        mine = self._clocks[block.number]
        np.maximum(mine, self._signals[signal], out=mine)
        self._waits[signal] -= 1
        if not self._waits[signal]:
            del self._signals[signal]

    def signal(self, block: RunningBlock) -> None:
        if self._waits[block.number, block.at]:
            self._signals[block.number, block.at] = self._clocks[block.number].copy()

    def move(self, block: RunningBlock, step: Step, unit: int, arrived: Any) -> Any:
        clock = self._clocks[block.number]
        value: _Words | None = None
        if arrived is not None:
            value, before = arrived
            np.maximum(clock, before, out=clock)
        clock[block.number] = block.at + 1
        if step.type.reads:
            cell = self._cell(block, step.source, unit)
            self._reads(block, cell, clock)
            mine = self.memory[cell]
            value = mine.copy() if value is None else value + mine
        if step.type.writes:
            cell = self._cell(block, step.target, unit)
            assert value is not None, "what writes has received or read"
            if step.type is StepType.REDUCE:
                self._reads(block, cell, clock)
                value = value + self.memory[cell]
            self._writes(block, cell, clock)
            self.memory[cell] = value
        return (value, clock.copy()) if step.type.sends else None

    def _cell(self, block: RunningBlock, place: Place, unit: int) -> tuple[int, int]:
        return block.rank, self._first[block.rank][place.buffer] + place.offset + unit

    def _reads(self, block: RunningBlock, cell: tuple[int, int], clock: _Clock) -> None:
        self._expect_before(self._written.get(cell), block, clock, cell, "reads")
        self._read.setdefault(cell, {})[block.number] = block.at + 1, str(block)

    def _writes(self, block: RunningBlock, cell: tuple[int, int], clock: _Clock) -> None:
        self._expect_before(self._written.get(cell), block, clock, cell, "writes")
        for number, (time, name) in self._read.pop(cell, {}).items():
            self._expect_before((number, time, name), block, clock, cell, "writes")
        self._written[cell] = block.number, block.at + 1, str(block)

    def _expect_before(
        self, access: tuple[int, int, str] | None, block: RunningBlock, clock: _Clock, cell: tuple[int, int], does: str
    ) -> None:
        if access is not None and clock[access[0]] < access[1] and len(self.races) < _MOST_FAULTS:
            self.races.append(f"{block} {does} chunk {cell[1]} of memory without waiting for {access[2]}")

    def wrong(self) -> list[str]:
        """Chunks of the output that are not the collective's."""
        lines: list[str] = []
        for rank in range(self.gpus):
            start = self._first[rank][GpuBuffer.OUTPUT]
            output = self.memory[rank, start : start + self._outs]
            differ = np.flatnonzero((output != self._expected(rank)).any(axis=1))
            if differ.size and len(lines) < _MOST_FAULTS:
                lines.append(
                    f"wrong result: gpu {rank}: {differ.size} of {self._outs} chunks of the output, the first of them "
                    f"chunk {differ[0]}"
                )
        return lines

    def _expected(self, rank: int) -> _Words:
        collective = self.program.collective
        if collective is Collective.ALL_GATHER:
            return np.concatenate(self.inputs)
        if collective is Collective.ALL_TO_ALL:
            own = self._ins // self.gpus
            return np.concatenate([row[rank * own : (rank + 1) * own] for row in self.inputs])
        total: _Words = np.add.reduce(np.stack(self.inputs))
        return total if collective is Collective.ALL_REDUCE else total[rank * self._outs : (rank + 1) * self._outs]
