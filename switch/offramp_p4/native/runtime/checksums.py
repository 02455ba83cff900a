# SPDX-License-Identifier: Apache-2.0
"""Hash and checksum algorithms of v1model over bytes (see :mod:`offramp_p4.v1model.hashing`)."""

from __future__ import annotations

from offramp_base.native.subset import Bytes, Words, native
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.randomness import draw_word


@native
def crc32(ctx: SwitchMemory, data: Bytes, size: int) -> int:
    """CRC-32 of IEEE 802.3."""
    table = ctx.crc32
    crc = 0xFFFFFFFF
    for i in range(size):
        crc = (crc >> 8) ^ table[(crc ^ data[i]) & 0xFF]
    return crc ^ 0xFFFFFFFF


@native
def crc16(ctx: SwitchMemory, data: Bytes, size: int) -> int:
    """CRC-16/ARC."""
    table = ctx.crc16
    crc = 0
    for i in range(size):
        crc = (crc >> 8) ^ table[(crc ^ data[i]) & 0xFF]
    return crc


@native
def csum16(_ctx: Words, data: Bytes, size: int) -> int:
    """The Internet checksum (RFC 1071)."""
    total = 0
    for i in range(size // 2):
        total += (data[2 * i] << 8) | data[2 * i + 1]
    if size & 1 != 0:
        total += data[size - 1] << 8
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@native
def xor16(_ctx: Words, data: Bytes, size: int) -> int:
    """Exclusive or of the 16-bit words."""
    result = 0
    for i in range(size // 2):
        result = result ^ ((data[2 * i] << 8) | data[2 * i + 1])
    if size & 1 != 0:
        result = result ^ (data[size - 1] << 8)
    return result


@native
def identity(_ctx: Words, data: Bytes, size: int) -> int:
    """The first eight bytes as a number."""
    result = 0
    for i in range(min(size, 8)):
        result = (result << 8) | data[i]
    return result


@native
def random(ctx: SwitchMemory, _data: Bytes, _size: int) -> int:
    """32 random bits, whatever the data."""
    return draw_word(ctx)
