# SPDX-License-Identifier: Apache-2.0
"""Answers due from an engine of :mod:`offramp.leo.dma`."""

from __future__ import annotations

from collections.abc import Sequence

from offramp.device import DeviceMemory, Status
from offramp.leo import dma


def check(wanted: dma.Descriptor, sizes: Sequence[int]) -> Status:
    """An engine's verdict on a descriptor before it moves anything; ``sizes`` of the three memories, in bytes."""
    if wanted.opcode != dma.COPY or wanted.reserved:
        return Status.UNKNOWN_FUNCTION
    if max(wanted.source_memory, wanted.destination_memory) >= len(dma.MemoryRegion):
        return Status.OUT_OF_BOUNDS
    ends = wanted.source + wanted.length, wanted.destination + wanted.length
    if ends[0] > sizes[wanted.source_memory] or ends[1] > sizes[wanted.destination_memory]:
        return Status.OUT_OF_BOUNDS
    same = wanted.source_memory == wanted.destination_memory
    if same and wanted.length and wanted.source < ends[1] and wanted.destination < ends[0]:
        return Status.FAILED  # what a copy onto itself leaves would depend on the order of its beats
    return Status.OK


def carry_out(wanted: dma.Descriptor, memories: Sequence[DeviceMemory]) -> bytes:
    """Copy, and give the completion: what an engine does."""
    status = check(wanted, [memory.size for memory in memories])
    if status is Status.OK and wanted.length:
        content = memories[wanted.source_memory].read(wanted.source, wanted.length)
        memories[wanted.destination_memory].write(wanted.destination, content)
    return dma.COMPLETION.pack(status, wanted.length if status is Status.OK else 0, wanted.request)
