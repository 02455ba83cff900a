# SPDX-License-Identifier: Apache-2.0
"""Load generators: a closed loop keeps a fixed number of requests outstanding, an open loop sends at a fixed rate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from offramp.leo.applications.workload import Workload
from offramp.leo.native.batch import Completions, Words
from offramp.leo.runtime.idle import Idle
from offramp.leo.runtime.requester import Requester
from offramp_base.errors import OfframpError

_BATCH: Final = 1024
_BATCH_BYTES: Final = 1 << 16
_KEPT: Final = 64
_DRAIN_S: Final = 30.0
_FOREVER_NS: Final = 1 << 61

Hook = Callable[[float], None]
"""Called in every round with the seconds that have elapsed."""


@dataclass
class LoadResult:
    """Results of a run.

    Attributes:
        seconds: duration of the load, without the time in which the last requests finish.
        sent, done, wrong: requests; ``done`` within ``seconds``.
        latency_ns: latency of each request; in an open loop from the time at which it was due.
        jct_ns: the intra-host part as the selector learns it.
        by_path: requests that ended on each path.
        joules: energy of the machine's processors meanwhile, including other work; None where it cannot be read.
    """

    seconds: float = 0.0
    sent: int = 0
    done: int = 0
    wrong: int = 0
    by_path: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    latency_ns: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    jct_ns: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    joules: float | None = None

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.done / self.seconds if self.seconds else 0.0

    def latency_us(self, percent: float = 50.0) -> float:
        """A percentile of the latency in microseconds."""
        return float(np.percentile(self.latency_ns, percent)) / 1e3 if len(self.latency_ns) else float("nan")

    def numbers(self, paths: tuple[str, ...]) -> dict[str, Any]:
        """The run as a dictionary for ``--json``."""
        return {
            "seconds": self.seconds,
            "sent": self.sent,
            "done": self.done,
            "wrong": self.wrong,
            "rate": self.rate,
            "median_us": self.latency_us(),
            "p99_us": self.latency_us(99),
            "joules": self.joules,
            "by_path": dict(zip(paths, self.by_path.tolist(), strict=True)),
        }


def _never(*, worked: bool, yields: bool) -> None:
    """Do not sleep: a clock that is not the machine's does not advance meanwhile."""
    del worked, yields


class _LoadGenerator:
    """A run; ``due_ns`` gives the time at which each request is due, by number, or is None."""

    def __init__(
        self, requester: Requester, workload: Workload, seconds: float, due_ns: Words | None, most: int | None = None
    ) -> None:
        self.requester, self.workload, self.most = requester, workload, most
        self.outcome = LoadResult(seconds, by_path=np.zeros(len(requester.program.paths), np.int64))
        self.latencies: list[Words] = []
        self.jcts: list[Words] = []
        self.kept: list[Completions] = []
        self.ended = 0
        self.batch = 1
        self.begun_ns = requester.settings.clock.now()
        self.until_ns = self.begun_ns + int(min(seconds * 1e9, _FOREVER_NS))
        self.due_ns = None if due_ns is None else self.begun_ns + due_ns

    def run(self, window: int, hook: Hook | None) -> LoadResult:
        """Send until the time is over, then let the outstanding requests finish.

        Raises:
            OfframpError: some requests do not finish.
        """
        clock = self.requester.settings.clock
        idle = Idle() if clock.real else _never
        while (now := clock.now()) < self.until_ns and self.outcome.sent != self.most:
            if hook is not None:
                hook((now - self.begun_ns) / 1e9)
            if not self.requester.offered:
                self.offer()
            idle(worked=self.round(window), yields=self.requester.computes)
        self.requester.withdraw()
        drain_s = max(_DRAIN_S, 2 * self.requester.settings.timeout_s)
        limit = time.monotonic() + drain_s
        while self.ended < self.outcome.sent:
            if hook is not None:
                hook(self.outcome.seconds)
            idle(worked=self.round(0), yields=self.requester.computes)
            if time.monotonic() > limit:
                left = self.outcome.sent - self.ended
                raise OfframpError(f"{left} of {self.outcome.sent} requests have not ended after {drain_s:g} s")
        self.settle()
        if self.most is not None:
            self.outcome.seconds = (clock.now() - self.begun_ns) / 1e9
        self.outcome.latency_ns = np.concatenate(self.latencies) if self.latencies else np.zeros(0, np.int64)
        self.outcome.jct_ns = np.concatenate(self.jcts) if self.jcts else np.zeros(0, np.int64)
        return self.outcome

    def offer(self) -> None:
        """Offer the next requests: few at a time if they have to be generated."""
        start = self.outcome.sent
        most = self.most if self.due_ns is None else len(self.due_ns)
        count = self.batch if most is None else min(self.batch, most - start)
        if count <= 0:
            return
        batch = self.workload.batch(start, count)
        due = None if self.due_ns is None else self.due_ns[start : start + count]
        self.requester.offer(batch, np.arange(start, start + count, dtype=np.int64), due)
        room = _BATCH_BYTES // max(1, int(batch.sizes.mean()))
        self.batch = min(_BATCH if batch.lasts else max(1, room), self.requester.settings.rows)

    def round(self, window: int) -> bool:
        """Send what is due and collect what has finished; returns whether there was anything to do."""
        before = self.requester.offered
        worked, done = self.requester.flow(window)
        self.outcome.sent += before - self.requester.offered
        if done.count:
            self.ended += done.count
            self.outcome.wrong += self.workload.wrong(done)
            self.kept.append(done)
            if len(self.kept) == _KEPT:
                self.settle()
        return worked

    def settle(self) -> None:
        """Count what was collected, many rounds at a time, since each NumPy call costs as much as a request."""
        if not self.kept:
            return
        done = Completions(np.concatenate([d.words for d in self.kept], axis=1), self.kept[0].memory)
        self.kept.clear()
        self.outcome.done += int((done.ended_ns <= self.until_ns).sum())
        self.outcome.by_path += np.bincount(done.paths, minlength=len(self.outcome.by_path))
        since = done.begun_ns if self.due_ns is None else self.due_ns[done.users]
        self.latencies.append(done.ended_ns - since)
        self.jcts.append(done.jct_ns.copy())


def closed_loop(
    requester: Requester, workload: Workload, seconds: float, window: int, hook: Hook | None = None
) -> LoadResult:
    """Keep ``window`` requests outstanding for ``seconds``, then let them finish.

    Raises:
        OfframpError: they do not finish.
    """
    return _LoadGenerator(requester, workload, seconds, None).run(window, hook)


def counted_loop(
    requester: Requester, workload: Workload, requests: int, window: int, hook: Hook | None = None
) -> LoadResult:
    """Keep ``window`` requests outstanding until ``requests`` have finished, however long that takes.

    Raises:
        OfframpError: the last of them do not finish.
    """
    return _LoadGenerator(requester, workload, math.inf, None, requests).run(window, hook)


def open_loop(
    requester: Requester, workload: Workload, seconds: float, rate: float, seed: int = 1, hook: Hook | None = None
) -> LoadResult:
    """Send at ``rate`` requests per second with exponential gaps; if the table is full, a request goes when it can.

    Raises:
        OfframpError: the rate is not above 0, or requests do not finish.
    """
    if not rate > 0:
        raise OfframpError(f"rate {rate}: expected requests per second, above 0")
    gaps = np.random.default_rng(seed).exponential(1e9 / rate, max(1, int(rate * seconds * 1.5) + 16))
    due = np.cumsum(gaps).astype(np.int64)
    due = due[due < seconds * 1e9]
    return _LoadGenerator(requester, workload, seconds, due).run(requester.settings.rows, hook)
