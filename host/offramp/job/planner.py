# SPDX-License-Identifier: Apache-2.0
"""Choice between a job's ways: each one's time by the project's models, corrected by a calibration on the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offramp.cluster.model import Cluster
from offramp.job.kind import Measure, Placed, Prediction, kind_of
from offramp.job.settings import JobSettings
from offramp_base.errors import OfframpError

MATTERS: Final = 0.02
"""Gain below which a job runs plainly: models are not better than that."""


@dataclass(frozen=True)
class Choice:
    """The planner's opinion of one way.

    Attributes:
        way: which.
        step_s: predicted time of a step; None where it cannot be used.
        taken: whether the job uses it.
        why: a sentence.
        model_s: of what is offloaded by the model alone.
        correction: measured time over the model's, by calibration.
    """

    way: str
    step_s: float | None
    taken: bool
    why: str
    model_s: float | None = None
    correction: float = 1.0


@dataclass(frozen=True)
class JobPlan:
    """The choices, the plain one first, and what was taken."""

    choices: tuple[Choice, ...]

    @property
    def taken(self) -> Choice:
        """The choice that the job uses."""
        return next(each for each in self.choices if each.taken)

    @property
    def plain(self) -> Choice:
        """The choice without any offload."""
        return self.choices[0]

    @property
    def gain(self) -> float:
        """Time of a plain step over that of the planned one."""
        assert self.plain.step_s is not None
        assert self.taken.step_s is not None
        return self.plain.step_s / self.taken.step_s if self.taken.step_s else 1.0


def make_job_plan(job: JobSettings, cluster: Cluster, measure: Measure | None = None) -> JobPlan:
    """Predict every way of the job's kind, and take the fastest that gains.

    Args:
        job: the job.
        cluster: the cluster that it is to run on.
        measure: measures ways on the cluster; None: models alone decide.

    Raises:
        OfframpError: hosts that do not reach each other, or a job that cannot run at all.
    """
    return _choose(job, kind_of(job).predict(Placed.on(job, cluster), measure))


def _choose(job: JobSettings, known: Prediction) -> JobPlan:
    first, gains = known.ways[0], known.gains
    plain = known.step_s.get(first)
    if plain is None:
        raise OfframpError(f"job {job.name}: {first}: {known.refused[first]}")
    best = next((way for way in sorted(known.step_s, key=known.step_s.__getitem__) if _gains(known, way)), first)
    choices = []
    for way in known.ways:
        if way not in known.step_s:
            choices.append(Choice(way, None, False, known.refused[way]))
            continue
        gain = plain / known.step_s[way] if known.step_s[way] else 1.0
        if way == best:
            why = f"{gain:.2f} times as fast as {first}" if way != first else _why_plain(gains)
        elif way == first:
            why = "slower"
        else:
            why = (
                f"{gain:.2f} times as fast as {first}, {best} is faster"
                if gain > 1
                else f"{gain:.2f} of {first}'s speed"
            )
        correction = known.corrections.get(way, 1.0)
        choices.append(Choice(way, known.step_s[way], way == best, why, known.model_s[way], correction))
    return JobPlan(tuple(choices))


def _gains(known: Prediction, way: str) -> bool:
    """Whether a way should be taken in place of the plain one: what it gains is more than models' and rounds' noise."""
    first = known.ways[0]
    if not known.gains or known.step_s[way] > known.step_s[first] * (1 - MATTERS):
        return False
    return known.mostly_faster(way, first)


def _why_plain(gains: bool) -> str:
    if not gains:
        unknown = "the job says nothing of what it sums or exchanges (all_reduce, all_to_all)"
        return f"{unknown}: nothing can be gained for certain"
    return f"no offload gains {MATTERS:.0%} of a step in most rounds: the job runs plainly"
