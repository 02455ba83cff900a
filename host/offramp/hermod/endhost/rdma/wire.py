# SPDX-License-Identifier: Apache-2.0
"""What ends tell each other about queue pairs and memory, on control connections."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Self

from offramp.hermod.endhost.priorities import CoflowPriority
from offramp.hermod.endhost.wire import MEMORY_BYTES, MOST_DSCP, PAIR_BYTES
from offramp_base.errors import OfframpError

_PAIR: Final = struct.Struct("!BBxxII")
_MEMORY: Final = struct.Struct("!QI")
_NUMBERS: Final = 1 << 24
_MOST_LEVEL: Final = 15


@dataclass(frozen=True, slots=True)
class QueuePairAddress:
    """One end of a queue pair.

    Attributes:
        number: number of the queue pair, 24 bits.
        first: number of the first packet that it sends, 24 bits.
        dscp: DSCP of its packets, 0 to 63.
        level: service level, 0 to 15.
    """

    number: int
    first: int
    dscp: int
    level: int

    @property
    def mark(self) -> CoflowPriority:
        """The class of the packets as a mark."""
        return CoflowPriority((), self.dscp, 0, self.level)

    def pack(self) -> bytes:
        """The bytes that go on the wire."""
        return _PAIR.pack(self.dscp, self.level, self.number, self.first)

    @classmethod
    def unpack(cls, raw: bytes, rank: int) -> Self:
        """Read what a rank sent.

        Raises:
            OfframpError: another length, or numbers that no queue pair has.
        """
        if len(raw) == PAIR_BYTES:
            dscp, level, number, first = _PAIR.unpack(raw)
            if dscp <= MOST_DSCP and level <= _MOST_LEVEL and number < _NUMBERS and first < _NUMBERS:
                return cls(number, first, dscp, level)
        raise OfframpError(f"rank {rank} offers something that is no queue pair")


@dataclass(frozen=True, slots=True)
class RemoteMemory:
    """Registered memory of a peer: its address there, and the key that writes carry."""

    address: int
    key: int

    def pack(self) -> bytes:
        """The bytes that go on the wire."""
        return _MEMORY.pack(self.address, self.key)

    @classmethod
    def unpack(cls, raw: bytes, rank: int) -> Self:
        """Read what a rank sent.

        Raises:
            OfframpError: another length.
        """
        if len(raw) != MEMORY_BYTES:
            raise OfframpError(f"rank {rank} offers memory in {len(raw)} bytes, expected {MEMORY_BYTES}")
        return cls(*_MEMORY.unpack(raw))
