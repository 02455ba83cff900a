# SPDX-License-Identifier: Apache-2.0
"""The interface of a kind of job: its ways, the cost of each, its needs of switches, and the program of its ranks.

The planner and the runner know kinds by :data:`KINDS` only, where each module of :mod:`offramp.job.kinds` registers one
under the name of the job file's field.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from offramp.cluster.model import Cluster, ClusterHost
from offramp.fabric import Fabric
from offramp.job.floor import StepTraffic
from offramp.job.settings import JobSettings
from offramp.job.transaction import TransactionStep
from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

_ROUNDS: Final = 3
_MOST_PAIRS: Final = 1 << 18
"""Most pairs of hosts whose ways are looked at in one step."""


@dataclass(frozen=True)
class CalibrationResult:
    """The measurements of a calibration.

    Attributes:
        seconds: seconds by each way that works, of each round, in which all ways took turns.
        failed: why others could not be measured.
    """

    seconds: Mapping[str, Sequence[float]]
    failed: Mapping[str, str] = field(default_factory=dict)

    def usual_s(self, way: str) -> float:
        """The median round of a way."""
        return median(self.seconds[way])


Measure = Callable[[Sequence[str], int], CalibrationResult | None]
"""Measures these ways on the cluster; with this many bytes, where that matters. None: that was not possible."""
Once = Callable[[JobSettings, Sequence[str], Path, float], None]
"""Deploys ways, runs the ranks of a job once within this many seconds, and removes everything."""


@dataclass(frozen=True)
class PlacedJob:
    """A job on the hosts of a cluster.

    Attributes:
        decided: what a plan has decided for the ranks' network, by the field of their file; None: there is no plan.
    """

    job: JobSettings
    cluster: Cluster
    hosts: Sequence[ClusterHost]
    decided: Mapping[str, Any] | None = None

    @classmethod
    def on(cls, job: JobSettings, cluster: Cluster) -> PlacedJob:
        """Place a job on the hosts that it names.

        Raises:
            OfframpError: hosts that the cluster lacks.
        """
        return cls(job, cluster, job.hosts_of(cluster))

    @property
    def ranks(self) -> int:
        """Processes of the job."""
        return sum(host.processes for host in self.hosts)

    @cached_property
    def fabric(self) -> Fabric:
        """The cluster's network at the start of the job."""
        return Fabric(self.cluster).at(0.0)

    @property
    def slowest_bps(self) -> int:
        """The rate of the slowest host's links.

        Raises:
            OfframpError: a host without any.
        """
        rates = self.fabric.host_bps[self._numbers]
        if not rates.all():
            raise OfframpError(f"{self.cluster.origin}: expected a link of every host")
        return int(rates.min())

    @cached_property
    def farthest_ns(self) -> float:
        """The longest delay of a way between two of its hosts.

        Raises:
            OfframpError: two of them have none.
        """
        first, count = self._first_ranks, len(self.hosts)
        longest = 0.0
        for part in np.array_split(first, -(-(count**2) // _MOST_PAIRS)):
            delays = self.fabric.paths.delays_ns(np.repeat(part, count), np.tile(first, len(part)))
            longest = max(longest, float(delays.max(initial=0.0)))
        return longest

    @cached_property
    def ring_bps(self) -> float:
        """The rate of a ring over its hosts in order: of its narrowest link, shared by what crosses it one way."""
        fabric, first = self.fabric, self._first_ranks
        load = fabric.load(first, np.roll(first, -1), np.ones(len(first)))[: len(fabric.ends)]
        used = load > 0
        return float((fabric.rate_bps[used] / load[used]).min(initial=np.inf))

    @property
    def _numbers(self) -> npt.NDArray[np.int64]:
        return np.array([self.fabric.number[host.name] for host in self.hosts], np.int64)

    @property
    def _first_ranks(self) -> npt.NDArray[np.int64]:
        """The cluster's number of each host's first rank, whose flows stand for the host's."""
        return np.searchsorted(self.fabric.rank_host, self._numbers)


@dataclass(frozen=True)
class Prediction:
    """The predicted time of each way, and the reasons against those that cannot be taken.

    Attributes:
        ways: all of them, the plain one first.
        step_s: predicted, of those that can be taken.
        model_s: time of what is offloaded, by models alone.
        corrections: measured values over the model's.
        refused: why others cannot be taken.
        gains: whether the job says enough for an offload to gain anything for certain.
        rounds: measurements of each way, by rounds in which they took turns; empty: there is none.
        apart_s: seconds of each step that are neither communication nor part of a measurement.
    """

    ways: Sequence[str]
    step_s: Mapping[str, float]
    model_s: Mapping[str, float]
    corrections: Mapping[str, float]
    refused: Mapping[str, str]
    gains: bool = True
    rounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    apart_s: float = 0.0

    def mostly_faster(self, way: str, other: str) -> bool:
        """Whether a way was faster in two rounds of three, where rounds of both were measured.

        Rounds are compared one by one: what else the machine does falls on both.
        """
        pairs = list(zip(self.rounds.get(way, ()), self.rounds.get(other, ()), strict=False))
        return 3 * sum(a < b for a, b in pairs) >= 2 * len(pairs)


@dataclass(frozen=True)
class Deployment:
    """The changes to switches and agents that a way needs, and the file that ranks read.

    Attributes:
        steps: steps on switches and agents, checked, in the order in which they are applied.
        network: text of the file for ``OFFRAMP_NETWORK``; None where ranks need none.
    """

    steps: Sequence[TransactionStep] = ()
    network: str | None = None


@dataclass(frozen=True)
class JobStart:
    """One start of a job's ranks.

    Attributes:
        folder: folder for logs, results and checkpoints.
        attempt: number of earlier starts.
        rounds: steps to run in place of all, for a calibration.
    """

    folder: Path
    attempt: int = 0
    rounds: int | None = None


class JobKind(ABC):
    """A kind of job.

    Attributes:
        ways: ways by which it can run; first the plain one, that offloads nothing.
        leading: number of ranks, from 0, that end by themselves; the others serve them. None: all.
        calibration_rounds: steps of a calibration by each way; of epochs the first is not counted.
    """

    ways: ClassVar[Sequence[str]]
    leading: ClassVar[int | None] = None
    calibration_rounds: ClassVar[int] = 6

    @abstractmethod
    def predict(self, placed: PlacedJob, measure: Measure | None) -> Prediction:
        """Seconds of a step by each way.

        Raises:
            OfframpError: a job that cannot run at all, with file and line.
        """

    def traffic(self, placed: PlacedJob, way: str) -> StepTraffic:  # noqa: ARG002
        """The least traffic of a step by a way that :meth:`predict` accepts."""
        return StepTraffic()

    def decided(self, placed: PlacedJob, way: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Assumptions of a way's prediction about the ranks' network, by the field of their file."""
        return {}

    @abstractmethod
    def program(self, placed: PlacedJob, way: str, start: JobStart) -> JobSettings:
        """The job with the command of its ranks by a way."""

    def calibrate(
        self,
        placed: PlacedJob,
        ways: Sequence[str],
        size: int,  # noqa: ARG002
        folder: Path,
        timeout_s: float,
        once: Once,
    ) -> CalibrationResult:
        """Measure the ways as :data:`Measure` does: by default a few steps of the program by each way, as time allows.

        Raises:
            OfframpError: nothing could be measured.
        """

        def one(way: str, left_s: float) -> float | None:
            mine = folder / way.replace(" ", "-")
            mine.mkdir(exist_ok=True)
            once(self.program(placed, way, JobStart(mine, rounds=self.calibration_rounds)), [way], mine, left_s)
            return self.step_s(mine)

        return measure_each(ways, timeout_s, one)

    @abstractmethod
    def step_s(self, folder: Path) -> float | None:
        """Seconds of a step on average, of a run whose ranks wrote into ``folder``; None where they did not."""

    def deployment(self, placed: PlacedJob, ways: Sequence[str], number: int, folder: Path) -> Deployment:  # noqa: ARG002
        """All that has to be installed for a run, and where; whatever can be known beforehand is checked.

        Args:
            placed: the job on its cluster.
            ways: the ways of one run; several only where a calibration measures them in one.
            number: the job's number on switches.
            folder: the folder of the run.

        Raises:
            OfframpError: names file and line of what cannot take the job.
        """
        return Deployment()


PASSED: Final = "the deadline had passed"


KINDS: Registry[type[JobKind]] = Registry("kind of job", "offramp.jobs", "offramp.job.kinds")
"""Kinds by the field of a job file that names what runs."""


def kind_of(job: JobSettings) -> JobKind:
    """The kind of a job.

    Raises:
        OfframpError: a package that brings it cannot be imported.
    """
    return KINDS.get(job.kind)()


@dataclass
class EpochPrediction:
    """Prediction of work that repeats, by a model of each way that running it for a few epochs replaces.

    Attributes:
        model: seconds of an epoch; raises why a way cannot be taken.
        apart_s: seconds of these that are no communication.
    """

    ways: Sequence[str]
    model: Callable[[str], float]
    apart_s: float = 0.0
    refused: dict[str, str] = field(default_factory=dict)

    def predict(self, measure: Measure | None) -> Prediction:
        """Predict by the model, or by measurements of the ways that the model covers."""
        alone: dict[str, float] = {}
        for way in self.ways:
            try:
                alone[way] = self.model(way)
            except OfframpError as error:
                self.refused[way] = str(error)
        times, corrections, rounds = dict(alone), dict[str, float](), dict[str, Sequence[float]]()
        measured = None if measure is None else measure(list(alone), 0)
        if measured is not None:
            rounds.update(measured.seconds)
            for way, model in alone.items():
                if way in measured.seconds:
                    times[way] = measured.usual_s(way)
                    corrections[way] = times[way] / max(model, 1e-9)
                else:
                    del times[way]
                    self.refused[way] = f"calibration: {measured.failed.get(way, PASSED)}"
        apart_s = self.apart_s if measured is None else 0.0
        return Prediction(self.ways, times, alone, corrections, self.refused, rounds=rounds, apart_s=apart_s)


def measure_each(ways: Sequence[str], timeout_s: float, one: Callable[[str, float], float | None]) -> CalibrationResult:
    """``one`` of each way in turn, as many rounds as there is time for; a way that failed once is left out.

    Args:
        ways: the plain one first.
        timeout_s: timeout for all of it; only the first round is begun without knowing how long one takes.
        one: measures a way within this many seconds; None: it said nothing.
    """
    deadline = time.monotonic() + timeout_s
    times: dict[str, list[float]] = {way: [] for way in ways}
    failed: dict[str, str] = {}
    longest = 0.0
    for _ in range(_ROUNDS):
        begun = time.monotonic()
        if deadline - begun < longest:
            break
        for way in ways:
            if way in failed:
                continue
            if (left := deadline - time.monotonic()) <= 0:
                break
            try:
                seconds = one(way, left)
            except OfframpError as error:
                failed[way] = str(error)
                continue
            if seconds is None:
                failed[way] = "its run did not say how long it took"
            else:
                times[way].append(seconds)
        longest = max(longest, time.monotonic() - begun)
    return CalibrationResult({way: rows for way, rows in times.items() if rows}, failed)
