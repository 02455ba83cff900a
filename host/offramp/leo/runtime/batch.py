"""Requests handed over together, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class Batch(NamedTuple):
    """Requests, one an element.

    Attributes:
        types: index of each request's type.
        keys: which order those of one key; 0 where the type has no dependency.
        payload: bytes in which the messages lie.
        offsets, sizes: of each message.
        lasts: the payload stays as it is until the requests have ended, so that it need not be copied.
    """

    types: Words
    keys: Words
    payload: Bytes
    offsets: Words
    sizes: Words
    lasts: bool = False

    def part(self, start: int, end: int | None = None) -> Batch:
        """Some of them."""
        some = slice(start, end)
        return Batch(self.types[some], self.keys[some], self.payload, self.offsets[some], self.sizes[some], self.lasts)


@dataclass(frozen=True, slots=True)
class Completions:
    """Requests that have ended, one an element; times in ns of the requester's clock; answers soon overwritten.

    Attributes:
        rows: where each one's answer lies in ``memory``.
        memory: ``(rows, bytes)``: answers of all requests of the requester.
    """

    users: Words
    statuses: Words
    paths: Words
    jct_ns: Words
    begun_ns: Words
    ended_ns: Words
    lengths: Words
    rows: Words
    memory: Bytes

    @property
    def count(self) -> int:
        """How many."""
        return len(self.users)

    def answer(self, i: int) -> bytes:
        """What one was answered."""
        return self.memory[self.rows[i], : int(self.lengths[i])].tobytes()
