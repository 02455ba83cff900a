# SPDX-License-Identifier: Apache-2.0
"""Memories of an FPGA card as the host fills and reads them."""

from __future__ import annotations

import struct
from typing import Final, Protocol

from offramp.device import Message
from offramp.leo.devices.fpga_link import READ, TABLE, WRITE
from offramp.leo.memory import HostMemory

KVS, EBS, COPIES = range(3)
"""Numbers of memories: index of ``kvs.lookup``; tables of ``ebs.lookup``; host's, accelerator's and NIC's in a row."""

_SIZES: Final = struct.Struct("<BIII")
_PLACE: Final = struct.Struct("<BQ")
_LENGTH: Final = struct.Struct("<I")
_PIECE: Final = 1 << 16


class CardMemoryTarget(Protocol):
    """Device to which a memory's contents are sent, and from which they are read."""

    def post(self, operation: int, message: bytes) -> None:
        """Send a message that needs no answer."""

    def ask(self, operation: int, message: bytes) -> bytes:
        """Send a request and wait for the answer."""


class CardMemory:
    """A memory on the card, with a copy of what the host wrote, for a card that is restarted.

    Attributes:
        size: size in bytes.
    """

    def __init__(self, device: CardMemoryTarget, number: int, size: int, sizes: tuple[int, ...]) -> None:
        """Memory ``number`` of ``size`` bytes, which the card allocates from ``sizes``."""
        self.size = size
        self._device, self._number = device, number
        self._sizes = (*sizes, 0, 0)[:3]
        self._copy = HostMemory(size)

    def write(self, offset: int, content: Message) -> None:
        """Write ``content`` at ``offset``; requests submitted later see it.

        Raises:
            OfframpError: it does not fit, or the device is gone.
        """
        self._copy.write(offset, content)
        raw = bytes(content)
        for at in range(0, len(raw), _PIECE):
            self._device.post(WRITE, _PLACE.pack(self._number, offset + at) + raw[at : at + _PIECE])

    def read(self, offset: int, length: int) -> bytes:
        """Read ``length`` bytes at ``offset``; the index, which only the host writes, is read from the copy.

        Raises:
            OfframpError: it does not lie inside, or the device is gone.
        """
        copy = self._copy.read(offset, length)
        if self._number == KVS:
            return copy
        pieces = range(offset, offset + length, _PIECE)
        return b"".join(self._piece(at, min(_PIECE, offset + length - at)) for at in pieces)

    def _piece(self, at: int, length: int) -> bytes:
        return self._device.ask(READ, _PLACE.pack(self._number, at) + _LENGTH.pack(length))

    def restore(self) -> None:
        """Write the host's copy of this memory to the card again."""
        self._device.post(TABLE, _SIZES.pack(self._number, *self._sizes))
        for at in range(0, self.size, _PIECE):
            piece = self._copy.read(at, min(_PIECE, self.size - at))
            if any(piece):
                self._device.post(WRITE, _PLACE.pack(self._number, at) + piece)
