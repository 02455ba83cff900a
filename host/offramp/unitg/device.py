# SPDX-License-Identifier: Apache-2.0
"""The accelerator that a stage and its language model share: this processor, a GPU, or one emulated by sleeping."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_QUANTUM_S = 0.001


class EmulatedDevice:
    """On an emulated device, concurrent pieces of work run at half speed each, as on a shared one."""

    def __init__(self, settle: Callable[[], None] = lambda: None) -> None:
        """``settle`` waits for what this thread has launched, if launching is asynchronous."""
        self._busy, self._settle = 0, settle
        self._lock = threading.Lock()

    @contextmanager
    def work(self, seconds: float = 0.0) -> Iterator[None]:
        """A piece of work that takes at least ``seconds`` of exclusive use of the device; 0: as long as it takes."""
        self.begin()
        start = time.perf_counter()
        try:
            yield
        finally:
            self.end(start, seconds)

    def begin(self) -> None:
        """Record the time at which work begins."""
        with self._lock:
            self._busy += 1

    def end(self, start: float, seconds: float) -> None:
        """Finish work begun at ``start`` of :func:`time.perf_counter` once it has had ``seconds`` of the device."""
        try:
            self._settle()
            now = time.perf_counter()
            left = seconds - (now - start) / self._busy
            while left > 0:
                time.sleep(min(_QUANTUM_S, left * self._busy))
                then, now = now, time.perf_counter()
                left -= (now - then) / self._busy
        finally:
            with self._lock:
                self._busy -= 1
