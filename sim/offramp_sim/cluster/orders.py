# SPDX-License-Identifier: Apache-2.0
"""Priorities among jobs in the network. Packages bring their own by entry points (:data:`ORDERS`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from offramp_base.registry import Registry
from offramp_sim.cluster.job import ClusterJob
from offramp_sim.cluster.traffic import JobLoad


@dataclass(frozen=True, slots=True)
class SharingJob:
    """A job among those that it shares links with.

    Attributes:
        job: its description.
        load: traffic of an iteration.
        started_s: when it began.
    """

    job: ClusterJob
    load: JobLoad
    started_s: float

    @property
    def iteration_s(self) -> float:
        """Seconds of an iteration alone."""
        compute = self.job.compute_s
        beside = self.job.overlap * compute
        return compute - beside + max(beside, self.load.seconds)


class JobOrder(Protocol):
    """Gives each job that shares links its level, jobs in the order of their begin; lower goes first, equals share."""

    def __call__(self, jobs: Sequence[SharingJob], capacity: np.ndarray) -> list[int]:
        """Levels of jobs, whose loads are on resources of these bytes per second."""
        ...


ORDERS: Final[Registry[JobOrder]] = Registry("order", "offramp.job_orders")
"""Orders by name."""


def _order(name: str) -> Callable[[JobOrder], JobOrder]:
    return ORDERS.register(name)


def _ranked(keys: Sequence[float]) -> list[int]:
    """Levels by ascending key, of equal ones in the order of jobs."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    levels = [0] * len(keys)
    for level, k in enumerate(order):
        levels[k] = level
    return levels


@_order("fair")
def fair(jobs: Sequence[SharingJob], capacity: np.ndarray) -> list[int]:  # noqa: ARG001
    """Links share by flows, as TCP does."""
    return [0] * len(jobs)


@_order("fifo")
def fifo(jobs: Sequence[SharingJob], capacity: np.ndarray) -> list[int]:  # noqa: ARG001
    """The job that began first."""
    return _ranked([each.started_s for each in jobs])


@_order("sebf")
def sebf(jobs: Sequence[SharingJob], capacity: np.ndarray) -> list[int]:  # noqa: ARG001
    """The smallest effective bottleneck: the shortest communication alone (Varys, SIGCOMM 2014)."""
    return _ranked([each.load.seconds for each in jobs])


@_order("crux")
def crux(jobs: Sequence[SharingJob], capacity: np.ndarray) -> list[int]:  # noqa: ARG001
    """The highest GPU intensity: computation of all GPUs for a second of communication (Crux, SIGCOMM 2024).

    Seconds of GPUs stand for their operations, as all GPUs are of one speed here.
    """
    return _ranked([-each.job.gpus * each.job.compute_s / max(each.load.seconds, 1e-12) for each in jobs])


@_order("hermod")
def hermod(jobs: Sequence[SharingJob], capacity: np.ndarray) -> list[int]:  # noqa: ARG001
    """Hermod's strict composition: jobs one above the other, the one whose iterations are shortest first."""
    return _ranked([each.iteration_s for each in jobs])


@_order("sincronia")
def sincronia(jobs: Sequence[SharingJob], capacity: np.ndarray) -> list[int]:
    """Bottleneck-select-scale-iterate of equal weights (Sincronia, SIGCOMM 2018).

    From the last to the first: on the most loaded link the job goes last whose weight for each second there is least;
    the weights of the others fall by its share.
    """
    left = list(range(len(jobs)))
    weight = np.ones(len(jobs))
    level = [0] * len(jobs)
    seconds = np.zeros((len(jobs), len(capacity)))
    for k, each in enumerate(jobs):
        seconds[k, each.load.resource] = each.load.amount / capacity[each.load.resource]
    for place in range(len(jobs) - 1, -1, -1):
        busiest = int(np.argmax(seconds[left].sum(axis=0)))
        here = seconds[left, busiest]
        ratio = np.where(here > 0, weight[left] / np.where(here > 0, here, 1.0), np.inf)
        last = left[int(np.argmin(ratio))]
        level[last] = place
        if seconds[last, busiest] > 0:
            weight[left] -= weight[last] * here / seconds[last, busiest]
        left.remove(last)
    return level
