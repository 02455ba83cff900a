# SPDX-License-Identifier: Apache-2.0
"""The verdict of a job: does an offload pay for it? By measured steps, or not told at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from offramp.job.load import BUSY
from offramp.report.judge import MATTERS, apart, doubt
from offramp.report.outcome import Alternative, Verdict
from offramp.report.units import duration, si

QUESTION: Final = "Does an offload pay for this job?"


@dataclass(frozen=True)
class Circumstances:
    """Further facts about a comparison.

    Attributes:
        plain: name of the alternative without an offload.
        seconds: seconds of each whole run, start-up included.
        sent: bytes that hosts sent in each run; those that nobody counted are absent.
        uncalibrated: why the plan rests on models alone; empty: a calibration has ended, or none was wanted.
        others: tasks of others that wanted a processor when the runs began; None: unknown.
        processors: processors of this machine.
        unit: unit of work whose seconds are compared.
    """

    plain: str
    seconds: Mapping[str, float]
    sent: Mapping[str, int]
    uncalibrated: str = ""
    others: float | None = None
    processors: int = 1
    unit: str = "step"

    @property
    def load(self) -> str:
        """A sentence's beginning on the load of the machine; empty where it does not matter."""
        if self.others is None or self.others < BUSY * self.processors:
            return ""
        return f"other work wanted {self.others:.1f} of this machine's {self.processors} processors when the runs began"


def verdict(alternatives: Sequence[Alternative], known: Circumstances) -> Verdict:
    """Whether the fastest measured offload beats the plain way.

    Yes, if it is faster by more than :data:`~offramp.report.judge.MATTERS`; no, if not; unknown, if
    :func:`~offramp.report.judge.doubt` has a reason, if nothing was compared, or if other work kept the machine busy
    and the steps of the two overlap.
    """
    plain = next(each for each in alternatives if each.name == known.plain)
    offloads = [each for each in alternatives if each is not plain and each.measured_s]
    if not plain.measured_s or not offloads:
        return _by_plan(alternatives, plain, known)
    best = min(offloads, key=lambda each: median(each.measured_s))
    ours, theirs = median(best.measured_s), median(plain.measured_s)
    took = f"{_a(known.unit)} took {duration(ours)} by {best.name} and {duration(theirs)} by {plain.name} (medians)"
    reason = doubt(best.measured_s, plain.measured_s)
    if known.load and not reason and not apart(best.measured_s, plain.measured_s):
        reason = known.load
    if reason:
        return Verdict("unknown", f"Cannot be told, because {reason}: {took}.{_whole(best, plain, known)}")
    loaded = f" {known.unit.capitalize()}s of the two do not overlap, although {known.load}." if known.load else ""
    rest = _sent(best, plain, known) + _whole(best, plain, known) + loaded
    if ours > theirs * (1 - MATTERS):
        return Verdict("no", f"{took[0].upper()}{took[1:]}: no offload that ran gains {MATTERS:.0%}.{rest}")
    return Verdict("yes", f"{took[0].upper()}{took[1:]}: {theirs / ours:.2f} times as fast.{rest}")


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _by_plan(alternatives: Sequence[Alternative], plain: Alternative, known: Circumstances) -> Verdict:
    """The verdict where nothing was compared."""
    possible = [each for each in alternatives if each is not plain and each.predicted_s is not None]
    if not possible:
        return Verdict("no", "No offload can be taken; the table says why.")
    chosen = next((each for each in alternatives if each.taken), plain)
    ran = [each.name for each in alternatives if each.name in known.seconds]
    missing = "no offload ran" if chosen is plain else f"the job did not run by {plain.name} (--ablate)"
    if len(ran) > 1:
        missing = "the ranks did not say how long their steps took"
    planned = f"By the plan: {chosen.name}, {chosen.note}." if chosen.note else f"The plan takes {chosen.name}."
    rests = f" The plan rests on models alone: {known.uncalibrated}." if known.uncalibrated else ""
    return Verdict("unknown", f"Cannot be told, because {missing}, so nothing was compared. {planned}{rests}")


def _sent(best: Alternative, plain: Alternative, known: Circumstances) -> str:
    """A sentence on the bytes that hosts sent by each of two ways; empty where they were not counted."""
    ours, theirs = (known.sent.get(each.name, 0) for each in (best, plain))
    if not ours or not theirs:
        return ""
    return f" Hosts sent {si(ours, 'B')} by {best.name} and {si(theirs, 'B')} by {plain.name}."


def _whole(best: Alternative, plain: Alternative, known: Circumstances) -> str:
    """A sentence on whole runs, where their order is not that of the steps."""
    ours, theirs = (known.seconds.get(each.name, 0.0) for each in (best, plain))
    faster = median(best.measured_s) < median(plain.measured_s)
    if not ours or not theirs or (ours <= theirs) == faster:
        return ""
    text = f" The whole run took {duration(ours)} by {best.name} and {duration(theirs)} by {plain.name}"
    if best.startup_s is None or plain.startup_s is None or (best.startup_s <= plain.startup_s) == faster:
        return f"{text}."
    starts = f"{duration(best.startup_s)} and {duration(plain.startup_s)}"
    return f"{text}: start-up, which took {starts}, is not in the steps."
