# SPDX-License-Identifier: Apache-2.0
"""Peer-to-peer copies between the memories of host, accelerator and NIC: descriptors and their meaning.

A descriptor (32 bytes): opcode, source memory, destination memory, 0 (1 byte each), length (4), request (8), source
address (8), destination address (8). Its completion (16): status (1), 3 spare bytes, bytes copied (4), request (8). All
is little-endian. The engine moves what host CPUs can only move in pieces of 64 bytes (thesis, section 6.3).
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, NamedTuple

NAME: Final = "p2p.copy"
DESCRIPTOR: Final = struct.Struct("<BBBBIQQQ")
COMPLETION: Final = struct.Struct("<B3xIQ")
COPY: Final = 1
MOST: Final = (1 << 32) - 1
"""Most bytes of a copy."""


class MemoryRegion(IntEnum):
    """The memory of a device."""

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
        """The descriptor's bytes, as an engine reads it."""
        return DESCRIPTOR.pack(*self)
