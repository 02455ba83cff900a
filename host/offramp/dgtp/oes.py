# SPDX-License-Identifier: Apache-2.0
"""Online execution and flow scheduling (section IV, algorithm 1): what may start, and how fast flows run.

The scheduler sees what has ended, and never sizes that lie ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from offramp.dgtp.problem import Problem


@dataclass(slots=True)
class RunningFlow:
    """A flow under way.

    Attributes:
        edge: edge of the task graph. iteration: iteration of its source.
        source, target: machines.
        left: bytes still to go, which only clairvoyant policies look at.
        arrived: when it was released, in seconds.
    """

    edge: int
    iteration: int
    source: int
    target: int
    left: float
    arrived: float


class TaskDispatcher:
    """Starts each task as soon as what it needs is there, and one flow at a time for each pair of tasks.

    Call :meth:`begin`, then report ends; each call returns what may start now: tasks ``(task, iteration)`` and flows
    ``(edge, iteration of the source)``.
    """

    def __init__(self, problem: Problem, machine: Sequence[int], iterations: int) -> None:
        self._graph, self._iterations = problem.graph, iterations
        self._remote = problem.remote(np.asarray(machine, np.int64)).tolist()
        inputs = problem.graph.inputs
        lags = [[self._graph.edges[e].lag for e in edges] for edges in inputs]
        self._missing = [[lag.count(0) + (lag.count(1) if n else 0) for lag in lags] for n in range(iterations)]
        self._started = [0] * len(inputs)  # iterations begun
        self._done = [0] * len(inputs)
        self._released = [0] * len(self._graph.edges)  # flows whose source has ended
        self._sent = [0] * len(self._graph.edges)

    @property
    def finished(self) -> bool:
        """Whether every task has done every iteration."""
        return all(done == self._iterations for done in self._done)

    def begin(self) -> list[tuple[int, int]]:
        """The tasks that wait for nothing."""
        return [started for task in range(len(self._done)) for started in self._start(task)]

    def task_done(self, task: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """``task`` has done an iteration."""
        n = self._done[task]
        self._done[task] += 1
        tasks, flows = self._start(task), []
        for edge in self._graph.outputs[task]:
            if n + self._graph.edges[edge].lag >= self._iterations:
                continue
            if not self._remote[edge]:
                tasks += self._deliver(edge, n)
                continue
            self._released[edge] += 1
            if self._released[edge] == self._sent[edge] + 1:
                flows.append((edge, n))
        return tasks, flows

    def flow_done(self, edge: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The flow of ``edge`` that was under way has arrived."""
        n = self._sent[edge]
        self._sent[edge] += 1
        pending = self._released[edge] > self._sent[edge]
        return self._deliver(edge, n), [(edge, n + 1)] if pending else []

    def _deliver(self, edge: int, n: int) -> list[tuple[int, int]]:
        target, lag = self._graph.edges[edge].target, self._graph.edges[edge].lag
        self._missing[n + lag][target] -= 1
        return self._start(target)

    def _start(self, task: int) -> list[tuple[int, int]]:
        n = self._done[task]
        if self._started[task] > n or n == self._iterations or self._missing[n][task]:
            return []
        self._started[task] = n + 1
        return [(task, n)]


def equal_shares(flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float]) -> list[float]:
    """Each flow gets the smaller of its equal shares of the two network cards (lines 18 to 21 of algorithm 1).

    Args:
        flows: under way.
        ingress: ingress of each machine, in the unit that the rates are wanted in.
        egress: the same.
    """
    entering, leaving = [0] * len(ingress), [0] * len(egress)
    for flow in flows:
        entering[flow.target] += 1
        leaving[flow.source] += 1
    return [min(ingress[f.target] / entering[f.target], egress[f.source] / leaving[f.source]) for f in flows]
