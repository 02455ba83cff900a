# SPDX-License-Identifier: Apache-2.0
"""Smaller programs and fewer packets that still show a finding."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def minimise(items: Sequence[_T], fails: Callable[[list[_T]], bool], deadline: float) -> list[_T]:
    """A part of ``items`` that still fails, from which no run of items can be left out (delta debugging).

    Args:
        items: items for which ``fails`` is true.
        fails: whether some of the items, in order, still show the fault.
        deadline: deadline by :func:`time.monotonic`; then what has been reached is good enough.
    """
    kept, size = list(items), max(1, len(items) // 2)
    while size and time.monotonic() < deadline:
        at, smaller = 0, False
        while at < len(kept) and time.monotonic() < deadline:
            shorter = kept[:at] + kept[at + size :]
            if shorter != kept and fails(shorter):
                kept, smaller = shorter, True
            else:
                at += size
        if not smaller or size > 1:
            size //= 2
    return kept
