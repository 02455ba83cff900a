# SPDX-License-Identifier: Apache-2.0
"""Sample requests for each of :mod:`offramp.leo.functions`, with the tables that they read."""

from __future__ import annotations

import struct
from typing import Final

from offramp.device import Device
from offramp.leo.functions import ebs, kvs
from offramp.leo.functions.registry import FUNCTIONS

_KEYS: Final = 1000
_BUCKETS: Final = 1024
_CHUNK: Final = 256_000


def sample(device: Device, function: str) -> bytes | None:
    """A typical message for a function of a device, whose tables are written if needed; None for an unknown function.

    Raises:
        OfframpError: the tables do not fit.
    """
    if function == kvs.NAME:
        index = kvs.KeyIndex(device.memory(function), _BUCKETS)
        for key in range(1, _KEYS + 1):
            index.insert(key, key)
        return struct.pack("<Q", 1 + _KEYS // 2)
    if function == ebs.NAME:
        tables = ebs.EbsTables(device.memory(function), ebs.TableLayout(1, 8, 8))
        tables.add_volume(0, 8 * ebs.SEGMENT, (1 << 32) - 1, (1 << 32) - 1)
        tables.map(0, 0, 1, 0, 4096)
        return ebs.REQUEST.pack(0, 1, 3, 1)
    return FUNCTIONS.get(function).sample(_CHUNK, 0) if function in FUNCTIONS else None
