# SPDX-License-Identifier: Apache-2.0
"""Driver of ``ebs_lookup``: the three tables in the board's memory, and many reads at once."""

from __future__ import annotations

import struct
from typing import Any

from offramp_pynq.engine import Engine
from offramp_pynq.packets import Answer, request
from offramp_pynq.registers import EBS_LOOKUP_REGS, EBS_LOOKUP_REGS_VERSION

REQUEST, ANSWER, LINE = 24, 16, 64
READS = 512
"""Most reads of a packet."""


class EbsLookup(Engine):
    """Binds to the engine in an overlay."""

    REGISTERS = EBS_LOOKUP_REGS
    VERSION = EBS_LOOKUP_REGS_VERSION

    def allocate_tables(self, volumes: int, entries: int, segments: int) -> Any:
        """A zeroed buffer for tables of these lengths, one behind the other, which reads are looked up in from now on.

        Raises:
            ValueError: one of them is empty.
        """
        if min(volumes, entries, segments) < 1:
            raise ValueError(
                f"tables of {volumes} volumes, {entries} entries, {segments} segments: expected some of each"
            )
        entries_at = volumes * LINE
        addresses_at = entries_at + -(-entries * 8 // LINE) * LINE
        size = addresses_at + -(-segments * 8 // LINE) * LINE
        tables = self.core.allocate(size)
        tables[:] = 0
        tables.flush()
        self.write_register("BASE_LOW", tables.physical_address & 0xFFFFFFFF)
        self.write_register("BASE_HIGH", tables.physical_address >> 32)
        self.write_register("VOLUMES", volumes)
        self.write_register("ENTRIES", entries_at)
        self.write_register("ADDRESSES", addresses_at)
        self.write_register("SEGMENTS", segments)
        return tables

    def lookup(self, reads: bytes, number: int = 0) -> Answer:
        """The results of reads of 24 bytes each, 16 bytes for each as the payload of an answer.

        Raises:
            ValueError: there are more than ``READS``, or one is cut off.
        """
        count, rest = divmod(len(reads), REQUEST)
        if rest or count > READS:
            raise ValueError(f"{len(reads)} bytes: expected {REQUEST} for each of at most {READS} reads")
        packet = request(struct.pack("<II", 0, 3 * count), number, [reads], self.BEAT)
        answer = self.exchange(packet, ANSWER * count + self.BEAT)
        return answer._replace(payload=answer.payload[: ANSWER * count])
