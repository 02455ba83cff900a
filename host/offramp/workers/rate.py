# SPDX-License-Identifier: Apache-2.0
"""Token buckets: emulated rates of dimensions that all share one loopback interface."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from offramp_base.errors import OfframpError


class TokenBucket:
    """Limits bytes to a rate, with a burst; one sender at a time.

    ``clock`` and ``sleep`` are in seconds and exist for tests.
    """

    def __init__(
        self,
        rate_bps: float,
        burst_s: float = 0.002,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Start with a full bucket; raises OfframpError if the rate is not positive or the burst negative."""
        if not (math.isfinite(rate_bps) and rate_bps > 0):
            raise OfframpError(f"token bucket: {rate_bps} bit/s: expected more than 0")
        if burst_s < 0:
            raise OfframpError(f"token bucket: burst of {burst_s} s: expected at least 0")
        self._rate = rate_bps
        self._burst = burst_s
        self._clock, self._sleep = clock, sleep
        self._free_at = -math.inf
        self._lock = threading.Lock()

    @property
    def rate_bps(self) -> float:
        """The current rate in bit/s."""
        return self._rate

    def set_rate(self, rate_bps: float) -> None:
        """Change the rate from now on."""
        TokenBucket(rate_bps)  # the same checks
        self._rate = rate_bps

    def spend(self, sent: float, since: float) -> None:
        """Sleep until ``sent`` bytes whose sending began at ``since`` have been sent."""
        with self._lock:
            self._free_at = max(self._free_at, since - self._burst) + sent * 8 / self._rate
            wait = self._free_at - self._clock()
        if wait > 0:
            self._sleep(wait)
