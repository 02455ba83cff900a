# SPDX-License-Identifier: Apache-2.0
"""The algorithms of ``PSA_HashAlgorithm_t`` and ``PNA_HashAlgorithm_t``."""

from __future__ import annotations

from typing import Final

from offramp_p4.v1model.hashing import ALGORITHMS, Algorithm

RSS_KEY: Final = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
"""The key of Microsoft's verification suite for receive-side scaling, which most cards and DPDK begin with."""


def toeplitz(data: bytes) -> int:
    """The Toeplitz hash, 32 bits; data of more than 36 bytes meets the key from its start again."""
    repeats = (len(data) + 4) // len(RSS_KEY) + 1
    key = int.from_bytes(RSS_KEY * repeats, "big")
    top, number, bits = 8 * len(RSS_KEY) * repeats - 32, int.from_bytes(data, "big"), 8 * len(data)
    result = 0
    for i in range(bits):
        if number >> bits - 1 - i & 1:
            result ^= key >> top - i
    return result & 0xFFFFFFFF


_NAMES: Final = {
    "IDENTITY": "identity",
    "CRC32": "crc32",
    "CRC32_CUSTOM": "crc32_custom",
    "CRC16": "crc16",
    "CRC16_CUSTOM": "crc16_custom",
    "ONES_COMPLEMENT16": "csum16",
    "TARGET_DEFAULT": "crc32",
}


def algorithm(name: str) -> Algorithm:
    """The algorithm of this name.

    Raises:
        KeyError: no such algorithm.
    """
    return toeplitz if name == "TOEPLITZ" else ALGORITHMS[_NAMES[name]]
