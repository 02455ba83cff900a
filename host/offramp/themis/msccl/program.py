# SPDX-License-Identifier: Apache-2.0
"""What an MSCCL program consists of, and the limits of MSCCL's runtime (``src/include/msccl.h``, MSCCL 2.12)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from offramp.themis.kinds import Collective

MOST_STEPS: Final = 256
"""Steps of a thread block (``MSCCL_MAX_NUM_STEPS``)."""
MOST_BLOCKS: Final = 216
"""Thread blocks of a GPU (``MSCCL_MAX_NUM_THREAD_BLOCKS``)."""
MOST_COUNT: Final = 71
"""Chunks that one step moves (below ``MSCCL_MAX_COUNT``)."""
MOST_CHANNELS: Final = 32
"""Channels (``MAXCHANNELS``)."""

COLLECTIVES: Final = {
    "allreduce": Collective.ALL_REDUCE,
    "reduce_scatter": Collective.REDUCE_SCATTER,
    "allgather": Collective.ALL_GATHER,
    "alltoall": Collective.ALL_TO_ALL,
}
SLOTS: Final = {"Simple": 2, "LL": 8, "LL128": 8}
"""Chunks that a connection holds between sender and receiver, by protocol (``NCCL_STEPS``, ``MSCCL_CHUNKSTEPS``)."""


class StepType(StrEnum):
    """What a step does; ``value`` is its name in XML."""

    SEND = "s"
    RECEIVE = "r"
    RECEIVE_COPY_SEND = "rcs"
    """Receive into the target, and send it on."""
    RECEIVE_REDUCE_SEND = "rrs"
    """Send the sum of what comes and the source; memory stays as it is."""
    RECEIVE_REDUCE_COPY = "rrc"
    """Write the sum of what comes and the source into the target."""
    RECEIVE_REDUCE_COPY_SEND = "rrcs"
    """The same, and send it on."""
    COPY = "cpy"
    REDUCE = "re"
    """Add the source to the target."""
    NOP = "nop"
    """Only wait."""

    @property
    def sends(self) -> bool:
        """Whether it sends."""
        return self in _SENDS

    @property
    def receives(self) -> bool:
        """Whether it receives."""
        return self in _RECEIVES

    @property
    def reads(self) -> bool:
        """Whether it reads the source."""
        return self in _READS

    @property
    def writes(self) -> bool:
        """Whether it writes the target."""
        return self in _WRITES


_SENDS: Final = frozenset({"s", "rcs", "rrs", "rrcs"})
_RECEIVES: Final = frozenset({"r", "rcs", "rrs", "rrc", "rrcs"})
_READS: Final = frozenset({"s", "rrs", "rrc", "rrcs", "cpy", "re"})
_WRITES: Final = frozenset({"r", "rcs", "rrc", "rrcs", "cpy", "re"})


class GpuBuffer(StrEnum):
    """A GPU's buffers."""

    INPUT = "i"
    OUTPUT = "o"
    SCRATCH = "s"


class Place(NamedTuple):
    """Position in a buffer, in chunks."""

    buffer: GpuBuffer
    offset: int


@dataclass(slots=True)
class Step:
    """A step of a thread block.

    Attributes:
        type: what it does.
        source, target: first chunks that it reads and writes.
        count: number of chunks.
        after: thread block of the same GPU and its step that must be done before, or None.
        signals: whether other thread blocks may wait for it.
    """

    type: StepType
    source: Place
    target: Place
    count: int
    after: tuple[int, int] | None = None
    signals: bool = False


@dataclass(slots=True)
class ThreadBlock:
    """Steps that run one after the other; ``send`` and ``receive`` are the peers on its channel, or -1."""

    send: int
    receive: int
    channel: int
    steps: list[Step]


@dataclass(slots=True)
class GpuProgram:
    """The thread blocks of a GPU, by number, and the number of its scratch chunks."""

    blocks: list[ThreadBlock]
    scratch: int = 0


@dataclass(slots=True)
class MscclProgram:
    """A collective.

    Attributes:
        name: name of the algorithm.
        collective: which collective.
        protocol: ``Simple``, ``LL`` or ``LL128``.
        chunks: chunks into which the larger of input and output is divided.
        in_place: whether input and output share memory.
        gpus: programs by rank.
    """

    name: str
    collective: Collective
    protocol: str
    chunks: int
    in_place: bool
    gpus: list[GpuProgram]

    @property
    def channels(self) -> int:
        """Number of channels."""
        return max((block.channel + 1 for gpu in self.gpus for block in gpu.blocks), default=1) or 1

    @property
    def input_chunks(self) -> int:
        """Chunks of a GPU's input."""
        return self.chunks // len(self.gpus) if self.collective is Collective.ALL_GATHER else self.chunks

    @property
    def output_chunks(self) -> int:
        """Chunks of a GPU's output."""
        return self.chunks // len(self.gpus) if self.collective is Collective.REDUCE_SCATTER else self.chunks

    def steps(self) -> Iterator[Step]:
        """All steps of all GPUs."""
        for gpu in self.gpus:
            for block in gpu.blocks:
                yield from block.steps
