# SPDX-License-Identifier: Apache-2.0
"""Numbers and canonical binary strings (P4Runtime specification, section 8.4).

A canonical binary string is the shortest big-endian byte string that holds the value; zero is one zero byte.
Receivers also take longer strings as long as the value fits the declared width.
"""

from __future__ import annotations

from offramp_base.errors import OfframpError


class OutOfRangeError(OfframpError):
    """A value that its declared width cannot hold (OUT_OF_RANGE in P4Runtime)."""


def encode(value: int, width: int | None = None, what: str = "value") -> bytes:
    """The canonical binary string of ``value``; ``width`` is checked when given.

    Raises:
        OutOfRangeError: negative, or wider than ``width`` bits.
    """
    if value < 0 or (width is not None and value >> width):
        raise OutOfRangeError(f"{what}: {value} is outside 0..{2**width - 1 if width is not None else 'infinity'}")
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def decode(data: bytes, width: int | None = None, what: str = "value") -> int:
    """The number in a binary string, canonical or padded with zeros.

    Raises:
        OutOfRangeError: the string is empty, or the value does not fit ``width`` bits.
    """
    if not data:
        raise OutOfRangeError(f"{what}: an empty byte string is not a value")
    value = int.from_bytes(data, "big")
    if width is not None and value >> width:
        raise OutOfRangeError(f"{what}: {value:#x} does not fit {width} bits")
    return value


def encode_signed(value: int, width: int, what: str = "value") -> bytes:
    """The canonical string of an ``int<width>``: shortest two's complement that keeps the sign.

    Raises:
        OutOfRangeError: outside -2^(width-1) .. 2^(width-1)-1.
    """
    if not -(1 << (width - 1)) <= value < 1 << (width - 1):
        raise OutOfRangeError(f"{what}: {value} is outside int<{width}>")
    bits = (value if value >= 0 else ~value).bit_length() + 1
    return value.to_bytes((bits + 7) // 8, "big", signed=True)


def decode_signed(data: bytes, width: int, what: str = "value") -> int:
    """The number in the string of an ``int<width>``.

    Raises:
        OutOfRangeError: the string is empty, or the value does not fit.
    """
    if not data:
        raise OutOfRangeError(f"{what}: an empty byte string is not a value")
    value = int.from_bytes(data, "big", signed=True)
    if not -(1 << (width - 1)) <= value < 1 << (width - 1):
        raise OutOfRangeError(f"{what}: {value} does not fit int<{width}>")
    return value


def prefix_mask(prefix_len: int, width: int) -> int:
    """The mask of an lpm prefix: ``prefix_len`` ones, then zeros, ``width`` bits in all."""
    return ((1 << prefix_len) - 1) << (width - prefix_len)
