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
        self._dma: Any = None

    def attach(self, dma: Any) -> None:
        """Use ``dma``, a ``pynq.lib.dma.DMA``, and allocate a buffer each way."""
        self._dma = dma
        self._to = allocate(shape=(MOST,), dtype=np.uint8, target=self.device)
        self._from = allocate(shape=(MOST,), dtype=np.uint8, target=self.device)

    def read_register(self, name: str) -> int:
        """The register's value."""
        return int(self.mmio.read(self.REGISTERS[name]))

    def write_register(self, name: str, value: int) -> None:
        """Set the register."""
        self.mmio.write(self.REGISTERS[name], value)

    def abort(self) -> None:
        """End what is unfinished with ABORTED."""
        self.write_register("CONTROL", 1)

    def exchange(self, packet: bytes, room: int) -> Answer:
        """Send a request packet and wait for its answer of at most ``room`` bytes.

        Raises:
            ValueError: one of them is longer than a buffer.
        """
        self.begin(packet, room)
        return self.finish()

    def begin(self, packet: bytes, room: int) -> None:
        """Send a request packet, whose answer :meth:`finish` waits for.

        Raises:
            ValueError: one of them is longer than a buffer.
        """
        if max(len(packet), room) > MOST:
            raise ValueError(f"a packet of {max(len(packet), room)} bytes, the buffers have {MOST}")
        self._to[: len(packet)] = np.frombuffer(packet, np.uint8)
        self._dma.recvchannel.transfer(self._from, nbytes=room)
        self._dma.sendchannel.transfer(self._to, nbytes=len(packet))

    def finish(self) -> Answer:
        """The answer to what was begun."""
        self._dma.sendchannel.wait()
        self._dma.recvchannel.wait()
        return answer(self._from[: self._dma.recvchannel.transferred].tobytes(), self.BEAT)
