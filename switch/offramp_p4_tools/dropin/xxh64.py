# SPDX-License-Identifier: Apache-2.0
"""XXH64, by which bmv2's event messages name the contents of a packet (xxHash's specification, version 0.1.1)."""

from __future__ import annotations

import struct
from typing import Final

_MASK: Final = (1 << 64) - 1
_P1: Final = 0x9E3779B185EBCA87
_P2: Final = 0xC2B2AE3D27D4EB4F
_P3: Final = 0x165667B19E3779F9
_P4: Final = 0x85EBCA77C2B2AE63
_P5: Final = 0x27D4EB2F165667C5


def _left(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _round(lane: int, word: int) -> int:
    return _left((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def xxh64(data: bytes, seed: int = 0) -> int:
    """The hash of bytes, 64 bits."""
    at, size = 0, len(data)
    if size >= 32:
        lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
        for at in range(0, size - 31, 32):
            lanes = [_round(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at), strict=True)]
        at += 32
        total = sum(_left(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        total = (seed + _P5) & _MASK
    total = (total + size) & _MASK
    while size - at >= 8:
        (word,) = struct.unpack_from("<Q", data, at)
        total = (_left(total ^ _round(0, word), 27) * _P1 + _P4) & _MASK
        at += 8
    if size - at >= 4:
        (word,) = struct.unpack_from("<I", data, at)
        total = (_left(total ^ word * _P1 & _MASK, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        total = _left(total ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    total = (total ^ total >> 33) * _P2 & _MASK
    total = (total ^ total >> 29) * _P3 & _MASK
    return total ^ total >> 32
