# SPDX-License-Identifier: Apache-2.0
"""Values of any P4 type as P4Data (P4Runtime specification, section 8.5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.values import encode, encode_signed
from offramp_p4.types import BOOL, ERROR, Bits, Enum, Header, Structure, Tuple, Type, strip


def encode_value(t: Type, cells: Iterator[int], errors: list[str]) -> Any:
    """P4Data of a value of type ``t`` whose scalars, as unsigned bit patterns, are the next ``cells``."""
    t = strip(t)
    if isinstance(t, Header):
        valid = bool(next(cells))
        fields = [_bits(f.type, next(cells)) for f in t.fields]
        return v1.P4Data(header=v1.P4Header(is_valid=valid, bitstrings=fields if valid else []))
    if isinstance(t, Structure):
        members = [encode_value(f.type, cells, errors) for f in t.fields]
        return v1.P4Data(struct=v1.P4StructLike(members=members))
    if isinstance(t, Tuple):
        members = [encode_value(member, cells, errors) for member in t.types]
        return v1.P4Data(tuple=v1.P4StructLike(members=members))
    value = next(cells)
    if t == BOOL:
        return v1.P4Data(bool=bool(value))
    if t == ERROR:
        return v1.P4Data(error=errors[value])
    if isinstance(t, Enum):
        return v1.P4Data(enum=t.member(value)) if t.base is None else v1.P4Data(enum_value=encode(value))
    return v1.P4Data(bitstring=_bits(t, value))


def _bits(t: Type, value: int) -> bytes:
    t = strip(t)
    if isinstance(t, Bits) and t.signed:
        return encode_signed(t.wrap(value), t.width)
    return encode(value)
