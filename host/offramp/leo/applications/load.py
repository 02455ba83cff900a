"""Load generators: a closed loop keeps so many requests unfinished, an open loop sends at a rate whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from offramp.errors import OfframpError
from offramp.leo.applications.workload import Workload
from offramp.leo.runtime.batch import Words
from offramp.leo.runtime.idle import Idle
from offramp.leo.runtime.requester import Requester

_BATCH: Final = 1024
_DRAIN_S: Final = 30.0

Hook = Callable[[float], None]
"""Called in every round with the seconds that have passed."""


@dataclass
class Outcome:
    """Of a run.

    Attributes:
        seconds: of the load, without the time in which the last requests end.
        sent, done, wrong: requests; ``done`` within ``seconds``.
        latency_ns: of each request: in an open loop from the moment at which it was to be sent.
        jct_ns: the intra-host part as the selector learns it.
        by_path: requests that ended on each path.
    """

    seconds: float = 0.0
    sent: int = 0
    done: int = 0
    wrong: int = 0
    by_path: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    latency_ns: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    jct_ns: Words = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.done / self.seconds if self.seconds else 0.0

    def latency_us(self, percent: float = 50.0) -> float:
        """A percentile of the latency."""
        return float(np.percentile(self.latency_ns, percent)) / 1e3 if len(self.latency_ns) else float("nan")

    def numbers(self, paths: tuple[str, ...]) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "seconds": self.seconds,
            "sent": self.sent,
            "done": self.done,
            "wrong": self.wrong,
            "rate": self.rate,
            "median_us": self.latency_us(),
            "p99_us": self.latency_us(99),
            "by_path": dict(zip(paths, self.by_path.tolist(), strict=True)),
        }


def _never(*, worked: bool) -> None:
    """Do not wait: a clock that is not the machine's does not go on meanwhile."""
    del worked


class _Generator:
    def __init__(self, requester: Requester, workload: Workload) -> None:
        self.requester, self.workload = requester, workload
        self.outcome = Outcome(by_path=np.zeros(len(requester.program.paths), np.int64))
        self.latencies: list[Words] = []
        self.jcts: list[Words] = []
        self.ended = 0

    def send(self, most: int) -> int:
        """Offer the next requests."""
        most = min(most, _BATCH, self.requester.free)
        if most <= 0:
            return 0
        start = self.outcome.sent
        users = np.arange(start, start + most, dtype=np.int64)
        taken = self.requester.admit(self.workload.batch(start, most), users)
        self.outcome.sent += taken
        return taken

    def collect(self, due: Callable[[Words], Words] | None, until_ns: int) -> int:
        """Take what has ended."""
        done = self.requester.collect()
        if not done.count:
            return 0
        self.ended += done.count
        self.outcome.wrong += self.workload.wrong(done)
        counted = done.ended_ns <= until_ns
        self.outcome.done += int(counted.sum())
        self.outcome.by_path += np.bincount(done.paths, minlength=len(self.outcome.by_path))
        since = done.begun_ns if due is None else due(done.users)
        self.latencies.append(done.ended_ns - since)
        self.jcts.append(done.jct_ns)
        return done.count

    def drain(self, due: Callable[[Words], Words] | None, until_ns: int, hook: Hook | None) -> Outcome:
        """Wait for the last.

        Raises:
            OfframpError: some do not end.
        """
        idle = Idle() if self.requester.settings.clock.real else _never
        patience = max(_DRAIN_S, 2 * self.requester.settings.timeout_s)
        limit = time.monotonic() + patience
        while self.ended < self.outcome.sent:
            if hook is not None:
                hook(self.outcome.seconds)
            worked = self.requester.step()
            worked |= self.collect(due, until_ns) > 0
            idle(worked=worked)
            if time.monotonic() > limit:
                left = self.outcome.sent - self.ended
                raise OfframpError(f"{left} of {self.outcome.sent} requests have not ended after {patience:g} s")
        self.outcome.latency_ns = np.concatenate(self.latencies) if self.latencies else np.zeros(0, np.int64)
        self.outcome.jct_ns = np.concatenate(self.jcts) if self.jcts else np.zeros(0, np.int64)
        return self.outcome


def closed_loop(
    requester: Requester, workload: Workload, seconds: float, window: int, hook: Hook | None = None
) -> Outcome:
    """Keep ``window`` requests unfinished for ``seconds``, then let them end."""
    generator = _Generator(requester, workload)
    clock = requester.settings.clock.now
    idle = Idle() if requester.settings.clock.real else _never
    begun = clock()
    until = begun + int(seconds * 1e9)
    while (now := clock()) < until:
        if hook is not None:
            hook((now - begun) / 1e9)
        worked = generator.send(window - (generator.outcome.sent - generator.ended)) > 0
        worked |= requester.step()
        worked |= generator.collect(None, until) > 0
        idle(worked=worked)
    generator.outcome.seconds = seconds
    return generator.drain(None, until, hook)


def open_loop(
    requester: Requester, workload: Workload, seconds: float, rate: float, seed: int = 1, hook: Hook | None = None
) -> Outcome:
    """Send at ``rate`` a second with exponential gaps; what finds the table full goes as soon as it can.

    Raises:
        OfframpError: not a rate above 0.
    """
    if not rate > 0:
        raise OfframpError(f"rate {rate}: expected requests a second, above 0")
    gaps = np.random.default_rng(seed).exponential(1e9 / rate, max(1, int(rate * seconds * 1.5) + 16))
    due = np.cumsum(gaps).astype(np.int64)
    due = due[due < seconds * 1e9]
    generator = _Generator(requester, workload)
    clock = requester.settings.clock.now
    idle = Idle() if requester.settings.clock.real else _never
    begun = clock()
    until = begun + int(seconds * 1e9)

    def when(users: Words) -> Words:
        return begun + due[users]

    while (now := clock()) < until:
        if hook is not None:
            hook((now - begun) / 1e9)
        ready = int(np.searchsorted(due, now - begun, side="right"))
        worked = generator.send(ready - generator.outcome.sent) > 0
        worked |= requester.step()
        worked |= generator.collect(when, until) > 0
        idle(worked=worked)
    generator.outcome.seconds = seconds
    return generator.drain(when, until, hook)
