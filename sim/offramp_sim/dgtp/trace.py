# SPDX-License-Identifier: Apache-2.0
"""Trace of a simulated run: when tasks ran, when flows travelled and how fast."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TaskRun:
    """An iteration of a task, in seconds."""

    task: int
    iteration: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class FlowRun:
    """A flow between machines; ``iteration`` is that of its source, times in seconds."""

    edge: int
    iteration: int
    source: int
    target: int
    size: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class RateInterval:
    """Rates in bytes per second, by edge, from ``start`` until the next moment."""

    start: float
    rates: dict[int, float]


@dataclass(slots=True)
class PlacementTrace:
    """A run.

    Attributes:
        makespan: seconds until every task had done every iteration.
        tasks, flows: tasks and flows in the order of their ends.
        moments: rates over time, if they were asked for.
    """

    makespan: float = 0
    tasks: list[TaskRun] = field(default_factory=list)
    flows: list[FlowRun] = field(default_factory=list)
    moments: list[RateInterval] = field(default_factory=list)
