# SPDX-License-Identifier: Apache-2.0
"""The gate between a pipeline stage and the language model beside it: open in bubbles (section 3.6)."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from offramp.unitg.device import EmulatedDevice
from offramp_base.wire.objects import sendable

_KEPT = 200_000


@sendable
class Interval(NamedTuple):
    """Time from ``start`` to ``end`` of :func:`time.perf_counter`, which processes of one machine share."""

    name: str
    start: float
    end: float


class Gate:
    """Closed or open; a thread that wants to use the device passes it before each module.

    Pausing a paused model, resuming a running one, or doing either when the model has ended changes nothing. A module
    that has begun is completed: the pause takes effect at its boundary.

    Attributes:
        intervals: the latest modules that passed, with their times.
        openings: the latest times during which the gate was open; an open end is infinite.
    """

    def __init__(self, device: EmulatedDevice | None = None, *, is_open: bool = False) -> None:
        self.device = device or EmulatedDevice()
        self.intervals: deque[Interval] = deque(maxlen=_KEPT)
        self._changed = threading.Condition()
        self._open = is_open
        self._for_good = False
        self._stopped = False
        self._openings: deque[list[float]] = deque(maxlen=_KEPT)
        if is_open:
            self._openings.append([time.perf_counter(), float("inf")])

    @property
    def is_open(self) -> bool:
        """Whether the next module may begin."""
        return self._open

    @property
    def openings(self) -> list[tuple[float, float]]:
        """Times during which it was open."""
        with self._changed:
            return [(start, end) for start, end in self._openings]

    def pause(self) -> None:
        """Close the gate at the end of a bubble; no effect after :meth:`open_for_good`."""
        with self._changed:
            if self._open and not self._for_good:
                self._open = False
                self._openings[-1][1] = time.perf_counter()

    def resume(self) -> None:
        """Open the gate at the beginning of a bubble."""
        with self._changed:
            if not self._open:
                self._open = True
                self._openings.append([time.perf_counter(), float("inf")])
                self._changed.notify_all()

    def open_for_good(self) -> None:
        """Open the gate permanently, since the pipeline has ended."""
        self.resume()
        self._for_good = True

    def again(self) -> None:
        """Close the gate and clear its history, for another use."""
        self._for_good = False
        self.pause()

    def stop(self) -> None:
        """Make everyone who waits, or arrives, end."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def wait(self) -> float:
        """Wait until the gate is open; returns a time at which it was, so that no pause comes in between.

        Raises:
            Stopped: the run is over.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._open or self._stopped)
            if self._stopped:
                raise Stopped
            return time.perf_counter()

    @contextmanager
    def module(self, name: str, seconds: float = 0.0) -> Iterator[None]:
        """Run a module's work once the gate is open; it takes at least ``seconds`` of the device."""
        start = self.wait()
        with self.device.work(seconds):
            yield
        self.intervals.append(Interval(name, start, time.perf_counter()))


class Stopped(Exception):
    """The run ended before the language model was done."""
