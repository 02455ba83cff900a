# SPDX-License-Identifier: Apache-2.0
"""Hash and checksum algorithms of v1model's ``HashAlgorithm``, as bmv2 computes them over bytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

Algorithm = Callable[[bytes], int]


def _crc16_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xA001 if crc & 1 else crc >> 1
        table.append(crc)
    return tuple(table)


_CRC16: Final = _crc16_table()


def crc16(data: bytes) -> int:
    """CRC-16/ARC: polynomial 0x8005, reflected, from 0."""
    crc = 0
    for byte in data:
        crc = crc >> 8 ^ _CRC16[(crc ^ byte) & 0xFF]
    return crc


def csum16(data: bytes) -> int:
    """The Internet checksum (RFC 1071): complement of the one's-complement sum; odd data padded with a 0."""
    total = int.from_bytes(data + b"\0" * (len(data) & 1), "big")
    # 2^16 is 1 modulo 0xFFFF, so the remainder is the end-around-carry sum, except that 0xFFFF stays.
    remainder = total % 0xFFFF
    return (0xFFFF if total and not remainder else remainder) ^ 0xFFFF


def xor16(data: bytes) -> int:
    """Exclusive or of the 16-bit words; odd data padded with a 0."""
    result = 0
    for i in range(0, len(data), 2):
        result ^= int.from_bytes(data[i : i + 2].ljust(2, b"\0"), "big")
    return result


def identity(data: bytes) -> int:
    """The first eight bytes as a number."""
    return int.from_bytes(data[:8], "big")


ALGORITHMS: Final[dict[str, Algorithm]] = {
    "crc32": zlib.crc32,
    "crc32_custom": zlib.crc32,  # the custom ones start with the parameters of the plain ones
    "crc16": crc16,
    "crc16_custom": crc16,
    "identity": identity,
    "csum16": csum16,
    "xor16": xor16,
}


def algorithm(name: str, random: Random) -> Algorithm:
    """The algorithm of this name; ``random`` draws 32 bits from the switch's generator.

    Raises:
        KeyError: no such algorithm.
    """
    return (lambda _: random.getrandbits(32)) if name == "random" else ALGORITHMS[name]
