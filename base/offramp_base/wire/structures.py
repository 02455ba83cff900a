# SPDX-License-Identifier: Apache-2.0
"""Structures laid out as in C++: named little-endian numbers, one behind the other, without gaps."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Final

from offramp_base.errors import OfframpError

CODES: Final = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i64": "q", "f64": "d", "byte": "s"}
"""Format characters of :mod:`struct` by type of member; ``byte[6]`` is six bytes, ``u32[4]`` is four integers."""
_TYPE: Final = re.compile(r"(\w+)(?:\[(\d+)\])?")


def type_and_count(member: str) -> tuple[str, int]:
    """A member's type and its number of elements, 0 if it is not an array.

    Raises:
        OfframpError: there is no such type.
    """
    match = _TYPE.fullmatch(member)
    if match is None or match[1] not in CODES:
        raise OfframpError(f"member {member!r}: expected one of {', '.join(CODES)}, or an array of them")
    return match[1], int(match[2] or 0)


class StructFormat:
    """A layout whose members have names, packed and unpacked as by :class:`struct.Struct`.

    ``ci/formats`` writes the same for C++.

    Args:
        name: as in C++.
        text: its purpose, in a sentence or two.
        members: type of each member by name, in order; :data:`CODES` has the types.

    Raises:
        OfframpError: an unknown type, or one that is not aligned, before which or at the end C++ would leave a gap.
    """

    def __init__(self, name: str, text: str, **members: str) -> None:
        self.name, self.text = name, text
        self.members: Mapping[str, str] = members
        layout = struct.Struct(_layout(name, members))
        self.size = layout.size
        self.pack, self.pack_into = layout.pack, layout.pack_into
        self.unpack, self.unpack_from, self.iter_unpack = layout.unpack, layout.unpack_from, layout.iter_unpack


def _layout(name: str, members: Mapping[str, str]) -> str:
    codes, size, widest = "<", 0, 1
    for member, kind in members.items():
        base, count = type_and_count(kind)
        width = struct.calcsize("<" + CODES[base])
        if size % width:
            raise OfframpError(f"structure {name}: member {member} at byte {size}: expected a multiple of {width}")
        size, widest = size + width * max(count, 1), max(widest, width)
        codes += f"{count or ''}{CODES[base]}"
    if size % widest:
        raise OfframpError(f"structure {name}: {size} bytes: expected a multiple of {widest}")
    return codes
