# SPDX-License-Identifier: Apache-2.0
"""Batches of requests, and their completions."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class RequestBatch(NamedTuple):
    """A batch of requests, one per element.

    Attributes:
        types: index of each request's type.
        keys: requests of one key are ordered; 0 where the type has no dependency.
        payload: bytes that contain the messages.
        offsets, sizes: offset and size of each message.
        lasts: whether the payload stays unchanged until the requests have ended, so that it need not be copied.
    """

    types: Words
    keys: Words
    payload: Bytes
    offsets: Words
    sizes: Words
    lasts: bool = False

    def part(self, start: int, end: int | None = None) -> RequestBatch:
        """The requests from ``start`` to ``end``."""
        some = slice(start, end)
        return RequestBatch(
            self.types[some], self.keys[some], self.payload, self.offsets[some], self.sizes[some], self.lasts
        )


ROW, USER, STATUS, PATH, JCT, BEGUN, ENDED, LENGTH = range(8)
"""Rows of :attr:`Completions.words`, one column per request that has ended."""
COMPLETION_WORDS: Final = 8


class Completions:
    """Requests that have ended, one per element; times in ns of the requester's clock; answers are soon overwritten.

    Attributes:
        words: ``(8, count)`` words with the following rows.
        rows: row of each one's answer in ``memory``.
        users: the words that came with the requests.
        statuses: see :class:`offramp.device.Status`.
        paths: index of the path that each one took last.
        jct_ns: the intra-host part as the selector learns it.
        begun_ns, ended_ns: when each was admitted, and when its answer was there.
        lengths: length of each answer in bytes.
        memory: ``(rows, bytes)``: answers of all requests of the requester.
    """

    __slots__ = (
        "begun_ns",
        "ended_ns",
        "jct_ns",
        "lengths",
        "memory",
        "paths",
        "rows",
        "statuses",
        "users",
        "words",
    )

    def __init__(self, words: Words, memory: Bytes) -> None:
        """Completions that these words hold, and the memory where their answers are."""
        self.words, self.memory = words, memory
        self.rows: Words
        self.rows, self.users, self.statuses, self.paths, self.jct_ns, self.begun_ns, self.ended_ns, self.lengths = (
            words
        )

    @property
    def count(self) -> int:
        """Number of completions."""
        return len(self.users)

    def answer(self, i: int) -> bytes:
        """The answer of one request."""
        return self.memory[self.rows[i], : int(self.lengths[i])].tobytes()
