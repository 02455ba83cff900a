# SPDX-License-Identifier: Apache-2.0
"""Sample messages that functions accept, for load on applications that only YAML describes."""

from __future__ import annotations

from functools import cache

from offramp.leo.functions import ebs, kvs
from offramp.leo.functions.registry import FUNCTIONS, counted_bytes


@cache
def sample(function: str, size: int, variant: int) -> bytes:
    """A message for a function, of about ``size`` bytes where its length is free."""
    if function == kvs.NAME:
        return (variant + 1).to_bytes(8, "little")
    if function == ebs.NAME:
        return ebs.REQUEST.pack(0, 1, variant, 0)
    return (FUNCTIONS.get(function).sample if function in FUNCTIONS else counted_bytes)(size, variant)
