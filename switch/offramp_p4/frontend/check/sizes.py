# SPDX-License-Identifier: Apache-2.0
"""Sizes of values at compile time: ``minSizeInBits`` and its kin (P4-16 specification, section 9.1)."""

from __future__ import annotations

from offramp_p4.types import BOOL, Bits, Enum, Stack, Structure, Type, Union, Varbit, strip


def serialised_size(t: Type, *, largest: bool) -> int:
    """Bits of a value (section 9.1): a union counts as its largest, or as 0 when the least is asked for."""
    t = strip(t)
    if isinstance(t, Bits):
        return t.width
    if isinstance(t, Varbit):
        return t.width if largest else 0
    if t == BOOL:
        return 1
    if isinstance(t, Enum) and t.base is not None:
        return t.base.width
    if isinstance(t, Union):
        sizes = [serialised_size(f.type, largest=largest) for f in t.fields]
        return max(sizes, default=0) if largest else min(sizes, default=0)
    if isinstance(t, Structure):
        return sum(serialised_size(f.type, largest=largest) for f in t.fields)
    if isinstance(t, Stack):
        return t.size * serialised_size(t.element, largest=largest)
    return 0
