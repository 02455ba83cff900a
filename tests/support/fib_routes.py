# SPDX-License-Identifier: Apache-2.0
"""Routes and packets of the router in ``tests/bench/swx``, for whoever runs it."""

from __future__ import annotations

import random
from typing import Final

NEXT_HOPS: Final = 256
_LENGTHS: Final = (12, 16, 18, 20, 22, 24, 24, 24, 24, 26, 28)


def routes(count: int) -> dict[tuple[int, int], int]:
    """The next hop of each prefix, which is an address and a length; the same for the same count."""
    rng = random.Random(count)
    table: dict[tuple[int, int], int] = {}
    while len(table) < count:
        length = rng.choice(_LENGTHS)
        table[rng.getrandbits(length) << 32 - length, length] = rng.randrange(NEXT_HOPS)
    return table


def frames(count: int, packets: int = 1024) -> list[bytes]:
    """Packets of 64 bytes to random addresses of as many routes."""
    rng = random.Random(count)
    prefixes = list(routes(count))
    batch = []
    for _ in range(packets):
        value, length = rng.choice(prefixes)
        header = bytes([0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0]) + rng.randbytes(4)
        batch.append(bytes(12) + b"\x08\x00" + header + (value | rng.getrandbits(32 - length)).to_bytes(4, "big"))
    return [each.ljust(64, b"\x55") for each in batch]
