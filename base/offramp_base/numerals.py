# SPDX-License-Identifier: Apache-2.0
"""Numbers in texts from outside: Python's ``int`` and ``float`` accept more than people mean."""

from __future__ import annotations

_MOST_DIGITS = 18


def whole_number(text: str) -> int | None:
    """The number that at most 18 ASCII digits write, which int64 holds; None for every other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None
