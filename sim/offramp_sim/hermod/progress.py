# SPDX-License-Identifier: Apache-2.0
"""The DAG in virtual time: a task starts when everything that it waits for has ended."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from offramp.hermod.dag import Task
from offramp_p4.tm.line import PS_PER_S
from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.flows import HermodFlow
from offramp_sim.net.network import PacketNetwork


class TaskProgress:
    """Starts and ends tasks.

    Args:
        network: gives the time.
        loaded: the DAG with its delays.
        flows: flows of each task.
        submit: called with a flow that may begin.

    Attributes:
        start, end: start and end of each task, in seconds.
        done: tasks that have ended.
        computing: tasks that need only time to end.
        waiting: flows that have not arrived, by task.
    """

    def __init__(
        self,
        network: PacketNetwork,
        loaded: Loaded,
        flows: list[list[HermodFlow]],
        submit: Callable[[HermodFlow], object],
    ) -> None:
        self._network, self._loaded, self._flows, self._submit = network, loaded, flows, submit
        count = len(loaded.delay)
        self.start, self.end = np.zeros(count), np.zeros(count)
        self.waiting = [len(mine) for mine in flows]
        self.done = self.computing = 0
        self._waits = loaded.waits.tolist()

    def begin(self) -> None:
        """Start the tasks that wait for nothing."""
        for task in np.flatnonzero(self._loaded.waits == 0).tolist():
            self._begin(task)

    def arrived(self, flow: HermodFlow) -> None:
        """Note that a flow is complete."""
        self.waiting[flow.task] -= 1
        if not self.waiting[flow.task]:
            self._finish(flow.task)

    def task(self, flow: HermodFlow) -> Task:
        """The coflow that a flow belongs to."""
        return self._loaded.dag.tasks[flow.task]

    def _begin(self, task: int) -> None:
        now_ps = self._network.now_ps
        self.start[task] = now_ps / PS_PER_S
        self.computing += 1
        self._network.at(now_ps + round(float(self._loaded.delay[task]) * PS_PER_S), lambda: self._delayed(task))

    def _delayed(self, task: int) -> None:
        self.computing -= 1
        if not self._flows[task]:
            self._finish(task)
        for flow in self._flows[task]:
            self._submit(flow)

    def _finish(self, task: int) -> None:
        self.end[task] = self._network.now_ps / PS_PER_S
        self.done += 1
        row = self._loaded.after_row
        for then in self._loaded.after[row[task] : row[task + 1]].tolist():
            self._waits[then] -= 1
            if not self._waits[then]:
                self._begin(then)
