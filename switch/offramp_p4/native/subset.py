# SPDX-License-Identifier: Apache-2.0
"""The P4 engine's door to :mod:`offramp_base.native.subset`."""

from __future__ import annotations

from offramp_base.native.subset import (
    Block,
    Bytes,
    Doubles,
    Field,
    Ints,
    Memory,
    Pointer,
    Words,
    below,
    call_back,
    call_word,
    clear,
    copy,
    high_product,
    highest_bit,
    inlined,
    native,
    supplied,
)

__all__ = [
    "Block",
    "Bytes",
    "Doubles",
    "Field",
    "Ints",
    "Memory",
    "Pointer",
    "Words",
    "below",
    "call_back",
    "call_word",
    "clear",
    "copy",
    "high_product",
    "highest_bit",
    "inlined",
    "native",
    "supplied",
]
