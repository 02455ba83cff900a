# SPDX-License-Identifier: Apache-2.0
"""The problem as profiling has found it: measured seconds of tasks, measured bytes of flows (section V-B)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from offramp.dgtp.cluster import MachineCluster
from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.taskgraph import TaskGraph
from offramp.dgtp.volume import FlowVolume

if TYPE_CHECKING:
    from offramp.dgtp.runtime.run import PlacedTrainingRun


def measured(problem: Problem, machine: IntArray, run: PlacedTrainingRun) -> Problem:
    """The problem with what a run has measured.

    A store takes what it took, without its waits for requests, which samplers send ahead. Tasks of another kind take
    as long as all of that kind did on average, each by the speed of the machine that it ran on. A flow has the volumes
    that its rates were granted for: more than its bytes by what it waits for orders, processes and the network.

    Args:
        problem: what was run.
        machine: ``(tasks,)`` machine of each task in that run.
        run: the run.
    """
    tasks, machines, times = problem.graph.tasks, problem.cluster.machines, run.times
    took: dict[object, list[float]] = defaultdict(list)
    spans = times.task_end - times.task_start - times.task_waited
    for task, span in zip(times.task.tolist(), spans.tolist(), strict=True):
        took[_class(problem, task)].append(span * machines[int(machine[task])].speed.get(tasks[task].kind, 1))
    placed = tuple(replace(each, seconds=float(np.mean(took[_class(problem, t)]))) for t, each in enumerate(tasks))
    edges = tuple(
        replace(each, volume=FlowVolume.measured(run.volumes[e])) if e in run.volumes else each
        for e, each in enumerate(problem.graph.edges)
    )
    return Problem(TaskGraph(placed, edges), problem.cluster)


def _class(problem: Problem, task: int) -> object:
    """What tasks that take equally long have in common."""
    each = problem.graph.tasks[task]
    return task if each.home is not None else each.kind


def with_cards(problem: Problem, share: float) -> Problem:
    """The problem with cards ``share`` times as fast."""
    machines = tuple(
        replace(m, ingress_bps=share * m.ingress_bps, egress_bps=share * m.egress_bps) for m in problem.cluster.machines
    )
    return Problem(problem.graph, MachineCluster(machines))
