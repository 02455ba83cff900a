# SPDX-License-Identifier: Apache-2.0
"""Hash and checksum algorithms of v1model over bytes (see :mod:`offramp_p4.v1model.hashing`)."""

from __future__ import annotations

from offramp_base.native.subset import Bytes, Words, native
from offramp_p4.native.runtime.context import CrcRecord, SwitchMemory
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
def _set_crc(record: CrcRecord, data: Bytes, size: int) -> int:
    table = record.table
    crc = record.start
    if record.reflected != 0:
        for i in range(size):
            crc = (crc >> 8) ^ table[(crc ^ data[i]) & 0xFF]
    else:
        shift = record.width - 8
        mask = (1 << record.width) - 1
        for i in range(size):
            crc = ((crc << 8) & mask) ^ table[(crc >> shift) ^ data[i]]
    if record.turned != 0:
        turned = 0
        for i in range(record.width):
            turned = (turned << 1) | ((crc >> i) & 1)
        crc = turned
    return crc ^ record.final_xor


@native
def crc16_custom(ctx: SwitchMemory, data: Bytes, size: int, number: int) -> int:
    """The custom CRC-16 of this number: CRC-16/ARC until the control plane sets it."""
    if number < ctx.crc_count and ctx.crcs[number].used != 0:
        return _set_crc(ctx.crcs[number], data, size)
    return crc16(ctx, data, size)


@native
def crc32_custom(ctx: SwitchMemory, data: Bytes, size: int, number: int) -> int:
    """The custom CRC-32 of this number: that of IEEE 802.3 until the control plane sets it."""
    if number < ctx.crc_count and ctx.crcs[number].used != 0:
        return _set_crc(ctx.crcs[number], data, size)
    return crc32(ctx, data, size)


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
