# SPDX-License-Identifier: Apache-2.0
"""Headers of fixed size to and from bytes.

A header is split at the byte boundaries of its fields into groups that the struct
module reads and writes as one or more integers; fields within a group are shifted and masked.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from offramp_p4.engine.bits import scalar_bits
from offramp_p4.types import Bits, Header, scalars

if TYPE_CHECKING:
    from collections.abc import Callable

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(frozen=True)
class _Item:
    """One item of the struct format: ``size`` bytes of a group, ``shift`` bits above the group's end."""

    name: str
    code: str
    size: int
    shift: int
    group_bits: int


@dataclass(frozen=True)
class _CodecField:
    bits: Bits
    items: tuple[_Item, ...]
    shift: int  # bits of the group below this field


class FixedCodec:
    """Code for a header without varbit fields.

    Attributes:
        size: bytes.
        format: the struct that reads and writes it.
    """

    def __init__(self, header: Header) -> None:
        bits = [scalar_bits(t) for t in scalars(header)[1:]]
        pad = -sum(b.width for b in bits) % 8
        self.size = (sum(b.width for b in bits) + pad) // 8
        self.fields: list[_CodecField] = []
        self.items: list[_Item] = []
        group: list[Bits] = []
        for b in bits:
            group.append(b)
            if sum(x.width for x in group) % 8 == 0:
                self._close(group)
                group = []
        if pad:  # a @flexible header: zeros fill the last byte
            self._close([*group, Bits(pad)])
            self.fields.pop()
        self.format = struct.Struct(">" + "".join(i.code for i in self.items))
        self.plain = (
            not pad
            and len(self.items) == len(self.fields)
            and all(
                f.items and f.items[0].code.lower() in "bhiq" and f.bits.width == f.items[0].size * 8
                for f in self.fields
            )
        )

    def _close(self, group: list[Bits]) -> None:
        total = sum(b.width for b in group)
        items = self._items(total // 8, signed=len(group) == 1 and group[0].signed)
        self.items += items
        below = total
        for b in group:
            below -= b.width
            covering = [i for i in items if i.shift < below + b.width and below < i.shift + 8 * i.size]
            self.fields.append(_CodecField(b, tuple(covering), below))

    def _items(self, size: int, *, signed: bool) -> list[_Item]:
        if size in _CODES:
            code = _CODES[size].lower() if signed else _CODES[size]
            return [self._item(code, size, 0, size, 0)]
        if size > 8 or signed:
            return [self._item(f"{size}s", size, 0, size, 0)]
        items: list[_Item] = []
        left = size
        for part in (4, 2, 1):
            if left & part:
                left -= part
                items.append(self._item(_CODES[part], part, left, size, len(items)))
        return items

    def _item(self, code: str, size: int, below: int, group: int, more: int) -> _Item:
        return _Item(f"x{len(self.items) + more}", code, size, 8 * below, 8 * group)

    def unpacked(self) -> tuple[list[str], list[str]]:
        """Names for the struct's items, and the text of each field in terms of them."""
        return [i.name for i in self.items], [_extracted(f) for f in self.fields]

    def packed(self, cell: Callable[[int], str]) -> list[str]:
        """The text of each item of the struct, where ``cell(i)`` is the text of field ``i``."""
        parts: dict[str, list[str]] = {i.name: [] for i in self.items}
        for number, f in enumerate(self.fields):
            whole = len(f.items) == 1 and f.bits.width == 8 * f.items[0].size
            for item in f.items:
                value = cell(number)
                if f.bits.signed and not (whole and item.code in "bhiq"):
                    value = f"({value} & {f.bits.mask})"
                if f.shift < item.shift:
                    value = f"({value} >> {item.shift - f.shift})"
                elif f.shift > item.shift:
                    value = f"({value} << {f.shift - item.shift})"
                if f.shift + f.bits.width > item.shift + 8 * item.size:
                    value = f"({value} & {(1 << 8 * item.size) - 1})"
                parts[item.name].append(value)
        return [_joined(i, parts[i.name]) for i in self.items]


def _extracted(f: _CodecField) -> str:
    if not f.bits.width:
        return "0"
    texts = []
    for item in f.items:
        text = f"int.from_bytes({item.name}, 'big')" if item.code.endswith("s") else item.name
        down = f.shift - item.shift
        texts.append(f"({text} >> {down})" if down > 0 else f"({text} << {-down})" if down else text)
    joined = " | ".join(texts)
    first = f.items[0]
    exact = first.shift + 8 * first.size == f.shift + f.bits.width
    if not exact:
        joined = f"({joined}) & {f.bits.mask}"
    if f.bits.signed and first.code not in set("bhiq"):
        half = 1 << f.bits.width - 1
        return f"((({joined}) ^ {half}) - {half})"
    return joined


def _joined(item: _Item, parts: list[str]) -> str:
    text = " | ".join(parts)
    return f"({text}).to_bytes({item.size}, 'big')" if item.code.endswith("s") else text


@cache
def fixed_codec(header: Header) -> FixedCodec:
    """The codec of a header type."""
    return FixedCodec(header)
