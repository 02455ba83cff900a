# SPDX-License-Identifier: Apache-2.0
"""Header formats as field tables, and the vectorised packing and unpacking that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

Bytes = npt.NDArray[np.uint8]
Values = npt.NDArray[np.uint64]

_NUMBERS = {width: np.dtype(f">u{width // 8}") for width in (8, 16, 32)}
MAX_WIDTH = 56
"""Widest field: with up to 7 bits before it in its first byte it still fits 64 bits."""


@dataclass(frozen=True, slots=True)
class BitField:
    """A big-endian unsigned field of ``width`` bits that starts ``offset`` bits into its header."""

    name: str
    width: int
    offset: int

    @property
    def first(self) -> int:
        """First byte that holds a bit of the field."""
        return self.offset // 8

    @property
    def end(self) -> int:
        """One past the last byte that holds a bit of the field."""
        return (self.offset + self.width + 7) // 8

    @property
    def shift(self) -> int:
        """Bits of the last byte that belong to later fields."""
        return self.end * 8 - self.offset - self.width

    @property
    def number(self) -> np.dtype[np.unsignedinteger[Any]] | None:
        """The big-endian number type of the field in memory; None if not aligned to bytes or of no such width."""
        whole = self.offset % 8 == 0 and self.width in _NUMBERS
        return _NUMBERS[self.width] if whole else None

    @property
    def mask(self) -> int:
        """All ones."""
        return (1 << self.width) - 1


class HeaderFormat:
    """A header: fields in wire order, most significant bit first.

    Args:
        name: the header's name, as in P4.
        widths: bits of each field by name, in order.

    Raises:
        OfframpError: a field of no bits or of more than 56, or fields that do not fill whole bytes.
    """

    def __init__(self, name: str, widths: Mapping[str, int]) -> None:
        self.name = name
        fields, offset = [], 0
        for field, width in widths.items():
            if not 1 <= width <= MAX_WIDTH:
                raise OfframpError(f"header {name}: field {field}: expected 1 to {MAX_WIDTH} bits, got {width}")
            fields.append(BitField(field, width, offset))
            offset += width
        if offset % 8:
            raise OfframpError(f"header {name}: expected whole bytes, got {offset} bits")
        self.fields = tuple(fields)
        self.size = offset // 8

    @cached_property
    def by_name(self) -> dict[str, BitField]:
        """Each field by its name."""
        return {field.name: field for field in self.fields}

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """The bits of the header behind each field, and the field's mask, by name in wire order."""
        return {f.name: (8 * self.size - f.offset - f.width, f.mask) for f in self.fields}

    def pack(self, values: Mapping[str, npt.ArrayLike], n: int) -> Bytes:
        """``n`` headers, ``(n, size)`` uint8, from scalars or ``(n,)`` arrays; absent fields are 0.

        Raises:
            OfframpError: an unknown field, or a value that its field cannot hold.
        """
        out = np.zeros((n, self.size), np.uint8)
        for name, value in values.items():
            field = self._field(name)
            numbers = np.asarray(value)
            if numbers.size and (numbers.min() < 0 or int(numbers.max()) > field.mask):
                raise OfframpError(f"header {self.name}: field {name}: expected 0 to {field.mask}")
            if field.number is not None:
                out[:, field.first : field.end].view(field.number)[:, 0] = numbers
                continue
            shifted = numbers.astype(np.uint64) << np.uint64(field.shift)
            for byte in range(field.end - 1, field.first - 1, -1):
                out[:, byte] |= (shifted & np.uint64(0xFF)).astype(np.uint8)
                shifted = shifted >> np.uint64(8)
        return out

    def unpack(self, data: Bytes, name: str) -> Values:
        """Field ``name`` of the headers in the rows of ``data``, ``(n, >= size)``, as ``(n,)`` uint64."""
        field = self.by_name[name]
        if field.number is not None and data.strides[1] == 1:
            return data[:, field.first : field.end].view(field.number)[:, 0].astype(np.uint64)
        value = data[:, field.first].astype(np.uint64)
        for byte in range(field.first + 1, field.end):
            value <<= np.uint64(8)
            value |= data[:, byte]
        value >>= np.uint64(field.shift)
        value &= np.uint64(field.mask)
        return value

    def encode(self, values: Mapping[str, int]) -> bytes:
        """One header; absent fields are 0.

        Raises:
            OfframpError: an unknown field, or a value that its field cannot hold.
        """
        number, places = 0, self._places
        for name, value in values.items():
            if name not in places:
                self._field(name)
            behind, mask = places[name]
            if not 0 <= value <= mask:
                raise OfframpError(f"header {self.name}: field {name}: expected 0 to {mask}")
            number |= value << behind
        return number.to_bytes(self.size, "big")

    def decode(self, data: bytes) -> dict[str, int]:
        """All fields of one header.

        Raises:
            OfframpError: there are fewer bytes than the header needs.
        """
        if len(data) < self.size:
            raise OfframpError(f"header {self.name}: expected {self.size} bytes, got {len(data)}")
        number = int.from_bytes(data[: self.size], "big")
        return {name: number >> behind & mask for name, (behind, mask) in self._places.items()}

    def _field(self, name: str) -> BitField:
        field = self.by_name.get(name)
        if field is None:
            raise OfframpError(f"header {self.name}: no field {name}")
        return field
