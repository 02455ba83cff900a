# SPDX-License-Identifier: Apache-2.0
"""Activity of one replica of a pipeline over time: computation, coflows, and their delays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from offramp.hermod.dag import Coflow, Compute
from offramp.hermod.factors import CType
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.simulate import FlowResult

_KINDS: Final = ("compute", CType.EP, CType.PP, CType.DP)
LANES: Final = len(_KINDS)
"""Lanes of a stage: computation and three types of coflow."""
_LEAST_HELD_UP: Final = 0.02
"""Least delay that counts as held up, as a share of the coflow's time alone; less is rounding."""
Stretch = tuple[float, float]
"""Start and length, seconds."""


@dataclass(slots=True)
class Bars:
    """Stretches of one replica.

    Attributes:
        stretches: stretches by lane (:data:`LANES` for each rank of the pipeline) and colour.
        held_up: by lane, the time that coflows took beyond what they would have taken alone, from their starts on.
    """

    stretches: dict[tuple[int, str], list[Stretch]] = field(default_factory=dict)
    held_up: dict[int, list[Stretch]] = field(default_factory=dict)

    def idle(self, stage: int, begin: float, end: float) -> list[Stretch]:
        """Intervals between two times in which a stage computes nothing."""
        busy = sorted(
            piece for colour in ("forward", "backward") for piece in self.stretches.get((LANES * stage, colour), [])
        )
        stretches, free = [], begin
        for start, length in busy:
            if start >= end:
                break
            if start > free:
                stretches.append((free, start - free))
            free = max(free, start + length)
        return [*stretches, (free, end - free)] if free < end else stretches

    def computing(self, stages: int, begin: float, end: float) -> float:
        """Share of the time in which the stages compute, on average."""
        idle = sum(length for stage in range(stages) for _, length in self.idle(stage, begin, end))
        return 1 - idle / (stages * (end - begin))


def bars(outcome: FlowResult, begin: float, end: float, replica: int = 0) -> Bars:
    """Activity between two times; a coflow belongs to the rank of its sender, if the replica takes part."""
    dag = outcome.loaded.dag
    replicas = dag.workers // dag.stages
    chart = Bars()
    alone: dict[int, float] = {}
    dag.coflows()  # raises if the job was loaded as arrays, without objects
    for k, task in enumerate(dag.tasks):
        first, last = max(begin, float(outcome.start[k])), min(end, float(outcome.end[k]))
        if last <= first:
            continue
        place = _lane(task, replica, replicas)
        if place is None:
            continue
        chart.stretches.setdefault(place, []).append((first, last - first))
        if isinstance(task, Coflow):
            if id(task.flows) not in alone:
                alone[id(task.flows)] = _alone_s(task, outcome.loaded.fabric)
            least = alone[id(task.flows)]
            free = float(outcome.end[k]) - least
            if free - outcome.start[k] > _LEAST_HELD_UP * least and min(free, end) > first:
                chart.held_up.setdefault(place[0], []).append((first, min(free, end) - first))
    return chart


def _alone_s(coflow: Coflow, fabric: BisectionFabric) -> float:
    """Seconds that the coflow takes on its busiest link."""
    _, resource, amount = fabric.route(coflow.flows, coflow.ctype)
    return float((np.bincount(resource, amount, fabric.resources) / fabric.capacity).max()) if len(resource) else 0.0


def _lane(task: Compute | Coflow, replica: int, replicas: int) -> tuple[int, str] | None:
    if isinstance(task, Compute):
        if task.worker < 0 or task.worker % replicas != replica:
            return None
        return LANES * (task.worker // replicas), "backward" if task.backward else "forward"
    senders = task.flows.source
    mine = senders[senders % replicas == replica]
    if task.ctype is CType.TP or not len(mine):
        return None
    return LANES * int(mine[0] // replicas) + _KINDS.index(task.ctype), task.ctype.name
