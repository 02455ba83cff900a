# SPDX-License-Identifier: Apache-2.0
"""How far a job is, and how it goes on while nobody hinders it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from offramp_sim.cluster.orders import SharingJob


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is.

    Attributes:
        iterations: that it has left, the current one included.
        compute_s: computation left before it communicates.
        beside_s: computation left beside its communication.
        share: share of its communication left.
    """

    iterations: int
    compute_s: float
    beside_s: float
    share: float


ENDED: Final = JobProgress(0, 0.0, 0.0, 0.0)


def first_progress(each: SharingJob, iterations: int) -> JobProgress:
    """A job at the begin of an iteration."""
    beside = each.job.overlap * each.job.compute_s
    return JobProgress(iterations, each.job.compute_s - beside, beside, 1.0 if each.load.seconds else 0.0)


def alone(each: SharingJob, progress: JobProgress, seconds: float) -> JobProgress:
    """The progress of a job that nobody hinders, after a time."""
    rest = max(progress.beside_s, progress.share * each.load.seconds)
    current = progress.compute_s + rest
    if seconds < current:
        return within(each, progress, seconds)
    seconds -= current
    whole = min(int(seconds // each.iteration_s) if each.iteration_s else progress.iterations, progress.iterations)
    left = progress.iterations - 1 - whole
    if left <= 0:
        return ENDED
    return within(each, first_progress(each, left), seconds - whole * each.iteration_s)


def alone_s(each: SharingJob, progress: JobProgress) -> float:
    """Seconds until a job that nobody hinders ends."""
    if not progress.iterations:
        return 0.0
    rest = max(progress.beside_s, progress.share * each.load.seconds)
    return progress.compute_s + rest + (progress.iterations - 1) * each.iteration_s


def within(each: SharingJob, progress: JobProgress, seconds: float) -> JobProgress:
    """The progress within an iteration, which does not end before."""
    compute = progress.compute_s - seconds
    if compute > 0:
        return replace(progress, compute_s=compute)
    done = seconds - progress.compute_s
    sent = done / each.load.seconds if each.load.seconds else 0.0
    return replace(
        progress, compute_s=0.0, beside_s=max(0.0, progress.beside_s - done), share=max(0.0, progress.share - sent)
    )
