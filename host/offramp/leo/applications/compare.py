# SPDX-License-Identifier: Apache-2.0
"""Each path alone and all together in one run: their sustained rates, and the latency at a fraction of that rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp.device import Device
from offramp.leo.applications.application import Application
from offramp.leo.applications.load import LoadResult, closed_loop, open_loop
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.runtime.requester import Requester
from offramp.leo.selection import AnyPolicy, Policy
from offramp.report.energy import energy_or_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

WARM_UP_S: Final = 0.2
Show = Callable[[str, int, int], None]


@dataclass
class PathResults:
    """Results of one set of paths.

    Attributes:
        paths: names of the paths.
        policy: the rule that selects among them.
        most: results of the closed loop, one per round.
        part: results of the open loop at a fraction of that rate, one per round.
    """

    paths: tuple[str, ...]
    policy: AnyPolicy
    most: list[LoadResult] = field(default_factory=list)
    part: list[LoadResult] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Requests per second, the median of the rounds."""
        return float(np.median([o.rate for o in self.most]))

    def over(self, other: PathResults) -> float:
        """Ratio of the rate to another row's: the median of rounds in which the other served anything; NaN if none."""
        rounds = zip(self.most, other.most, strict=True)
        return float(np.median([one.rate / two.rate for one, two in rounds if two.rate] or [np.nan]))

    @property
    def median_us(self) -> float:
        """Median latency in microseconds at a fraction of the rate, the median of the rounds."""
        return float(np.median([o.latency_us() for o in self.part])) if self.part else float("nan")

    @property
    def joules(self) -> float:
        """Energy per request in the closed loop in joules, the median of the rounds; NaN where it cannot be read."""
        each = [o.joules / o.sent for o in self.most if o.joules is not None and o.sent]
        return float(np.median(each)) if each else float("nan")

    @property
    def wrong(self) -> int:
        """Number of requests that were not answered correctly."""
        return sum(o.wrong for o in (*self.most, *self.part))


@dataclass
class PathComparison:
    """Comparison of an application's paths.

    Attributes:
        name, paths: those of the application.
        rows: each path alone, all paths under rival rules, then all paths.
        load: fraction of its own rate at which each row's latency was measured.
        summed: paths that share no device; the sum of their rates is the reference for all paths together.
        restarts: number of times that the responder ended by itself and was started again.
        fate: how it last ended.
    """

    name: str
    paths: tuple[str, ...]
    rows: list[PathResults]
    load: float
    summed: tuple[str, ...]
    restarts: int = 0
    fate: str = ""

    @property
    def share_of_sum(self) -> float:
        """Rate of all paths over the sum of the rates of those that share no device, the median of the rounds."""
        summed = [row.most for row in self.alone if row.paths[0] in self.summed]
        rounds = zip(self.rows[-1].most, *summed, strict=True)
        return float(np.median([mixed.rate / sum(o.rate for o in alone) for mixed, *alone in rounds]))

    @property
    def alone(self) -> list[PathResults]:
        """Rows of single paths."""
        return [row for row in self.rows if len(row.paths) == 1]

    @property
    def against_better(self) -> float:
        """Median latency of all paths over that of the better single path, the median of the rounds."""
        better = min(self.alone, key=lambda row: row.median_us)
        rounds = zip(self.rows[-1].part, better.part, strict=True)
        return float(np.median([mixed.latency_us() / alone.latency_us() for mixed, alone in rounds]))

    def numbers(self) -> dict[str, Any]:
        """The comparison as a dictionary for ``--json``."""
        rows = [
            {
                "paths": list(row.paths),
                "policy": row.policy.value,
                "rate": row.rate,
                "median_us": row.median_us,
                "wrong": row.wrong,
                "closed_loop": [o.numbers(tuple(self.paths)) for o in row.most],
                "open_loop": [o.numbers(tuple(self.paths)) for o in row.part],
            }
            for row in self.rows
        ]
        numbers: dict[str, Any] = {"application": self.name, "load": self.load, "rows": rows, "restarts": self.restarts}
        if len(self.rows) > 1:
            numbers |= {
                "summed": list(self.summed),
                "share_of_sum": self.share_of_sum,
                "against_better": self.against_better,
            }
        return numbers


