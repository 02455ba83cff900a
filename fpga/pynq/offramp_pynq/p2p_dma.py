# SPDX-License-Identifier: Apache-2.0
"""Driver of ``p2p_dma``: copies between the memories of host, accelerator and NIC."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from offramp_pynq.engine import Core, Engine
from offramp_pynq.packets import Answer
from offramp_pynq.registers import P2P_DMA_REGS, P2P_DMA_REGS_VERSION

DESCRIPTOR = struct.Struct("<BBBBIQQQ")
"""Opcode, source and destination memory, 0, length, request, source and destination address."""

COPY = 1
LIMITS = ("HOST", "ACCELERATOR", "NIC")


class P2pDma(Engine):
    """Binds to the engine in an overlay."""

    REGISTERS = P2P_DMA_REGS
    VERSION = P2P_DMA_REGS_VERSION

    def __init__(self, core: Core) -> None:
        """Bind; a beat is what the engine says."""
        super().__init__(core)
        self.BEAT = self.read_register("LANES")
        self._starts = [0] * len(LIMITS)

    def allocate_memories(self, size: int) -> list[Any]:
        """Zeroed buffers of ``size`` bytes for the three memories, between which copies go from now on.

        Raises:
            ValueError: it is not a multiple of a beat.
        """
        if size < 1 or size % self.BEAT:
            raise ValueError(f"memories of {size} bytes: expected a multiple of {self.BEAT}")
        memories = [self.core.allocate(size) for _ in LIMITS]
        for memory in memories:
            memory[:] = 0
            memory.flush()
        self.use([memory.physical_address for memory in memories], size)
        return memories

    def use(self, starts: Sequence[int], size: int) -> None:
        """Say where the three memories of ``size`` bytes lie; a copy that would leave them is refused by the engine."""
        self._starts = list(starts)
        for name, start in zip(LIMITS, starts, strict=True):
            self.write_register(f"{name}_LOW", (start + size) & 0xFFFFFFFF)
            self.write_register(f"{name}_HIGH", (start + size) >> 32)

    def packet(self, descriptor: bytes) -> bytes:
        """A descriptor whose addresses count from the beginning of its memories, as the engine takes it."""
        opcode, source, destination, zero, length, number, *places = DESCRIPTOR.unpack(descriptor)
        moved = [
            (place + self._starts[memory]) & ((1 << 64) - 1) if memory < len(LIMITS) else place
            for memory, place in zip((source, destination), places, strict=True)
        ]
        packed = DESCRIPTOR.pack(opcode, source, destination, zero, length, number, *moved)
        return packed.ljust(self.BEAT, b"\0")

    def copy(self, descriptor: bytes) -> Answer:
        """Carry out a descriptor; ``count`` bytes were copied."""
        return self.exchange(self.packet(descriptor), self.BEAT)
