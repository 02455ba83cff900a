# SPDX-License-Identifier: Apache-2.0
"""The depth of a queue over time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class DepthSeries:
    """Depth after every change; the queue is empty before the first.

    Attributes:
        times_ps: when the depth changed.
        packets, bytes: what was in the queue from then on.
    """

    def __init__(self) -> None:
        self.times_ps: list[int] = []
        self.packets: list[int] = []
        self.bytes: list[int] = []

    def add(self, now_ps: int, packets: int, size: int) -> None:
        """Record a change of the depth."""
        self.times_ps.append(now_ps)
        self.packets.append(packets)
        self.bytes.append(size)

    def arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """``(n,)`` times in picoseconds, packets, bytes."""
        times, packets, sizes = (np.array(part, np.int64) for part in (self.times_ps, self.packets, self.bytes))
        return times, packets, sizes

    def mean_packets(self, until_ps: int) -> float:
        """Packets in the queue, averaged over the time from 0 to ``until_ps`` (not before the last change)."""
        times, packets, _ = self.arrays()
        spans = np.diff(times, append=until_ps)
        return float((packets * spans).sum() / until_ps)
