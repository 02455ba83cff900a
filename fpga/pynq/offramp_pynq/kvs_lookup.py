# SPDX-License-Identifier: Apache-2.0
"""Driver of ``kvs_lookup``: a table in the board's memory, and look-ups of many keys at once."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from offramp_pynq.engine import Engine
from offramp_pynq.packets import Answer, request
from offramp_pynq.registers import KVS_LOOKUP_REGS, KVS_LOOKUP_REGS_VERSION

LINE = 64
KEYS = 1024
"""Most keys of a packet."""


class KvsLookup(Engine):
    """Binds to the engine in an overlay."""

    REGISTERS = KVS_LOOKUP_REGS
    VERSION = KVS_LOOKUP_REGS_VERSION

    def allocate_table(self, buckets: int) -> Any:
        """A zeroed buffer for an index of this many buckets, a power of two, which look-ups read from now on.

        Raises:
            ValueError: it is not a power of two.
        """
        if buckets < 1 or buckets & (buckets - 1):
            raise ValueError(f"a table of {buckets} buckets: expected a power of two")
        table = self.core.allocate(buckets * LINE)
        table[:] = 0
        table.flush()
        self.write_register("BASE_LOW", table.physical_address & 0xFFFFFFFF)
        self.write_register("BASE_HIGH", table.physical_address >> 32)
        self.write_register("MASK", buckets - 1)
        return table

    def lookup(self, keys: Any, number: int = 0) -> Answer:
        """The addresses of ``keys`` (uint64), 0 where unknown, as the payload of an answer.

        Raises:
            ValueError: there are more than ``KEYS``.
        """
        wanted = np.ascontiguousarray(keys, "<u8")
        if len(wanted) > KEYS:
            raise ValueError(f"{len(wanted)} keys, a packet takes {KEYS}")
        packet = request(struct.pack("<II", 0, len(wanted)), number, [wanted.tobytes()], self.BEAT)
        answer = self.exchange(packet, -(-wanted.nbytes // self.BEAT) * self.BEAT + self.BEAT)
        return answer._replace(payload=answer.payload[: wanted.nbytes])
