# SPDX-License-Identifier: Apache-2.0
"""Timing of retransmissions: a time-out that doubles."""

from __future__ import annotations


class Backoff:
    """A time-out that doubles whenever it fires, up to a cap; times in seconds on the caller's clock."""

    def __init__(self, first_s: float, cap_s: float) -> None:
        self._first_s = first_s
        self._cap_s = cap_s
        self._interval_s = first_s
        self._due_s: float | None = None

    @property
    def due_s(self) -> float | None:
        """The time at which the time-out expires; None before the first look at the clock."""
        return self._due_s

    def restart(self) -> None:
        """Wait for the shortest time again, from the next look at the clock on; for use when something new arrives."""
        self._interval_s = self._first_s
        self._due_s = None

    def fires(self, now_s: float) -> bool:
        """Whether the time-out has expired; if so, the next one begins."""
        if self._due_s is None:
            self._due_s = now_s + self._interval_s
        if now_s < self._due_s:
            return False
        self._interval_s = min(2 * self._interval_s, self._cap_s)
        self._due_s = now_s + self._interval_s
        return True
