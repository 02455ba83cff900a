# SPDX-License-Identifier: Apache-2.0
"""Work with a time limit: a waiting thread resumes in time, whatever the work is busy with."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from offramp_base.errors import OfframpError

T = TypeVar("T")
_ENDING_S: Final = 10.0
"""Seconds that abandoned work has at the end of the process."""


@dataclass
class Deadline:
    """A moment until which something has to be done.

    Attributes:
        seconds: seconds from now.
        clock: tells the time in seconds.
    """

    seconds: float
    clock: Callable[[], float] = time.monotonic
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends = self.clock() + self.seconds

    @property
    def left_s(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self._ends - self.clock())


_abandoned: list[threading.Thread] = []


class _BoundedCall(threading.Thread, Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__(name="bounded", daemon=True)
        self._work = work
        self.result: T | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:
            self.error = error


def within(seconds: float, work: Callable[[], T], stop: Callable[[], None]) -> T:
    """The result of work that is done within these seconds.

    Work that is not is told to stop, and left to end by itself; :func:`wait_for_abandoned` waits for that.

    Args:
        seconds: seconds for the work.
        work: runs in a thread of its own.
        stop: tells the work to stop.

    Raises:
        OfframpError: it has not ended; or whatever the work raises.
    """
    thread = _BoundedCall(work)
    thread.start()
    try:
        thread.join(seconds)
    finally:
        if thread.is_alive():
            stop()
            _abandoned.append(thread)
    if thread.is_alive():
        raise OfframpError(f"has not ended within {seconds:.1f} s")
    if thread.error is not None:
        raise thread.error
    return thread.result  # type: ignore[return-value]


def wait_for_abandoned(seconds: float | None = None) -> None:
    """Wait until what was abandoned has ended, and with it what it still takes away from switches."""
    deadline = None if seconds is None else Deadline(seconds)
    while _abandoned:
        _abandoned[-1].join(None if deadline is None else deadline.left_s)
        _abandoned.pop()


atexit.register(wait_for_abandoned, _ENDING_S)
