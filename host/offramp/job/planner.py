# SPDX-License-Identifier: Apache-2.0
"""Choice between a job's ways: each one's time by the project's models, corrected by a calibration on the cluster.

No time is below its floor (:mod:`offramp.job.floor`), whatever model or calibration says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from offramp.cluster.model import Cluster
from offramp.job.floor import Bottleneck, Floors
from offramp.job.kind import CalibrationResult, JobKind, Measure, PlacedJob, Prediction, kind_of
from offramp.job.settings import JobSettings
from offramp.report.units import duration
from offramp_base.errors import OfframpError

MATTERS: Final = 0.02
"""Gain below which a job runs plainly: models are not better than that."""
_ALIKE: Final = 1e-6
"""Share of a time within which model and floor are the same: both are the bytes over a rate."""
FAR: Final = 2.0
"""Times as fast as the plain way that another one has to be where a calibration was wanted and did not end."""


@dataclass(frozen=True)
class PlannerChoice:
    """The planner's opinion of one way, and all that a run by it has to know.

    Attributes:
        way: which.
        step_s: predicted time of a step; None where it cannot be used.
        taken: whether the job uses it.
        reason: a sentence.
        model_s: time of what is offloaded, by the model alone.
        correction: measured time over the model's, by calibration; None: nothing was measured.
        bound: what decides :attr:`step_s`: the model (corrected where that was measured), or what forbids less.
        decided: what the prediction supposes of the ranks' network, which they read, by the field of their file.
    """

    way: str
    step_s: float | None
    taken: bool
    reason: str
    model_s: float | None = None
    correction: float | None = None
    bound: Bottleneck = Bottleneck.MODEL
    decided: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JobPlan:
    """The choices, the plain one first, and what was taken.

    Attributes:
        choices: one for each way.
        calibrated: whether measurements on the cluster decided.
        reason: why a calibration that was wanted did not; empty where it did, or none was wanted.
    """

    choices: tuple[PlannerChoice, ...]
    calibrated: bool = False
    reason: str = ""

    @property
    def taken(self) -> PlannerChoice:
        """The choice that the job uses."""
        return next(each for each in self.choices if each.taken)

    @property
    def plain(self) -> PlannerChoice:
        """The choice without any offload."""
        return self.choices[0]

    @property
    def gain(self) -> float:
        """Time of a plain step over that of the planned one."""
        assert self.plain.step_s is not None
        assert self.taken.step_s is not None
        return self.plain.step_s / self.taken.step_s if self.taken.step_s else 1.0

    def by(self, way: str) -> PlannerChoice:
        """The choice of a way.

        Raises:
            OfframpError: it cannot be used.
        """
        choice = next(each for each in self.choices if each.way == way)
        if choice.step_s is None:
            raise OfframpError(f"{way}: {choice.reason}")
        return choice

    @property
    def warning(self) -> str:
        """A line about ways for which software on this machine is the limit; empty: it is not."""
        slow = [
            str(each.way) for each in self.choices if each.step_s is not None and each.bound is Bottleneck.PROCESSORS
        ]
        return f"{', '.join(slow)}: the software switch on this machine is the limit, not the links" if slow else ""


def make_job_plan(job: JobSettings, cluster: Cluster, measure: Measure | None = None) -> JobPlan:
    """Predict every way of the job's kind, and take the fastest that gains.

    Args:
        job: the job.
        cluster: the cluster to run on.
        measure: measures ways on the cluster; None: models alone decide. Where it fails, the plan says why, and keeps
            to the plain way unless another is :data:`FAR` better.

    Raises:
        OfframpError: hosts that do not reach each other, or a job that cannot run at all.
    """
    kind, placed, calibration = kind_of(job), PlacedJob.on(job, cluster), _Calibration(measure)
    known = kind.predict(placed, None if measure is None else calibration)
    first = known.ways[0]
    if calibration.seconds and first in known.model_s and first not in known.step_s:
        calibration.reason = f"{first}: {known.refused[first]}"
        known = kind.predict(placed, None)
    wanting = MATTERS if not calibration.reason else 1 - 1 / FAR
    choices = _choose(job, *_bounded(kind, placed, known), wanting)
    return JobPlan(choices, calibration.seconds and not calibration.reason, calibration.reason)


@dataclass
class _Calibration:
    """A measurement that may fail.

    Attributes:
        seconds: whether there are any.
        reason: why there are none.
    """

    measure: Measure | None
    seconds: bool = False
    reason: str = ""

    def __call__(self, ways: Sequence[str], size: int) -> CalibrationResult | None:
        assert self.measure is not None
        try:
            measured = self.measure(ways, size)
        except OfframpError as error:
            self.reason = str(error)
            return None
        self.seconds = measured is not None
        return measured


def _bounded(kind: JobKind, placed: PlacedJob, known: Prediction) -> tuple[Prediction, dict[str, PlannerChoice]]:
    """The prediction with no time below its floor, and the choices that it allows, without reasons."""
    floors, times, choices = Floors(placed), dict(known.step_s), dict[str, PlannerChoice]()
    for way, seconds in known.step_s.items():
        correction = known.corrections.get(way)
        floor = floors.floor(kind.traffic(placed, way), measured=correction is not None)
        bound = floor.bound if floor.seconds + known.apart_s > seconds * (1 + _ALIKE) else Bottleneck.MODEL
        times[way] = max(seconds, floor.seconds + known.apart_s)
        decided = kind.decided(placed, way)
        choices[way] = PlannerChoice(way, times[way], False, "", known.model_s[way], correction, bound, decided)
    return replace(known, step_s=times), choices


def _choose(
    job: JobSettings, known: Prediction, possible: Mapping[str, PlannerChoice], wanting: float
) -> tuple[PlannerChoice, ...]:
    first = known.ways[0]
    plain = known.step_s.get(first)
    if plain is None:
        raise OfframpError(f"job {job.name}: {first}: {known.refused[first]}")
    fastest = sorted(known.step_s, key=known.step_s.__getitem__)
    best = next((way for way in fastest if _gains(known, way, wanting)), first)
    choices = []
    for way in known.ways:
        if way not in known.step_s:
            choices.append(PlannerChoice(way, None, False, known.refused[way]))
            continue
        gain = plain / known.step_s[way] if known.step_s[way] else 1.0
        if way == best:
            reason = f"{gain:.2f} times as fast as {first}" if way != first else _reason_plain(known.gains, wanting)
        elif way == first:
            reason = "slower"
        elif gain > 1:
            rest = f"{best} is faster" if known.step_s[best] < known.step_s[way] else "not enough to leave it"
            reason = f"{gain:.2f} times as fast as {first}, {rest}"
        else:
            reason = f"{gain:.2f} of {first}'s speed"
        choice = possible[way]
        if choice.bound is not Bottleneck.MODEL:
            reason += f"; its model alone says {duration(choice.model_s or 0.0)}"
        choices.append(replace(choice, taken=way == best, reason=reason))
    return tuple(choices)


def _gains(known: Prediction, way: str, wanting: float) -> bool:
    """Whether a way should be taken in place of the plain one: it gains this share of a step, and in most rounds."""
    first = known.ways[0]
    if not known.gains or known.step_s[way] > known.step_s[first] * (1 - wanting):
        return False
    return known.mostly_faster(way, first)


def _reason_plain(gains: bool, wanting: float) -> str:
    if not gains:
        unknown = "the job says nothing of what it sums or exchanges (all_reduce, all_to_all)"
        return f"{unknown}: nothing can be gained for certain"
    if wanting > MATTERS:
        return f"calibration did not end, and no offload's model is {FAR:g} times as fast: the job runs plainly"
    return f"no offload gains {MATTERS:.0%} of a step in most rounds: the job runs plainly"
