# SPDX-License-Identifier: Apache-2.0
"""Driver of ``reduce``: the sum of up to eight vectors of any length."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from offramp_pynq.engine import Core, Engine
from offramp_pynq.packets import Answer, request
from offramp_pynq.registers import REDUCE_REGS, REDUCE_REGS_VERSION

ELEMENT = {0: 4, 1: 4, 2: 4, 3: 2}
"""Bytes of an element, by type."""


class Reduce(Engine):
    """Binds to the engine in an overlay."""

    REGISTERS = REDUCE_REGS
    VERSION = REDUCE_REGS_VERSION

    def __init__(self, core: Core) -> None:
        """Bind, and ask what fits."""
        super().__init__(core)
        self.capacity = self.read_register("CAPACITY") * self.read_register("LANES")
        """Bytes of a vector that the engine keeps; longer ones go in parts."""

    def total(self, kind: int, vectors: Sequence[bytes], number: int = 0) -> Answer:
        """The sum of vectors of equal length; the first part that fails ends it."""
        length = len(vectors[0]) if vectors else 0
        parts = []
        for start in range(0, max(length, 1), self.capacity):
            pieces = [vector[start : start + self.capacity] for vector in vectors]
            size = len(pieces[0]) if pieces else 0
            head = struct.pack("<BBHI", kind, len(pieces), 0, size // ELEMENT.get(kind, 4))
            answer = self.exchange(
                request(head, number, pieces, self.BEAT), -(-size // self.BEAT) * self.BEAT + self.BEAT
            )
            if answer.status:
                return answer
            parts.append(answer.payload[:size])
        return Answer(0, length // ELEMENT.get(kind, 4), number, b"".join(parts))
