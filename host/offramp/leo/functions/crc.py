# SPDX-License-Identifier: Apache-2.0
"""CRC-32 and CRC-32C of 64-bit keys: hashes that are XOR trees in hardware and single instructions on CPUs."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
Hashes = npt.NDArray[np.uint32]

CRC32: Final = 0xEDB88320
"""Reflected polynomial of IEEE 802.3."""

CRC32C: Final = 0x82F63B78
"""Reflected polynomial of Castagnoli (iSCSI)."""


def tables(polynomial: int) -> npt.NDArray[np.uint32]:
    """``(8, 256)``: what a byte contributes to the register when ``7 - i`` more bytes follow."""
    column = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        column = np.where(column & 1, column >> 1 ^ np.uint32(polynomial), column >> 1).astype(np.uint32)
    rows = [column]
    while len(rows) < 8:
        last = rows[-1]
        rows.append(column[last & 0xFF] ^ last >> np.uint32(8))
    return np.stack(rows[::-1])


_TABLES: Final = {polynomial: tables(polynomial) for polynomial in (CRC32, CRC32C)}


def crc(polynomial: int, keys: Keys) -> Hashes:
    """``(n,)`` CRCs of each key's 8 bytes, the lowest first; register and result are inverted, as usual."""
    rows = _TABLES[polynomial]
    words = np.ascontiguousarray(keys, "<u8") ^ np.uint64(0xFFFFFFFF)
    parts = words.view(np.uint8).reshape(-1, 8)
    registers = np.full(len(parts), 0xFFFFFFFF, np.uint32)
    for place in range(8):
        registers ^= rows[place][parts[:, place]]
    return registers
