"""How a loop waits for work without taking a core from those who have some."""

from __future__ import annotations

import os
import time
from typing import Final

_SPINS: Final = 64
_YIELDS: Final = 128
_FIRST_S: Final = 20e-6
_LONGEST_S: Final = 1e-3


class Idle:
    """Call it after each round."""

    def __init__(self) -> None:
        self._rounds = 0

    def __call__(self, *, worked: bool) -> None:
        """Return at once after work; later let others run; then sleep, at most a millisecond."""
        if worked:
            self._rounds = 0
            return
        self._rounds += 1
        if self._rounds > _SPINS + _YIELDS:
            time.sleep(min(_FIRST_S * 2 ** min((self._rounds - _SPINS - _YIELDS) // 16, 10), _LONGEST_S))
        elif self._rounds > _SPINS:
            os.sched_yield()
