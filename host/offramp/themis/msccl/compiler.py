# SPDX-License-Identifier: Apache-2.0
"""A plan as an MSCCL program.

Every connection has a thread block that sends and one that receives. They run the operations of a dimension in the
plan's order, the same on every GPU. The messages have one global order in which each needs only earlier ones, and every
thread block keeps it, so the program cannot deadlock, however few chunks a connection holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from typing import Final

from offramp.themis.kinds import Collective, DimensionTopology
from offramp.themis.messages import CollectiveAlgorithm
from offramp.themis.msccl.program import (
    MOST_BLOCKS,
    MOST_CHANNELS,
    MOST_COUNT,
    MOST_STEPS,
    GpuBuffer,
    GpuProgram,
    MscclProgram,
    Place,
    Step,
    StepType,
    ThreadBlock,
)
from offramp.themis.msccl.transfers import PeerTransfer, algorithm_of, peer_transfers
from offramp.themis.network import Network, coordinates
from offramp.themis.plan import CollectivePlan
from offramp.themis.schedule import ChunkOperation
from offramp_base.errors import OfframpError

_MOST_GPUS: Final = 256
_MOST_UNITS: Final = 4
"""Units of a chunk, on average, where chunks differ in size."""


def program_of(
    plan: CollectivePlan, *, channels: int = 1, in_place: bool = True, protocol: str = "Simple"
) -> MscclProgram:
    """The program of a plan for one collective.

    Args:
        plan: the plan; chunks of unequal sizes are rounded to whole units.
        channels: parts of each chunk, which have connections and thread blocks of their own.
        in_place: whether input and output share memory.
        protocol: ``Simple``, ``LL`` or ``LL128``.

    Raises:
        OfframpError: the plan has several collectives, an all-to-all or sums in the network, or exceeds what MSCCL's
            runtime takes.
    """
    if len(plan.demands) != 1 or plan.demands[0].dims is not None:
        raise OfframpError("MSCCL: expected a plan for one collective of all GPUs")
    if plan.network.npus > _MOST_GPUS:
        raise OfframpError(f"MSCCL: {plan.network.npus} GPUs: expected at most {_MOST_GPUS}")
    if not 1 <= channels <= MOST_CHANNELS:
        raise OfframpError(f"MSCCL: {channels} channels: expected 1 to {MOST_CHANNELS}")
    if any(d.size > 1 and d.kind is DimensionTopology.IN_NETWORK for d in plan.network.dimensions):
        raise OfframpError("MSCCL: in-network dimension: expected dimensions whose GPUs send each other messages")
    if plan.demands[0].collective is Collective.ALL_TO_ALL:
        raise OfframpError("MSCCL: expected an all-reduce, a reduce-scatter or an all-gather, not an all-to-all")
    layout = _Layout.of(plan, channels)
    collective = plan.demands[0].collective
    compiler = _Compiler(plan.network, layout, _working_buffer(collective, in_place))
    if not in_place:
        compiler.copy(_copies_in(collective, layout))
    stages = plan.stages()
    for operation in plan.timeline.operations:
        *past, stage = stages[operation.chunk][: operation.place + 1]
        held = _held(collective, past, len(layout.sizes))
        for lane in range(layout.lanes):
            compiler.stage(operation.chunk, lane, stage, held)
    if not in_place and collective is Collective.REDUCE_SCATTER:
        compiler.copy(_copies_out(layout))
    gpus = compiler.programs()
    return MscclProgram(str(plan.scheduler), collective, protocol, layout.chunks, in_place, gpus)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Positions of the blocks in a buffer: for every chunk of the plan and every lane, one block for each GPU.

    Attributes:
        sizes: sizes of the dimensions.
        units: MSCCL's chunks in a block, for every chunk of the plan.
        lanes: parts of a chunk, one for each channel and direction of rings.
        ways: directions of rings.
        orders: for an all-reduce, each chunk's order of dimensions, so that what travels together lies together; None
            where every GPU's blocks lie together.
    """

    sizes: tuple[int, ...]
    units: tuple[int, ...]
    lanes: int
    ways: int
    orders: tuple[tuple[int, ...], ...] | None
    _before: tuple[int, ...]

    @classmethod
    def of(cls, plan: CollectivePlan, channels: int) -> _Layout:
        """The layout for a plan."""
        rings = [d for d in plan.network.dimensions if d.kind is DimensionTopology.RING and d.size > 2]
        ways = 2 if any(not ring.one_way for ring in rings) else 1
        chunks = plan.schedules[0].chunks
        orders = None
        if plan.demands[0].collective is Collective.ALL_REDUCE:
            orders = tuple(chunk.reduce for chunk in chunks)
        units = _units([chunk.size for chunk in chunks])
        before = tuple(accumulate(units, initial=0))
        return cls(tuple(d.size for d in plan.network.dimensions), units, ways * channels, ways, orders, before)

    @property
    def per_gpu(self) -> int:
        """MSCCL's chunks of one GPU's blocks."""
        return self._before[-1] * self.lanes

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return math.prod(self.sizes)

    @property
    def chunks(self) -> int:
        """MSCCL's chunks of the blocks of all GPUs."""
        return self.per_gpu * self.gpus

    def offset(self, chunk: int, lane: int, block: tuple[int, ...]) -> int:
        """First of the MSCCL chunks of a block, which belongs to the GPU with these coordinates."""
        units, before = self.units[chunk], self._before[chunk] * self.lanes
        if self.orders is None:
            return rank_of(block, self.sizes) * self.per_gpu + before + lane * units
        place = 0
        for k in self.orders[chunk]:  # the dimension that is visited first varies slowest
            place = place * self.sizes[k] + block[k]
        return (before + lane * units) * self.gpus + place * units

    def runs(self, chunk: int, lane: int, blocks: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
        """Blocks as contiguous parts: offset and count, of which MSCCL moves each in one step."""
        units = self.units[chunk]
        first = end = -1
        for offset in sorted(self.offset(chunk, lane, block) for block in blocks):
            if offset != end or end + units - first > MOST_COUNT:
                if first >= 0:
                    yield first, end - first
                first = offset
            end = offset + units
        if first >= 0:
            yield first, end - first


def _units(sizes: Sequence[float]) -> tuple[int, ...]:
    """Whole numbers in the proportion of sizes, ones if they differ by little."""
    least, most = min(sizes), max(sizes)
    if most - least <= max(1.0, most / 64):
        return (1,) * len(sizes)
    scale = _MOST_UNITS * len(sizes) / sum(sizes)
    return tuple(max(1, round(size * scale)) for size in sizes)


def _working_buffer(collective: Collective, in_place: bool) -> GpuBuffer:
    """The buffer in which blocks of all GPUs lie."""
    if collective is Collective.REDUCE_SCATTER:
        return GpuBuffer.INPUT if in_place else GpuBuffer.SCRATCH
    return GpuBuffer.OUTPUT if collective is Collective.ALL_GATHER or not in_place else GpuBuffer.INPUT


def _copies_in(collective: Collective, layout: _Layout) -> list[list[tuple[Place, Place, int]]]:
    """For every GPU: what of the input is copied to where in the working buffer, and how many chunks."""
    target = _working_buffer(collective, in_place=False)
    if collective is Collective.ALL_GATHER:
        own = layout.per_gpu
        return [
            [(Place(GpuBuffer.INPUT, at), Place(target, rank * own + at), count) for at, count in _pieces(own)]
            for rank in range(layout.gpus)
        ]
    each = [(Place(GpuBuffer.INPUT, at), Place(target, at), count) for at, count in _pieces(layout.chunks)]
    return [each] * layout.gpus


def _copies_out(layout: _Layout) -> list[list[tuple[Place, Place, int]]]:
    own = layout.per_gpu
    return [
        [(Place(GpuBuffer.SCRATCH, rank * own + at), Place(GpuBuffer.OUTPUT, at), count) for at, count in _pieces(own)]
        for rank in range(layout.gpus)
    ]


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    for at in range(0, size, MOST_COUNT):
        yield at, min(MOST_COUNT, size - at)


_BlockKey = tuple[int, int, int]
"""Peer to which a thread block sends or -1, from which it receives or -1, and channel."""


class _Gpu:
    """The thread blocks of a GPU, and who has last written and read each of its chunks."""

    def __init__(self) -> None:
        self.blocks: dict[_BlockKey, ThreadBlock] = {}
        self.numbers: dict[_BlockKey, int] = {}
        self._written: dict[Place, tuple[int, int]] = {}
        self._read: dict[Place, dict[int, int]] = {}
        self._past: dict[int, dict[int, int]] = {}

    def add(
        self,
        key: _BlockKey,
        kind: StepType,
        source: Place,
        target: Place,
        count: int,
        follows: tuple[int, int] | None = None,
    ) -> tuple[int, int]:
        """Append a step that waits for what it depends on: with a nop for all but the last of these.

        Returns the number of its thread block and its own; ``follows`` is a step that it waits for besides.

        Raises:
            OfframpError: the thread block has more steps than MSCCL's runtime takes.
        """
        number = self.numbers.setdefault(key, len(self.numbers))
        block = self.blocks.setdefault(key, ThreadBlock(*key, []))
        waits = self._needs(number, kind, source, target, count, follows)
        last = waits.pop() if waits else None
        nowhere = Place(GpuBuffer.INPUT, 0)
        for need in waits:
            block.steps.append(Step(StepType.NOP, nowhere, nowhere, 0, need))
        step = Step(kind, source, target, count, last)
        block.steps.append(step)
        if len(block.steps) > MOST_STEPS:
            raise OfframpError(f"MSCCL: more than {MOST_STEPS} steps in a thread block: expected fewer chunks")
        self._touch(number, len(block.steps) - 1, step)
        return number, len(block.steps) - 1

    def _needs(
        self,
        number: int,
        kind: StepType,
        source: Place,
        target: Place,
        count: int,
        follows: tuple[int, int] | None,
    ) -> list[tuple[int, int]]:
        """Steps of other thread blocks that have to be done, beyond those for which this one has waited before."""
        latest: dict[int, int] = {}

        def need(block: int, step: int) -> None:
            latest[block] = max(step, latest.get(block, -1))

        if follows is not None:
            need(*follows)
        for at in range(count):
            for place, used, writes in ((source, kind.reads, False), (target, kind.writes, True)):
                if used:
                    here = Place(place.buffer, place.offset + at)
                    if here in self._written:
                        need(*self._written[here])
                    if writes:
                        for block, step in self._read.get(here, {}).items():
                            need(block, step)
        past = self._past.setdefault(number, {})
        needed = [(b, s) for b, s in sorted(latest.items()) if b != number and s > past.get(b, -1)]
        past.update(needed)
        return needed

    def _touch(self, number: int, at: int, step: Step) -> None:
        for k in range(step.count):
            if step.type.reads:
                self._read.setdefault(Place(step.source.buffer, step.source.offset + k), {})[number] = at
            if step.type.writes:
                here = Place(step.target.buffer, step.target.offset + k)
                self._written[here] = number, at
                self._read.pop(here, None)

    def program(self, scratch: int) -> GpuProgram:
        """The thread blocks, with those steps marked for which others wait."""
        blocks = list(self.blocks.values())
        for block in blocks:
            for step in block.steps:
                if step.after is not None:
                    blocks[step.after[0]].steps[step.after[1]].signals = True
        return GpuProgram(blocks, scratch)


class _Compiler:
    """The programs of all GPUs while messages are added to them, in the global order."""

    def __init__(self, network: Network, layout: _Layout, buffer: GpuBuffer) -> None:
        self.network, self.layout, self.buffer = network, layout, buffer
        self.gpus = [_Gpu() for _ in range(network.npus)]
        self.places = [coordinates(rank, layout.sizes) for rank in range(network.npus)]
        self._sent: dict[tuple[int, int, int], tuple[int, int]] = {}
        """Last step that sends, by GPU, dimension and channel."""

    def copy(self, copies: Sequence[Sequence[tuple[Place, Place, int]]]) -> None:
        """Copy within each GPU, in a thread block without peers."""
        for gpu, pieces in zip(self.gpus, copies, strict=True):
            for source, target, count in pieces:
                gpu.add((-1, -1, 0), StepType.COPY, source, target, count)

    def stage(self, chunk: int, lane: int, stage: ChunkOperation, held: frozenset[int]) -> None:
        """The messages of one stage of a chunk, on all lines of GPUs along its dimension.

        ``held`` are the dimensions on which a GPU has only the blocks of its own coordinate before it.
        """
        dimension, ways = self.network.dimensions[stage.dim], self.layout.ways
        backwards = not dimension.one_way and lane % ways == 1
        lines = [place for place in self.places if place[stage.dim] == 0]
        shared = algorithm_of(dimension, stage.stage) is CollectiveAlgorithm.HALVING_DOUBLING
        before = dict(self._sent) if shared else {}
        for message in peer_transfers(dimension, stage.stage, backwards=backwards):
            for line in lines:
                blocks = product(
                    *(
                        message.blocks if k == stage.dim else (line[k],) if k in held else range(size)
                        for k, size in enumerate(self.layout.sizes)
                    )
                )
                for offset, count in self.layout.runs(chunk, lane, blocks):
                    self._send(stage.dim, line, message, lane // ways, Place(self.buffer, offset), count, before)

    def _send(
        self,
        dim: int,
        line: tuple[int, ...],
        message: PeerTransfer,
        channel: int,
        place: Place,
        count: int,
        before: dict[tuple[int, int, int], tuple[int, int]],
    ) -> None:
        source, sink = (
            rank_of((*line[:dim], c, *line[dim + 1 :]), self.layout.sizes) for c in (message.source, message.sink)
        )
        kind = StepType.RECEIVE_REDUCE_COPY if message.adds else StepType.RECEIVE
        port = source, dim, channel
        follows = before.get(port)
        self._sent[port] = self.gpus[source].add((sink, -1, channel), StepType.SEND, place, place, count, follows)
        self.gpus[sink].add((-1, source, channel), kind, place, place, count)

    def programs(self) -> list[GpuProgram]:
        """The programs of all GPUs.

        Raises:
            OfframpError: a GPU has more thread blocks than MSCCL's runtime takes.
        """
        gpus = [gpu.program(self.layout.chunks if self.buffer is GpuBuffer.SCRATCH else 0) for gpu in self.gpus]
        blocks = max(len(gpu.blocks) for gpu in gpus)
        if blocks > MOST_BLOCKS:
            raise OfframpError(f"MSCCL: {blocks} thread blocks on a GPU: expected at most {MOST_BLOCKS}")
        return gpus


def rank_of(place: Sequence[int], sizes: Sequence[int]) -> int:
    """Rank of the NPU with these coordinates; dim1 varies fastest."""
    rank = 0
    for size, c in zip(reversed(sizes), reversed(place), strict=True):
        rank = rank * size + c
    return rank


def _held(collective: Collective, past: Sequence[ChunkOperation], dims: int) -> frozenset[int]:
    """Dimensions on which a GPU has only the blocks of its own coordinate after these stages."""
    held = set(range(dims)) if collective is Collective.ALL_GATHER else set()
    for stage in past:
        if stage.stage is Collective.REDUCE_SCATTER:
            held.add(stage.dim)
        elif stage.stage is Collective.ALL_GATHER:
            held.discard(stage.dim)
    return frozenset(held)
