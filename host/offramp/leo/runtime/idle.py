# SPDX-License-Identifier: Apache-2.0
"""Waiting for work without taking a core from threads that have some."""

from __future__ import annotations

import ctypes
import time
from typing import Final

_SPIN_NS: Final = 100_000
_FIRST_S: Final = 20e-6
_PART: Final = 0.125
_LEARNT: Final = 0.125
_LONGEST_S: Final = 1e-3
_ALIKE: Final = 4
"""Sleeps of one length before it doubles: each is a small fraction of the time waited so far."""
_PR_SET_TIMERSLACK: Final = 29
_SLACK_NS: Final = 1000


class Idle:
    """Idle strategy of a loop, called after each round; belongs to one thread."""

    def __init__(self) -> None:
        self._since = 0
        self._sleeps = 0
        self._prompt = False
        self._usual_s = 0.0
        """Usual duration of a wait in seconds, an average of the latest ones."""

    def __call__(self, *, worked: bool, yields: bool = False) -> None:
        """Return at once after work and during the first 0.1 ms without; then sleep, at most a millisecond.

        With ``yields``, sleep at once, for a fraction of the usual wait: others need the processor meanwhile. A thread
        that sleeps runs as soon as it wakes; one that spins or yields on a busy machine may not.
        """
        if worked:
            if self._since:
                self._usual_s += _LEARNT * ((time.monotonic_ns() - self._since) / 1e9 - self._usual_s)
                self._since = 0
            return
        now = time.monotonic_ns()
        if not self._since:
            self._since, self._sleeps = now, 0
        if yields or now - self._since > _SPIN_NS:
            if not self._prompt:
                self._prompt = True
                _wake_in_time()
            self._sleeps += 1
            first = max(_FIRST_S, _PART * self._usual_s) if yields else _FIRST_S
            time.sleep(min(first * 2 ** min(self._sleeps // _ALIKE, 10), _LONGEST_S))


def _wake_in_time() -> None:
    """Reduce the timer slack: Linux lets a thread sleep 50 us longer than requested by default."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(_SLACK_NS), 0, 0, 0)
