# SPDX-License-Identifier: Apache-2.0
"""A task graph on a cluster as arrays: possible placements, durations of tasks, and flows across the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.dgtp.cluster import MachineCluster
from offramp.dgtp.taskgraph import TaskGraph
from offramp.dgtp.volume import FloatArray
from offramp_base.errors import OfframpError

IntArray = npt.NDArray[np.int64]
Placement = tuple[int, ...]
"""The machine of every task, by index."""

_SLACK: Final = 1e-9
"""Sums of demands in floating point may exceed a capacity that they meet exactly by this share of it."""


class Problem:
    """The tasks, machines and networks against which a placement is judged.

    Attributes:
        graph, cluster: as given.
        resources: names, in the order of the columns of ``demand`` and ``capacity``.
        demand: demand of each task. capacity: capacity of each machine.
        seconds: seconds of each task on each machine, p_j^m.
        ingress, egress: bytes per second of each machine.
        source, target, lag, data: ends and lag of each edge, and whether it carries bytes.
        movable: tasks whose machine is to be decided.

    Raises:
        OfframpError: a task is bound to a machine that does not exist, or what is bound to a machine exceeds it.
    """

    def __init__(self, graph: TaskGraph, cluster: MachineCluster) -> None:
        self.graph, self.cluster = graph, cluster
        tasks, machines = graph.tasks, cluster.machines
        self.resources = sorted({name for task in tasks for name in task.demand})
        self.demand: FloatArray = np.array(
            [[float(t.demand.get(r, 0)) for r in self.resources] for t in tasks], np.float64
        ).reshape(len(tasks), len(self.resources))
        self.capacity: FloatArray = np.array(
            [[float(m.capacity.get(r, 0)) for r in self.resources] for m in machines], np.float64
        ).reshape(len(machines), len(self.resources))
        if (self.demand < 0).any() or not np.isfinite(self.demand).all():
            raise OfframpError("task graph: demands: expected at least 0 of each resource")
        self.seconds: FloatArray = np.array(
            [[float(t.seconds / m.speed.get(t.kind, 1)) for m in machines] for t in tasks], np.float64
        )
        self.ingress: FloatArray = np.array([float(m.ingress_bps) / 8 for m in machines])
        self.egress: FloatArray = np.array([float(m.egress_bps) / 8 for m in machines])
        self.source: IntArray = np.array([e.source for e in graph.edges], np.int64)
        self.target: IntArray = np.array([e.target for e in graph.edges], np.int64)
        self.lag: IntArray = np.array([e.lag for e in graph.edges], np.int64)
        self.data: npt.NDArray[np.bool_] = np.array([e.volume is not None for e in graph.edges], np.bool_)
        self.movable: IntArray = np.array(graph.movable, np.int64)
        self._homes: IntArray = np.array([-1 if t.home is None else t.home for t in tasks], np.int64)
        self._leaders: IntArray = np.array(
            [i if t.follows is None else t.follows for i, t in enumerate(tasks)], np.int64
        )
        self._check_homes()

    def _check_homes(self) -> None:
        bound = self._homes >= 0
        if (self._homes >= len(self.cluster)).any():
            raise OfframpError(
                f"task graph: a task is bound to a machine beyond the {len(self.cluster)} of the cluster"
            )
        used = np.zeros_like(self.capacity)
        np.add.at(used, self._homes[bound], self.demand[bound])
        for m, r in np.argwhere(used > self.capacity * (1 + _SLACK)):
            raise OfframpError(
                f"machine {self.cluster.machines[m].name}: what is bound to it needs {used[m, r]:g} "
                f"{self.resources[r]}, it has {self.capacity[m, r]:g}"
            )
        self.free: FloatArray = self.capacity - used

    def whole(self, of_movable: Sequence[int] | IntArray) -> IntArray:
        """The machine of every task, from those of the movable ones in their order."""
        machine = self._homes.copy()
        machine[self.movable] = of_movable
        leaders: IntArray = machine[self._leaders]
        return leaders

    def check(self, placement: Sequence[int]) -> IntArray:
        """A placement as an array.

        Raises:
            OfframpError: it does not give each task a machine, moves a bound one or parts one from its leader.
        """
        machine = np.asarray(placement, np.int64)
        if machine.shape != self._homes.shape or ((machine < 0) | (machine >= len(self.cluster))).any():
            raise OfframpError(
                f"placement: expected one of {len(self.cluster)} machines for each of {len(self._homes)} tasks"
            )
        wrong = ((self._homes >= 0) & (machine != self._homes)) | (machine != machine[self._leaders])
        if wrong.any():
            raise OfframpError(f"placement: {self.graph.tasks[int(np.argmax(wrong))].name} cannot be moved there")
        return machine

    def usage(self, machine: IntArray) -> FloatArray:
        """``(machines, resources)`` sums of the demands of the tasks on each machine."""
        used = np.zeros_like(self.capacity)
        np.add.at(used, machine, self.demand)
        return used

    def excess(self, used: FloatArray) -> float:
        """The sum of relative violations, as equation 27 has it; infinite where there is nothing of what is needed."""
        over = used - self.capacity
        over[over <= self.capacity * _SLACK] = 0
        if not over.any():
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.where(over > 0, over / self.capacity, 0.0).sum())

    def feasible(self, placement: Sequence[int] | IntArray) -> bool:
        """Whether every machine can give what its tasks need (equation 2)."""
        return self.excess(self.usage(np.asarray(placement, np.int64))) == 0

    def hosts(self, used: FloatArray, task: int, slack: float) -> npt.NDArray[np.bool_]:
        """Machines on which ``task`` fits beside what is ``used``, capacities 1 + ``slack`` times (equation 28)."""
        limit = self.capacity * (1 + slack) * (1 + _SLACK)
        fits: npt.NDArray[np.bool_] = (used + self.demand[task] <= limit).all(axis=1)
        return fits

    def remote(self, machine: IntArray) -> npt.NDArray[np.bool_]:
        """Edges whose bytes cross the network."""
        crosses: npt.NDArray[np.bool_] = self.data & (machine[self.source] != machine[self.target])
        return crosses