def compare(
    application: Application,
    *,
    seconds: float = 2.0,
    load: float = 0.6,
    rounds: int = 1,
    policy: AnyPolicy = Policy.LOOKAHEAD,
    seed: int = 1,
    show: Show | None = None,
) -> PathComparison:
    """Measure all rows; their runs alternate within each round, so that other load on the machine affects all alike.

    Raises:
        OfframpError: a device or function is missing, or requests do not end.
    """
    with running(application) as run:
        rows = [PathResults((path,), policy) for path in application.paths]
        if len(rows) > 1:
            rows += [PathResults(application.paths, rule) for rule in (*application.rivals, policy)]
        total, done = 2 * rounds * len(rows), 0
        measured: dict[str, float] = {}
        for number in range(rounds):
            for row in rows:
                outcome = _in_order(run(row.paths, measured, row.policy, seed + number, None, seconds), application)
                row.most.append(outcome)
                if len(row.paths) == 1:
                    measured[row.paths[0]] = 1e9 / max(row.rate, 1e-2)
                _tell(show, f"{'+'.join(row.paths)}: closed loop", done := done + 1, total)
                rate = max(load * outcome.rate, 1.0)
                row.part.append(
                    _in_order(run(row.paths, measured, row.policy, seed + number, rate, seconds), application)
                )
                _tell(show, f"{'+'.join(row.paths)}: {load:.0%} load", done := done + 1, total)
        summed = tuple(p for p in application.summed or application.paths if p in application.paths)
        process = run.process
        return PathComparison(application.name, application.paths, rows, load, summed, process.restarts, process.fate)


def _tell(show: Show | None, what: str, done: int, total: int) -> None:
    if show is not None:
        show(what, done, total)


def _in_order(outcome: tuple[LoadResult, tuple[str, ...]], application: Application) -> LoadResult:
    """Counts by path in the application's order."""
    result, names = outcome
    counts = dict(zip(names, result.by_path.tolist(), strict=True))
    result.by_path = np.array([counts.get(path, 0) for path in application.paths], np.int64)
    return result


@dataclass
class ApplicationRun:
    """An application whose responder is running; each call makes one run over some paths."""

    application: Application
    process: ResponderProcess
    devices: Mapping[str, Device]

    def __call__(
        self,
        paths: Sequence[str],
        measured: Mapping[str, float],
        policy: AnyPolicy,
        seed: int,
        rate: float | None,
        seconds: float,
    ) -> tuple[LoadResult, tuple[str, ...]]:
        """Run a closed loop, or an open one at ``rate`` requests per second; returns result and names of the paths."""
        application = self.application
        program = application.program(paths, measured)
        settings = replace(application.settings, policy=policy, seed=seed)
        requester = Requester(program, [self.process] * len(program.links), self.devices, settings)
        try:
            workload = application.workload(seed)
            closed_loop(requester, workload, min(WARM_UP_S, seconds), application.window)
            energy, _ = energy_or_reason()
            if rate is None:
                outcome = closed_loop(requester, workload, seconds, application.window)
            else:
                outcome = open_loop(requester, workload, seconds, rate, seed)
            outcome.joules = None if energy is None else energy.joules()
            return outcome, program.paths
        finally:
            requester.close()


@contextmanager
def running(application: Application) -> Iterator[ApplicationRun]:
    """Start the responder's process and open the requester's devices."""
    process = ResponderProcess(application.plan)
    devices: dict[str, Device] = {}
    try:
        devices |= application.local()
        yield ApplicationRun(application, process, devices)
    finally:
        for device in devices.values():
            device.close()
        process.close()
