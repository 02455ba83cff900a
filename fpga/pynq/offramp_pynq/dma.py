# SPDX-License-Identifier: Apache-2.0
"""An engine in an overlay of PYNQ's: registers by MMIO, packets by AMD's AXI DMA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pynq import allocate

from offramp_pynq.engine import MOST


class PynqCore:
    """See :class:`offramp_pynq.engine.Core`."""

    beat = 16  # engines with wider streams have a register that tells

    def __init__(self, core: Any, dmas: Sequence[Any]) -> None:
        """Take the overlay's ``pynq.DefaultIP``, and one ``pynq.lib.dma.DMA`` for each of the engine's ways."""
        self._mmio, self._device = core.mmio, core.device
        self.ways = [DmaStreams(dma, core.device) for dma in dmas]

    def read(self, offset: int) -> int:
        """A register."""
        return int(self._mmio.read(offset))

    def write(self, offset: int, value: int) -> None:
        """Set a register."""
        self._mmio.write(offset, value)

    def allocate(self, size: int) -> Any:
        """A ``pynq.buffer.PynqBuffer``.

        Raises:
            MemoryError: there is no more.
        """
        return allocate(shape=(size,), dtype=np.uint8, target=self._device)

    def begin(self, packet: bytes, room: int, way: int) -> None:
        """Start both transfers."""
        self.ways[way].begin(packet, room)

    def finish(self, way: int) -> bytes:
        """Wait for the end; returns what came back."""
        return self.ways[way].finish()


class DmaStreams:
    """A DMA engine, and a buffer to the engine and one back."""

    def __init__(self, dma: Any, device: Any) -> None:
        """Allocate the buffers."""
        self.dma = dma
        self.to, self.back = (allocate(shape=(MOST,), dtype=np.uint8, target=device) for _ in range(2))

    def begin(self, packet: bytes, room: int) -> None:
        """Start both transfers."""
        self.to[: len(packet)] = np.frombuffer(packet, np.uint8)
        self.dma.recvchannel.transfer(self.back, nbytes=room)
        self.dma.sendchannel.transfer(self.to, nbytes=len(packet))

    def finish(self) -> bytes:
        """Wait for the end; returns what came back."""
        self.dma.sendchannel.wait()
        self.dma.recvchannel.wait()
        return bytes(self.back[: self.dma.recvchannel.transferred].tobytes())
