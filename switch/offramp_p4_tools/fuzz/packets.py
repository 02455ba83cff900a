# SPDX-License-Identifier: Apache-2.0
"""Random packets for any program."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from offramp_p4.state.random_control import PORTS

Packet = tuple[int, bytes]


def random_packets(rng: Random, count: int, hints: Sequence[int] = ()) -> list[Packet]:
    """Packets of 0 to 200 bytes, now and then 1500; half of their bytes are ``hints`` or small."""
    return [(rng.randrange(PORTS), _frame(rng, hints)) for _ in range(count)]


def _frame(rng: Random, hints: Sequence[int]) -> bytes:
    length = rng.choice((0, 3, *(2 * (rng.randint(4, 40), rng.randint(40, 200), 200)), 1500))
    likely = [*(hint & 0xFF for hint in hints), 0, 1, 2, 3]
    return bytes(rng.choice(likely) if rng.random() < 0.5 else rng.randrange(256) for _ in range(length))
