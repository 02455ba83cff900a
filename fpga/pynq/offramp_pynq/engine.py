# SPDX-License-Identifier: Apache-2.0
"""What all drivers share: a register map that must be the known one, and packets through a DMA engine."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pynq import allocate
from pynq.overlay import DefaultIP

from offramp_pynq.packets import Answer, answer

MAGIC = 0x4F465250
MOST = 1 << 18
"""Bytes of a packet."""


class WrongRegisterMap(RuntimeError):
    """The overlay's register map is of another version than this driver's."""


class Engine(DefaultIP):  # type: ignore[misc]
    """An engine with its DMA engine, once :meth:`attach` has named it."""

    bindto: ClassVar[list[str]] = []
    REGISTERS: ClassVar[dict[str, int]] = {"MAGIC": 0, "VERSION": 4, "CONTROL": 8, "STATUS": 12}
    VERSION: ClassVar[int] = 0
    BEAT: int = 16
    """Bytes of a beat in the overlay."""

    def __init__(self, description: dict[str, Any]) -> None:
        """Bind.

        Raises:
            WrongRegisterMap: it is no engine of Offramp, or has another version of the register map.
        """
        super().__init__(description)
        magic, version = self.read_register("MAGIC"), self.read_register("VERSION")
        if magic != MAGIC or version != self.VERSION:
            raise WrongRegisterMap(
                f"{type(self).__name__}: the overlay has register map {magic:08x} version {version:08x}, "
                f"expected {MAGIC:08x} version {self.VERSION:08x}: load the overlay that came with this driver"
            )
        self._ways: list[Way] = []

    def attach(self, *dmas: Any) -> None:
        """Use these, each a ``pynq.lib.dma.DMA``, with a buffer each way."""
        self._ways = [Way(dma, self.device) for dma in dmas]

    def read_register(self, name: str) -> int:
        """The register's value."""
        return int(self.mmio.read(self.REGISTERS[name]))

    def write_register(self, name: str, value: int) -> None:
        """Set the register."""
        self.mmio.write(self.REGISTERS[name], value)

    def abort(self) -> None:
        """End what is unfinished with ABORTED."""
        self.write_register("CONTROL", 1)

    def exchange(self, packet: bytes, room: int, way: int = 0) -> Answer:
        """Send a request packet and wait for its answer of at most ``room`` bytes; ``way``: by which DMA engine.

        Raises:
            ValueError: one of them is longer than a buffer.
        """
        self._ways[way].begin(packet, room)
        return self.finish(way)

    def begin(self, packet: bytes, room: int, way: int = 0) -> None:
        """Send a request packet, whose answer :meth:`finish` waits for.

        Raises:
            ValueError: one of them is longer than a buffer.
        """
        self._ways[way].begin(packet, room)

    def finish(self, way: int = 0) -> Answer:
        """The answer to what was begun."""
        return answer(self._ways[way].finish(), self.BEAT)


class Way:
    """A DMA engine, and a buffer to the engine and one back."""

    def __init__(self, dma: Any, device: Any) -> None:
        """Allocate the buffers."""
        self.dma = dma
        self.to, self.back = (allocate(shape=(MOST,), dtype=np.uint8, target=device) for _ in range(2))

    def begin(self, packet: bytes, room: int) -> None:
        """Start both transfers.

        Raises:
            ValueError: one of them is longer than a buffer.
        """
        if max(len(packet), room) > MOST:
            raise ValueError(f"a packet of {max(len(packet), room)} bytes, the buffers have {MOST}")
        self.to[: len(packet)] = np.frombuffer(packet, np.uint8)
        self.dma.recvchannel.transfer(self.back, nbytes=room)
        self.dma.sendchannel.transfer(self.to, nbytes=len(packet))

    def finish(self) -> bytes:
        """What came back."""
        self.dma.sendchannel.wait()
        self.dma.recvchannel.wait()
        return bytes(self.back[: self.dma.recvchannel.transferred].tobytes())
