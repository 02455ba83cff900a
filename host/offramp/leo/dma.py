# SPDX-License-Identifier: Apache-2.0
"""Peer-to-peer copies between the memories of host, accelerator and NIC: descriptors and their meaning.

A descriptor (32 bytes): opcode, source memory, destination memory, 0 (1 byte each), length (4), request (8), source
address (8), destination address (8). Its completion (16): status (1), 3 spare bytes, bytes copied (4), request (8). All
is little-endian. The engine moves what host CPUs can only move in pieces of 64 bytes (thesis, section 6.3).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from offramp.device import Memory, Status

NAME: Final = "p2p.copy"
DESCRIPTOR: Final = struct.Struct("<BBBBIQQQ")
COMPLETION: Final = struct.Struct("<B3xIQ")
COPY: Final = 1
MOST: Final = (1 << 32) - 1
"""Bytes of a copy."""


class Place(IntEnum):
    """A memory."""

    HOST = 0
    ACCELERATOR = 1
    NIC = 2


class Descriptor(NamedTuple):
    """A copy of ``length`` bytes; ``reserved`` is 0."""

    opcode: int
    source_memory: int
    destination_memory: int
    reserved: int
    length: int
    request: int
    source: int
    destination: int

    def pack(self) -> bytes:
        """As an engine reads it."""
        return DESCRIPTOR.pack(*self)


def check(wanted: Descriptor, sizes: Sequence[int]) -> Status:
    """What an engine says about a descriptor before it moves anything; ``sizes`` of the three memories, in bytes."""
    if wanted.opcode != COPY or wanted.reserved:
        return Status.UNKNOWN_FUNCTION
    if max(wanted.source_memory, wanted.destination_memory) >= len(Place):
        return Status.OUT_OF_BOUNDS
    ends = wanted.source + wanted.length, wanted.destination + wanted.length
    if ends[0] > sizes[wanted.source_memory] or ends[1] > sizes[wanted.destination_memory]:
        return Status.OUT_OF_BOUNDS
    same = wanted.source_memory == wanted.destination_memory
    if same and wanted.length and wanted.source < ends[1] and wanted.destination < ends[0]:
        return Status.FAILED  # what a copy onto itself leaves would depend on the order of its beats
    return Status.OK


def carry_out(wanted: Descriptor, memories: Sequence[Memory]) -> bytes:
    """Copy, and give the completion: what an engine does."""
    status = check(wanted, [memory.size for memory in memories])
    if status is Status.OK and wanted.length:
        content = memories[wanted.source_memory].read(wanted.source, wanted.length)
        memories[wanted.destination_memory].write(wanted.destination, content)
    return COMPLETION.pack(status, wanted.length if status is Status.OK else 0, wanted.request)
