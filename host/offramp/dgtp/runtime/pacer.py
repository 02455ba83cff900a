# SPDX-License-Identifier: Apache-2.0
"""The rate of a flow under way: its bytes in pieces, each when a card of that rate would have sent it.

A pacing by the kernel sends up to 64 kB at once where round trips are short, which may be
all of a gradient; pieces of five milliseconds are not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

STEP_S: Final = 0.005
LEAST: Final = 2048
"""Least bytes of a piece."""
_BEHIND_S: Final = 0.1
"""Time that a late process may make up for."""


class FlowPacer:
    """Cuts flows, one after the other; another thread may change the rate at any time.

    ``clock`` and ``sleep`` are in seconds and exist for tests.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._rate = 0
        self._changed = threading.Lock()

    def set_rate(self, bytes_per_s: int) -> None:
        """The rate from the next piece on; 0: all at once."""
        with self._changed:
            self._rate = bytes_per_s

    def pieces(self, data: bytes | bytearray | memoryview) -> Iterator[memoryview]:
        """Parts of ``data``, each once the time that it takes has passed."""
        left, due = memoryview(data), self._clock()
        while left:
            rate = self._rate
            size = max(LEAST, int(rate * STEP_S)) if rate else len(left)
            piece, left = left[:size], left[size:]
            if rate:
                now = self._clock()
                due = max(due, now - _BEHIND_S) + len(piece) / rate
                self._sleep(max(0.0, due - now))
            yield piece
