# SPDX-License-Identifier: Apache-2.0
"""Names that bmv2's JSON gives to things with other names in P4."""

from __future__ import annotations

from typing import Final

SELECTORS: Final = frozenset({"action_selector", "ActionSelector"})
"""The externs that are action profiles with a selector."""
COUNTER_TYPES: Final = ("BYTES", "PACKETS", "PACKETS_AND_BYTES")
"""The types of counters of PSA and PNA by their numbers in documents, which are not those of P4's enum."""
HASHES: Final = {
    "IDENTITY": "identity",
    "CRC32": "crc32",
    "CRC32_CUSTOM": "crc32_custom",
    "CRC16": "crc16",
    "CRC16_CUSTOM": "crc16_custom",
    "ONES_COMPLEMENT16": "csum16",
}
"""bmv2's names of the hash algorithms of PSA and PNA."""
DEFAULT_HASH: Final = "crc32"
"""``TARGET_DEFAULT``, as our engines have it."""
COLOURS: Final = {"GREEN": 0, "YELLOW": 1, "RED": 2}
"""What bmv2 writes for a direct meter; for others it writes the numbers of the architecture's enum."""
