# SPDX-License-Identifier: Apache-2.0
"""The rate of a worker's uploads, halved when the switch marks congestion (specification section 6)."""

from __future__ import annotations

from offramp_base.errors import OfframpError


class RateControl:
    """Multiplicative decrease and additive increase, as in DCQCN; times in seconds on the caller's clock.

    Args:
        line_bps: initial and highest rate.
        floor_bps: lowest rate.
        step_bps: increase after each ``increase_s`` without a mark.
        guard_s: marks within this time after a cut belong to the same congestion.
        increase_s: time between increases.
    """

    def __init__(
        self,
        line_bps: float = 100e9,
        floor_bps: float = 0.1e9,
        step_bps: float = 5e9,
        guard_s: float = 50e-6,
        increase_s: float = 55e-6,
    ) -> None:
        if not 0 < floor_bps <= line_bps:
            raise OfframpError(f"rate: floor {floor_bps:g} bit/s: expected more than 0 and at most {line_bps:g}")
        if not (step_bps > 0 and guard_s >= 0 and increase_s > 0):
            raise OfframpError("rate: expected a positive step, and times that are not negative")
        self.rate_bps = line_bps
        self._line_bps = line_bps
        self._floor_bps = floor_bps
        self._step_bps = step_bps
        self._guard_s = guard_s
        self._increase_s = increase_s
        self._cut_s: float | None = None
        self._increased_s: float | None = None

    def mark(self, now_s: float) -> None:
        """Slow down, since congestion was reported."""
        self.advance(now_s)
        if self._cut_s is not None and now_s - self._cut_s < self._guard_s:
            return
        self.rate_bps = max(self.rate_bps / 2, self._floor_bps)
        self._cut_s = self._increased_s = now_s

    def advance(self, now_s: float) -> None:
        """Advance the time, and apply the increases that are due."""
        if self._increased_s is None:
            self._increased_s = now_s
        steps = int((now_s - self._increased_s) / self._increase_s)
        if steps > 0:
            self._increased_s += steps * self._increase_s
            self.rate_bps = min(self.rate_bps + steps * self._step_bps, self._line_bps)

    def pause_s(self, wire_bytes: int, now_s: float) -> float:
        """Seconds that ``wire_bytes``, sent now, take at the present rate."""
        self.advance(now_s)
        return 8 * wire_bytes / self.rate_bps
