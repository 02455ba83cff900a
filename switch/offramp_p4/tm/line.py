# SPDX-License-Identifier: Apache-2.0
"""A serial line: how long a frame occupies it."""

from __future__ import annotations

from offramp_base.wire.ethernet import wire_bytes

PS_PER_S = 10**12


class Line:
    """Sends one frame after the other at ``rate_bps`` (None: in no time).

    The fraction of a picosecond that a frame leaves over is carried into the next one, so that a busy line is
    never more than a picosecond off however long it is busy.

    Attributes:
        free_ps: when the gap after the last frame ends.
    """

    def __init__(self, rate_bps: int | None) -> None:
        self.rate_bps = rate_bps
        self.free_ps = 0
        self._fraction = 0  # of a picosecond, in units of 1 / rate_bps

    def send(self, start_ps: int, frame_bytes: int) -> int:
        """Occupy the line from ``start_ps`` on (it must be free); returns :attr:`free_ps`."""
        if self.rate_bps is None:
            self.free_ps = start_ps
            return start_ps
        if start_ps > self.free_ps:
            self._fraction = 0
        bits = wire_bytes(frame_bytes) * 8
        duration, self._fraction = divmod(bits * PS_PER_S + self._fraction, self.rate_bps)
        self.free_ps = start_ps + duration
        return self.free_ps
