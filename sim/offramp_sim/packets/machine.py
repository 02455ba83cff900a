# SPDX-License-Identifier: Apache-2.0
"""The engine in machine code, and the arrays that it works on."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np

from offramp_base.native.arrays import Array, RecordArrays
from offramp_base.native.library import machine_code
from offramp_sim.packets import layout as at

NEVER_PS: Final = 1 << 62
_FIRST_ROOM: Final = 1 << 12


@cache
def _functions() -> tuple[Any, Any]:
    from offramp_sim.packets.loop import begin, run

    code, word = machine_code((begin, run)), ctypes.c_int64
    start = code.function("rt.begin", None, ctypes.c_void_p)
    start.code = code  # keeps the machine code alive
    return start, code.function("rt.run", word, ctypes.c_void_p, word, word)


class Machine(RecordArrays[at.Context]):
    """One simulation's memory."""

    def __init__(self) -> None:
        super().__init__(at.Context)
        self.fields.pool_free = -1
        self.give(at.Context.heap, np.zeros((_FIRST_ROOM, 3), np.int64))
        self.give(at.Context.packets, np.zeros((_FIRST_ROOM, at.Packet.WORDS), np.int64))
        self._note_sizes()

    def set_calendar(self, rows: Array) -> None:
        """Replace all events by ``rows``, a heap."""
        self.fields.heap_used = len(rows)
        self.give(at.Context.heap, rows)
        self._reserve()

    def begin(self) -> None:
        """All hosts start with the first block."""
        self._reserve()
        _functions()[0](self.address)

    def run(self, until_ps: int = NEVER_PS, *, wait_for_flows: bool) -> bool:
        """Simulate; returns whether all has ended (otherwise the time has, or nothing is left to happen)."""
        while True:
            ended = _functions()[1](self.address, until_ps, int(wait_for_flows))
            if ended != at.NEEDS_ROOM:
                return bool(ended == at.FINISHED_RUN)
            self._reserve()

    def _reserve(self) -> None:
        """Twice the room where it is short, and at least what one event may need."""
        context = self.fields
        for field, used in ((at.Context.heap, context.heap_used), (at.Context.packets, context.pool_used)):
            held = self[field]
            needed = used + 2 * context.margin
            if needed > len(held):
                larger = np.zeros((max(2 * len(held), needed), held.shape[1]), np.int64)
                larger[: len(held)] = held
                self.give(field, larger)
        self._note_sizes()

    def _note_sizes(self) -> None:
        self.fields.heap_size = len(self[at.Context.heap])
        self.fields.pool_size = len(self[at.Context.packets])
