# SPDX-License-Identifier: Apache-2.0
"""``ebs.lookup``: where the blocks of a read lie, in three steps as Solar's (specification section 9).

1. *QoS*: each volume has a token bucket. A read of ``blocks`` takes ``blocks`` x 4096 tokens or is told to wait.
2. *Block table*: a volume's segments of 512 blocks (2 MiB) follow each other in one table, from the volume's ``first``;
   an entry has the storage server (4 bytes) and one more than the segment's number (4), 0 where nothing is stored.
3. *Address table*: the address of each numbered segment (8 bytes), 0 where there is none.

A bucket fills at ``rate`` tokens a tick up to ``burst``. Ticks come with the request; a device that has a clock
substitutes its own. A tick before the last one counts as that one.

Request: volume (4 bytes), blocks (4), first block (8), tick (8). Answer: outcome (4), server (4), address in bytes (8);
server and address are 0 unless the outcome is FOUND. A read that is not FOUND takes no tokens.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

from offramp.device import DeviceMemory, Message
from offramp_base.errors import OfframpError
from offramp_base.wire.structures import StructFormat

NAME: Final = "ebs.lookup"
REQUEST: Final = StructFormat(
    "Request", "A read of `blocks` from `start`.", volume="u32", blocks="u32", start="u64", tick="u64"
)
ANSWER: Final = StructFormat("Place", "Where the blocks are.", outcome="u32", server="u32", address="u64")
BLOCK: Final = 4096
SEGMENT: Final = 512
"""Blocks per segment."""

VOLUME: Final = StructFormat(
    "Volume",
    "A line of the table of volumes; `first` is an entry of the block table, `tick` that of the last read.",
    first="u32",
    spare="u32",
    blocks="u64",
    rate="u64",
    burst="u64",
    tokens="u64",
    tick="u64",
    spares="u64[2]",
)


class EbsStatus(IntEnum):
    """The outcome of a look-up."""

    FOUND = 0
    NO_VOLUME = 1
    OUT_OF_RANGE = 2  # blocks that the volume does not have, or none asked for
    SPLIT = 3  # the blocks lie in two segments: ask for each
    UNMAPPED = 4  # nothing was ever written there
    WAIT = 5  # the token bucket is too empty


class TableLayout:
    """Addresses of the three tables in a device's memory, one after the other, each at a multiple of 64 bytes."""

    def __init__(self, volumes: int, entries: int, segments: int) -> None:
        """Place tables with this number of volumes, entries of the block table and segments."""
        self.volumes, self.entries, self.segments = volumes, entries, segments
        self.blocks_at = volumes * VOLUME.size
        self.addresses_at = self.blocks_at + -(-entries * 8 // 64) * 64
        self.size = self.addresses_at + -(-segments * 8 // 64) * 64


class EbsTables:
    """The tables in a device's memory, as the host writes them; ``lookup`` is what a device does with them."""

    def __init__(self, memory: DeviceMemory, layout: TableLayout) -> None:
        """Empty tables.

        Raises:
            OfframpError: they do not fit.
        """
        if layout.size > memory.size:
            raise OfframpError(f"ebs tables: {layout.size} bytes, the memory has {memory.size}")
        self.layout = layout
        self._memory = memory
        self._used = 0
        memory.write(0, bytes(layout.size))

    def add_volume(self, volume: int, blocks: int, rate: int, burst: int) -> None:
        """Give ``volume`` room for ``blocks``, and a full bucket of ``burst`` bytes that fills at ``rate`` a tick.

        Raises:
            OfframpError: it exists, or does not fit.
        """
        if not 0 <= volume < self.layout.volumes or self._volume(volume)[2]:
            raise OfframpError(f"ebs volume {volume}: expected an unused one below {self.layout.volumes}")
        entries = -(-blocks // SEGMENT)
        if blocks < 1 or self._used + entries > self.layout.entries:
            raise OfframpError(
                f"ebs volume {volume} of {blocks} blocks: {self.layout.entries - self._used} segments left"
            )
        if not 0 <= rate < 1 << 32 or not 0 <= burst < 1 << 32:
            raise OfframpError(f"ebs volume {volume}: rate {rate}, burst {burst}: expected 32 bits each")
        self._memory.write(volume * VOLUME.size, VOLUME.pack(self._used, 0, blocks, rate, burst, burst, 0, 0, 0))
        self._used += entries

    def map(self, volume: int, segment: int, server: int, number: int, address: int) -> None:
        """Map ``segment`` of ``volume`` to ``server``, as its segment ``number``, at ``address``.

        Raises:
            OfframpError: there is no such volume, segment or number, or the address is 0.
        """
        known = 0 <= volume < self.layout.volumes
        first, _, blocks, *_ = self._volume(volume) if known else (0, 0, 0)
        if not 0 <= segment < -(-blocks // SEGMENT) or not 0 <= number < self.layout.segments:
            raise OfframpError(f"ebs volume {volume}: no segment {segment} that could be number {number}")
        if not 0 < address < 1 << 64 or not 0 <= server < 1 << 32:
            raise OfframpError(
                f"ebs volume {volume}: server {server}, address {address}: expected 32 and 64 bits, not 0"
            )
        self._memory.write(self.layout.addresses_at + number * 8, struct.pack("<Q", address))
        self._memory.write(self.layout.blocks_at + (first + segment) * 8, struct.pack("<II", server, number + 1))

    def lookup(self, message: Message) -> bytes:
        """The answer to a request; takes tokens from the volume's bucket.

        Raises:
            OfframpError: the message is not a request.
        """
        if len(message) != REQUEST.size:
            raise OfframpError(f"ebs: a request of {len(message)} bytes, expected {REQUEST.size}")
        volume, count, start, tick = REQUEST.unpack(message)
        outcome, server, address = self._find(volume, count, start)
        if outcome is EbsStatus.FOUND and not self._take(volume, count * BLOCK, tick):
            outcome = EbsStatus.WAIT
        return ANSWER.pack(outcome, server, address) if outcome is EbsStatus.FOUND else ANSWER.pack(outcome, 0, 0)

    def _find(self, volume: int, count: int, start: int) -> tuple[EbsStatus, int, int]:
        if volume >= self.layout.volumes or not self._volume(volume)[2]:
            return EbsStatus.NO_VOLUME, 0, 0
        first, _, blocks, *_ = self._volume(volume)
        if not 0 < count <= blocks or start > blocks - count:
            return EbsStatus.OUT_OF_RANGE, 0, 0
        segment, within = divmod(start, SEGMENT)
        if within + count > SEGMENT:
            return EbsStatus.SPLIT, 0, 0
        server, stored = struct.unpack("<II", self._memory.read(self.layout.blocks_at + (first + segment) * 8, 8))
        if not 0 < stored <= self.layout.segments:
            return EbsStatus.UNMAPPED, 0, 0
        (base,) = struct.unpack("<Q", self._memory.read(self.layout.addresses_at + (stored - 1) * 8, 8))
        if not base:
            return EbsStatus.UNMAPPED, 0, 0
        return EbsStatus.FOUND, server, base + within * BLOCK & (1 << 64) - 1

    def _take(self, volume: int, tokens: int, tick: int) -> bool:
        first, _, blocks, rate, burst, held, last, *_ = self._volume(volume)
        now = max(tick, last)
        held = min(burst, held + min(now - last, (1 << 32) - 1) * rate)
        if held < tokens:
            return False
        line = VOLUME.pack(first, 0, blocks, rate, burst, held - tokens, now, 0, 0)
        self._memory.write(volume * VOLUME.size, line)
        return True

    def _volume(self, volume: int) -> tuple[int, ...]:
        return VOLUME.unpack(self._memory.read(volume * VOLUME.size, VOLUME.size))
