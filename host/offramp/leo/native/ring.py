# SPDX-License-Identifier: Apache-2.0
"""Rings of requests and answers (:mod:`offramp_base.native.ring`): the words of an entry."""

from __future__ import annotations

from typing import Final

from offramp_base.native.ring import (
    BAD_LENGTH,
    BAD_POSITION,
    ENTRY_BYTES,
    FAULTS,
    NOTHING,
    SKIP,
    Entry,
    RingEnd,
    entry,
    entry_bytes,
    front,
    give_back,
    message,
    pass_over,
    publish_ring,
    reserve,
    take_words,
)
from offramp_base.native.subset import inlined

__all__ = [
    "BAD_LENGTH",
    "BAD_POSITION",
    "BAD_ROW",
    "ENTRY_BYTES",
    "FAULTS",
    "MOST_ROWS",
    "MOST_TRIPS",
    "NOTHING",
    "ONCE",
    "ORDERED",
    "SKIP",
    "Entry",
    "RingEnd",
    "entry",
    "entry_bytes",
    "front",
    "give_back",
    "message",
    "pack_info",
    "pass_over",
    "publish_ring",
    "reserve",
    "take_words",
]

BAD_ROW: Final = 3
FAULTS[BAD_ROW] = "a request of a row or round trip that it does not have"
MOST_TRIPS: Final = 4
MOST_ROWS: Final = 1 << 16
"""Most rows of a request table: the lower 16 bits of an entry's id name the row."""


@inlined
def pack_info(function: int, device: int, trip: int, attempt: int, status: int, flags: int) -> int:
    """Pack an entry's description into one word of 16, 8, 8, 8, 8 and 8 bits."""
    return function | device << 16 | trip << 24 | attempt << 32 | status << 40 | flags << 48


ONCE: Final = 1  # flag: execute it once at most
ORDERED: Final = 2  # flag: entries of one key in order
