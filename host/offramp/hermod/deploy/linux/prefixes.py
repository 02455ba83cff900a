# SPDX-License-Identifier: Apache-2.0
"""Sets of DSCPs as few masked values: a filter for each."""

from __future__ import annotations

from collections.abc import Collection

from offramp.hermod.dscp import CODES


def blocks(dscps: Collection[int]) -> list[tuple[int, int]]:
    """``(first, size)`` of the fewest aligned blocks whose sizes are powers of two, ascending; disjoint and exact."""
    left, aligned = set(dscps), []
    size = CODES
    while size:
        for first in range(0, CODES, size):
            block = set(range(first, first + size))
            if block <= left:
                aligned.append((first, size))
                left -= block
        size //= 2
    return sorted(aligned)


def tos_match(first: int, size: int) -> tuple[int, int]:
    """Value and mask of a block in the byte that IPv4 calls TOS and IPv6 traffic class."""
    return first << 2, (CODES - size) << 2
