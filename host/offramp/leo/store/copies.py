# SPDX-License-Identifier: Apache-2.0
"""Copies of the store's most requested values, and their places, which are in the index of every device.

The store's own processor has all keys. A device has an index of the copies; values that it finds there are read from
the host's memory (:mod:`offramp.leo.native.copies`), all others from the store. The copies are a guard of their keys
(:mod:`offramp.leo.store.guard`): a change is in the copy before any client learns of it.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.leo.functions import kvs
from offramp.leo.native.copies import COPY_BYTES, HEAD_BYTES, MOST_VALUE, CopyHeader
from offramp.leo.store.guard import Changed, Guarded, KeyGuard
from offramp_base.errors import OfframpError

Words = npt.NDArray[np.int64]
KEY_BYTES: Final = 8
_PERIOD_S: Final = 0.02
"""Seconds between two looks at which keys are requested."""
_AT_ONCE: Final = 256
"""Most keys that are added per look."""
_AWAY_S: Final = 0.1
"""Seconds between two attempts to reach a store that is gone."""
_OFTEN: Final = 2
"""Requests for a key without a copy before it replaces the oldest copy."""


class StoreCopies:
    """The copies in a host's memory; belongs to one thread. Each call does the work that is due.

    Args:
        memory: memory of the host; copies lie in its first ``first + count * COPY_BYTES`` bytes.
        first: bytes at the beginning that are left alone; address 0 means that there is no copy.
        count: number of copies.
        indexes: indexes of the host's processor and of each device.
        asked: number of requests to the store for each key; emptied here.
        guard: connects to the store.
    """

    def __init__(
        self,
        memory: Words,
        first: int,
        count: int,
        indexes: Sequence[kvs.KeyIndex],
        asked: Counter[bytes],
        guard: Callable[[], KeyGuard],
    ) -> None:
        self._memory, self._first, self._indexes, self._asked = memory, first, indexes, asked
        self._connect = guard
        self._guard: KeyGuard | None = None
        self._tried_at = self._looked_at = 0.0
        self._free = list(range(count))[::-1]
        self._held: OrderedDict[bytes, int] = OrderedDict()
        self._coming: set[bytes] = set()
        for number in range(count):
            self._copy(number).there = 0

    @property
    def held(self) -> frozenset[bytes]:
        """Keys that have a copy."""
        return frozenset(self._held)

    def __call__(self) -> bool:
        """Do the work that is due; returns whether there was any."""
        if self._guard is None and not self._reach():
            return False
        assert self._guard is not None
        try:
            events = self._guard.poll()
            self._hear(events)
            return self._choose() or bool(events)
        except OfframpError:
            self.close()
            return True

    def close(self) -> None:
        """Remove all copies from the indexes, since changes are no longer reported."""
        for key in list(self._held):
            self._drop(key)
        self._coming.clear()
        if self._guard is not None:
            self._guard.close()
            self._guard = None

    def _reach(self) -> bool:
        if time.monotonic() - self._tried_at < _AWAY_S:
            return False
        self._tried_at = time.monotonic()
        try:
            self._guard = self._connect()
        except OfframpError:
            return False
        return True

    def _hear(self, events: list[Guarded | Changed]) -> None:
        last = 0
        for event in events:
            if isinstance(event, Guarded):
                self._coming.discard(event.key)
                self._keep(event.key, event.value)
            else:
                last = event.number
                self._change(event)
        if last and self._guard is not None:
            self._guard.release(last)

    def _change(self, event: Changed) -> None:
        if event.key is None:
            for key in list(self._held):
                self._give_up(key)
        elif event.key in self._held:
            if event.value is None or len(event.value) > MOST_VALUE:
                self._give_up(event.key)
            else:
                self._write(self._held[event.key], event.key, event.value)

    def _choose(self) -> bool:
        """Make copies of the most requested keys that have none, replacing the oldest."""
        assert self._guard is not None
        now = time.monotonic()
        if not self._asked or now - self._looked_at < _PERIOD_S:
            return False
        self._looked_at = now
        wanted = [
            key
            for key, times in self._asked.most_common(_AT_ONCE)
            if len(key) == KEY_BYTES and key not in self._coming and key not in self._held
            if times >= (1 if len(self._free) > len(self._coming) else _OFTEN)
        ]
        self._asked.clear()
        if wanted:
            self._guard.add(wanted)
            self._coming.update(wanted)
        return bool(wanted)

    def _keep(self, key: bytes, value: bytes | None) -> None:
        assert self._guard is not None
        if value is None:
            return
        if len(value) > MOST_VALUE:
            self._guard.remove([key])
            return
        if not self._free:
            self._give_up(next(iter(self._held)))
        number = self._free.pop()
        place = self._first + number * COPY_BYTES
        self._write(number, key, value)
        name = int.from_bytes(key, "little")
        inserted: list[kvs.KeyIndex] = []
        try:
            for index in self._indexes:
                index.insert(name, place)
                inserted.append(index)
        except OfframpError:  # an index that has no room for this key
            for index in inserted:
                index.remove(name)
            self._copy(number).there = 0
            self._free.append(number)
            self._guard.remove([key])
            return
        self._held[key] = number

    def _give_up(self, key: bytes) -> None:
        self._drop(key)
        if self._guard is not None:
            self._guard.remove([key])

    def _drop(self, key: bytes) -> None:
        number = self._held.pop(key)
        self._copy(number).there = 0
        for index in self._indexes:
            index.remove(int.from_bytes(key, "little"))
        self._free.append(number)

    def _write(self, number: int, key: bytes, value: bytes) -> None:
        head = self._copy(number)
        head.key, head.length, head.there = int.from_bytes(key, "little", signed=True), len(value), 1
        start = self._first + number * COPY_BYTES + HEAD_BYTES
        self._memory.view(np.uint8)[start : start + len(value)] = np.frombuffer(value, np.uint8)

    def _copy(self, number: int) -> CopyHeader:
        return CopyHeader(self._memory[(self._first + number * COPY_BYTES) // 8 :])
