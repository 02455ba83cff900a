# SPDX-License-Identifier: Apache-2.0
"""A measurement of any program: random table entries, random packets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench.workload import SwitchWorkload
from offramp_p4.state.random_control import RandomControl

_PACKETS = 4096
_PORTS = 4


def program_workload(
    source: Path,
    include: Iterable[Path] = (),
    defines: Mapping[str, str] | None = None,
    *,
    size: int = 64,
    seed: int = 0,
) -> SwitchWorkload:
    """A program with random table entries and 4,096 packets of ``size`` bytes, one in four of them random.

    The others are IPv4 over Ethernet, with addresses, ports and payload from the seed.
    """
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 256, (_PACKETS, size), dtype=np.uint8)
    head = bytes.fromhex("0200000000010200000000020800450000320000000040110000")
    plain = np.arange(_PACKETS) % 4 != 0
    width = min(size, len(head))
    data[plain, :width] = np.frombuffer(head, np.uint8)[:width]
    ports = rng.integers(0, _PORTS, _PACKETS).astype(np.int32)
    batch = PacketBatch(ports, np.full(_PACKETS, size, np.int32), data)
    return SwitchWorkload(
        source.name,
        source,
        lambda s: RandomControl(s, seed).fill(),
        [batch],
        include=tuple(include),
        defines=defines or {},
    )
