# SPDX-License-Identifier: Apache-2.0
"""The lock that keeps packets out while a switch is inspected or changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType


class PacketLock:
    """Held while packets run in a thread of Python's; threads of other languages pause while it is held.

    Attributes:
        pause, resume: keep those threads from packets, and let them go on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.pause: Callable[[], object] = nothing
        self.resume: Callable[[], object] = nothing
        self._resume: Callable[[], object] = nothing

    def acquire(self) -> None:
        """Wait until no packet runs."""
        self._lock.acquire()
        self._resume = self.resume  # of the same threads, whatever happens meanwhile
        self.pause()

    def release(self) -> None:
        """Let packets run."""
        resume, self._resume = self._resume, nothing
        resume()
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


def nothing() -> None:
    """There are no other threads."""
