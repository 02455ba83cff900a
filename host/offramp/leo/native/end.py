# SPDX-License-Identifier: Apache-2.0
"""The ends of rings (:mod:`offramp_base.native.ring_end`), and the size of a request table's rings."""

from __future__ import annotations

from typing import Final

from offramp.leo.native import ring
from offramp_base.native.ring_end import (
    LEAST_RING,
    MOST_RING,
    RING_HEADER_WORDS,
    End,
    Words,
    make_end,
    ring_words,
)

__all__ = [
    "LEAST_RING",
    "MOST_RING",
    "MOST_STRIDE",
    "RING_HEADER_WORDS",
    "End",
    "Words",
    "make_end",
    "ring_size",
    "ring_words",
]

MOST_STRIDE: Final = 1 << 24
"""Largest stride in bytes: the longest request or answer of a table."""
_USUAL_RING: Final = 1 << 22


def ring_size(stride: int, rows: int) -> int:
    """Bytes of a ring for ``rows`` messages of ``stride`` bytes, at most 4 MiB, but at least three messages."""
    entry = stride + ring.ENTRY_BYTES + 16
    return 1 << (max(3 * entry, min(rows * entry, _USUAL_RING), LEAST_RING) - 1).bit_length()
