# SPDX-License-Identifier: Apache-2.0
"""Rings of requests and answers (:mod:`offramp_base.native.ring`): an entry's description, and the size of a ring."""

from __future__ import annotations

from typing import Final

from offramp_base.native.ring import ENTRY_BYTES, FAULTS
from offramp_base.native.ring_end import LEAST_RING
from offramp_base.native.subset import inlined

BAD_ROW: Final = 3
FAULTS[BAD_ROW] = "a request of a row or round trip that it does not have"
MOST_TRIPS: Final = 4
MOST_ROWS: Final = 1 << 16
"""Most rows of a request table: the lower 16 bits of an entry's id name the row."""
MOST_STRIDE: Final = 1 << 24
"""Largest stride in bytes: the longest request or answer of a table."""
_USUAL_RING: Final = 1 << 22


@inlined
def pack_info(function: int, device: int, trip: int, attempt: int, status: int, flags: int) -> int:
    """Pack an entry's description into one word of 16, 8, 8, 8, 8 and 8 bits."""
    return function | device << 16 | trip << 24 | attempt << 32 | status << 40 | flags << 48


def ring_size(stride: int, rows: int) -> int:
    """Bytes of a ring for ``rows`` messages of ``stride`` bytes, at most 4 MiB, but at least three messages."""
    entry = stride + ENTRY_BYTES + 16
    return 1 << (max(3 * entry, min(rows * entry, _USUAL_RING), LEAST_RING) - 1).bit_length()


ONCE: Final = 1  # flag: execute it once at most
ORDERED: Final = 2  # flag: entries of one key in order
