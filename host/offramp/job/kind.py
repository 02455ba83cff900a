# SPDX-License-Identifier: Apache-2.0
"""What a kind of job is: its ways, what each costs, what it needs of switches, and what its ranks run.

The planner and the runner know kinds by :data:`KINDS` only, where each module of :mod:`offramp.job.kinds` registers one
under the name of the job file's field that it is about.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from offramp.cluster.model import Cluster, Host
from offramp.job.settings import JobSettings
from offramp.job.transaction import Step
from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

Measure = Callable[[Sequence[str], int], Mapping[str, float]]
"""Seconds by each of these ways that works, measured on the cluster; of so many bytes, where that matters."""
Once = Callable[[JobSettings, Sequence[str], Path, float], None]
"""Deploys ways, runs the ranks of a job once within so many seconds, and takes everything away."""


@dataclass(frozen=True)
class Placed:
    """A job on the hosts of a cluster."""

    job: JobSettings
    cluster: Cluster
    hosts: Sequence[Host]

    @classmethod
    def on(cls, job: JobSettings, cluster: Cluster) -> Placed:
        """With the hosts that the job names.

        Raises:
            OfframpError: hosts that the cluster lacks.
        """
        return cls(job, cluster, job.hosts_of(cluster))

    @property
    def ranks(self) -> int:
        """Processes of the job."""
        return sum(host.processes for host in self.hosts)

    @property
    def slowest_bps(self) -> int:
        """The rate of the slowest host's links.

        Raises:
            OfframpError: a host without any.
        """
        rates = [self.cluster.rate_bps(host.name) for host in self.hosts]
        if not all(rates):
            raise OfframpError(f"{self.cluster.origin}: expected a link of every host")
        return min(rates)


@dataclass(frozen=True)
class Prediction:
    """What is known of each way.

    Attributes:
        ways: all of them, the plain one first.
        step_s: predicted, of those that can be taken.
        model_s: of what is offloaded, by models alone.
        corrections: what was measured over the model.
        refused: why others cannot be taken.
        gains: whether the job says enough for an offload to gain anything for certain.
    """

    ways: Sequence[str]
    step_s: Mapping[str, float]
    model_s: Mapping[str, float]
    corrections: Mapping[str, float]
    refused: Mapping[str, str]
    gains: bool = True


@dataclass(frozen=True)
class Deployment:
    """What ranks need for some ways.

    Attributes:
        steps: on switches and agents, checked, in the order in which they are applied.
        network: text of the file for ``OFFRAMP_NETWORK``; None where ranks need none.
    """

    steps: Sequence[Step] = ()
    network: str | None = None


@dataclass(frozen=True)
class Start:
    """One start of a job's ranks.

    Attributes:
        folder: for logs, results and checkpoints.
        attempt: how often it was started before.
        rounds: steps to run in place of all, for a calibration.
    """

    folder: Path
    attempt: int = 0
    rounds: int | None = None


class Kind(ABC):
    """A kind of job.

    Attributes:
        ways: by which it can run, the plain one, that offloads nothing, first.
        leading: how many ranks, from 0, end by themselves; the others serve them. None: all.
        calibration_rounds: steps of a calibration by each way; of epochs the first is not counted.
    """

    ways: ClassVar[Sequence[str]]
    leading: ClassVar[int | None] = None
    calibration_rounds: ClassVar[int] = 6

    @abstractmethod
    def predict(self, placed: Placed, measure: Measure | None) -> Prediction:
        """Seconds of a step by each way.

        Raises:
            OfframpError: a job that cannot run at all, with file and line.
        """

    @abstractmethod
    def program(self, placed: Placed, way: str, start: Start) -> JobSettings:
        """The job with the command of its ranks by a way."""

    def calibrate(
        self,
        placed: Placed,
        ways: Sequence[str],
        size: int,  # noqa: ARG002
        folder: Path,
        timeout_s: float,
        once: Once,
    ) -> Mapping[str, float]:
        """What :data:`Measure` gives: by default the program itself for a few steps by each way, as far as time allows.

        Raises:
            OfframpError: nothing could be measured.
        """

        def one(way: str, left_s: float) -> float | None:
            mine = folder / way.replace(" ", "-")
            mine.mkdir(exist_ok=True)
            once(self.program(placed, way, Start(mine, rounds=self.calibration_rounds)), [way], mine, left_s)
            return self.step_s(mine)

        return measure_each(ways, timeout_s, one)

    @abstractmethod
    def step_s(self, folder: Path) -> float | None:
        """Seconds of a step on average, of a run whose ranks wrote into ``folder``; None where they did not."""

    def deployment(self, placed: Placed, ways: Sequence[str], number: int, folder: Path) -> Deployment:  # noqa: ARG002
        """What has to be put where; everything that can be known is checked.

        Args:
            placed: the job.
            ways: of one run, several only where a calibration measures them in one.
            number: of the job on switches.
            folder: of the run.

        Raises:
            OfframpError: names file and line of what cannot take the job.
        """
        return Deployment()


KINDS: Registry[type[Kind]] = Registry("kind of job", "offramp.jobs", "offramp.job.kinds")
"""Kinds by the field of a job file that names what runs."""


def kind_of(job: JobSettings) -> Kind:
    """What kind a job is of.

    Raises:
        OfframpError: a package that brings it cannot be imported.
    """
    return KINDS.get(job.kind)()


@dataclass
class Epochs:
    """Prediction of work that repeats, by a model of each way that running it for a few epochs replaces.

    Attributes:
        model: seconds of an epoch; raises why a way cannot be taken.
    """

    ways: Sequence[str]
    model: Callable[[str], float]
    refused: dict[str, str] = field(default_factory=dict)

    def predict(self, measure: Measure | None) -> Prediction:
        """By the model, or by what was measured of those ways that the model has."""
        alone: dict[str, float] = {}
        for way in self.ways:
            try:
                alone[way] = self.model(way)
            except OfframpError as error:
                self.refused[way] = str(error)
        times, corrections = dict(alone), dict[str, float]()
        if measure is not None:
            measured = measure(list(alone), 0)
            for way, model in alone.items():
                if way in measured:
                    times[way], corrections[way] = measured[way], measured[way] / max(model, 1e-9)
                else:
                    del times[way]
                    self.refused[way] = "calibration: it failed, or the deadline had passed"
        return Prediction(self.ways, times, alone, corrections, self.refused)


def measure_each(ways: Sequence[str], timeout_s: float, one: Callable[[str, float], float | None]) -> dict[str, float]:
    """``one`` of each way within what is left of the time; those that failed are left out."""
    deadline = time.monotonic() + timeout_s
    found: dict[str, float] = {}
    for way in ways:
        if (left := deadline - time.monotonic()) <= 0:
            break
        try:
            seconds = one(way, left)
        except OfframpError:  # the plan says that it could not be measured
            continue
        if seconds is not None:
            found[way] = seconds
    return found
