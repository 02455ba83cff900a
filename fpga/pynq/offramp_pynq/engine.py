# SPDX-License-Identifier: Apache-2.0
"""The base of all drivers: a register map that must be the known one, and packets; needs nothing of PYNQ or XRT."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from offramp_pynq.packets import Answer, answer

MAGIC = 0x4F465250
MOST = 1 << 18
"""Bytes of a packet."""


class WrongRegisterMap(RuntimeError):
    """The overlay's register map is of another version than this driver's."""


class Core(Protocol):
    """An engine in a card, by whatever the card is reached."""

    @property
    def beat(self) -> int:
        """Bytes of a beat of its streams."""

    def read(self, offset: int) -> int:
        """A register."""

    def write(self, offset: int, value: int) -> None:
        """Set a register."""

    def allocate(self, size: int) -> Any:
        """A buffer of bytes that the engine reaches at its ``physical_address``; it has ``flush`` and ``invalidate``.

        Raises:
            MemoryError: the card has no more.
        """

    def begin(self, packet: bytes, room: int, way: int) -> None:
        """Send a packet, whose answer has at most ``room`` bytes."""

    def finish(self, way: int) -> bytes:
        """Wait for the end; returns what came back."""


class Engine:
    """The driver of an engine."""

    REGISTERS: ClassVar[dict[str, int]] = {"MAGIC": 0, "VERSION": 4, "CONTROL": 8, "STATUS": 12}
    VERSION: ClassVar[int] = 0

    def __init__(self, core: Core) -> None:
        """Bind.

        Raises:
            WrongRegisterMap: it is not an engine of Offramp, or has another version of the register map.
        """
        self.core, self.BEAT = core, core.beat
        magic, version = self.read_register("MAGIC"), self.read_register("VERSION")
        if magic != MAGIC or version != self.VERSION:
            raise WrongRegisterMap(
                f"{type(self).__name__}: the overlay has register map {magic:08x} version {version:08x}, "
                f"expected {MAGIC:08x} version {self.VERSION:08x}: load the overlay that came with this driver"
            )

    def read_register(self, name: str) -> int:
        """The register's value."""
        return self.core.read(self.REGISTERS[name])

    def write_register(self, name: str, value: int) -> None:
        """Set the register."""
        self.core.write(self.REGISTERS[name], value)

    def abort(self) -> None:
        """End what is unfinished with ABORTED."""
        self.write_register("CONTROL", 1)

    def exchange(self, packet: bytes, room: int, way: int = 0) -> Answer:
        """Send a request packet and wait for its answer of at most ``room`` bytes; ``way``: by which streams.

        Raises:
            ValueError: one of them is longer than a buffer.
        """
        self.begin(packet, room, way)
        return self.finish(way)

    def begin(self, packet: bytes, room: int, way: int = 0) -> None:
        """Send a request packet, whose answer :meth:`finish` waits for.

        Raises:
            ValueError: one of them is longer than a buffer.
        """
        if max(len(packet), room) > MOST:
            raise ValueError(f"a packet of {max(len(packet), room)} bytes, the buffers have {MOST}")
        self.core.begin(packet, room, way)

    def finish(self, way: int = 0) -> Answer:
        """The answer to what was begun."""
        return answer(self.core.finish(way), self.BEAT)
