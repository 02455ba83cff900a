# SPDX-License-Identifier: Apache-2.0
"""Degrees, the critical path and what they promise: theorems 1 and 3, and lower bounds of the optimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.volume import FloatArray


@dataclass(frozen=True, slots=True)
class Degrees:
    """Flows of one iteration into and out of each machine (equations 21 and 22)."""

    ingress: IntArray
    egress: IntArray

    @property
    def maximum(self) -> int:
        """The competitive ratio, Delta of equation 23; 0 if nothing crosses the network."""
        return int(max(self.ingress.max(initial=0), self.egress.max(initial=0)))


def degrees(problem: Problem, machine: IntArray) -> Degrees:
    """The one-iteration degrees of a placement."""
    remote = problem.remote(machine)
    count = len(problem.cluster)
    return Degrees(
        np.bincount(machine[problem.target[remote]], minlength=count),
        np.bincount(machine[problem.source[remote]], minlength=count),
    )


def flow_weights(problem: Problem, machine: IntArray, caps: Degrees | None) -> FloatArray:
    """Seconds per byte of each edge (equation 26); without degrees, alone on the network; 0 if it stays local."""
    remote = problem.remote(machine)
    into, out_of = machine[problem.target], machine[problem.source]
    shares = (1, 1) if caps is None else (caps.ingress[into], caps.egress[out_of])
    seconds = np.maximum(shares[0] / problem.ingress[into], shares[1] / problem.egress[out_of])
    result: FloatArray = np.where(remote, seconds, 0.0)
    return result


def critical_path(
    problem: Problem, machine: Sequence[int], drawn: Sequence[Sequence[float]], *, alone: bool = False
) -> float:
    """The longest path of the execution graph (section V-B), in the arithmetic of the inputs.

    Args:
        problem: tasks and machines.
        machine: machine of each task.
        drawn: bytes of each edge in each iteration.
        alone: weigh flows as if each were alone on the network (a lower bound of any schedule).
    """
    tasks, machines = problem.graph.tasks, problem.cluster.machines
    at = np.asarray(machine, np.int64)
    caps = degrees(problem, at)
    remote = problem.remote(at).tolist()
    seconds = [task.seconds / machines[m].speed.get(task.kind, 1) for task, m in zip(tasks, machine, strict=True)]

    def weight(edge: int, volume: float) -> float:
        into, out_of = int(at[problem.target[edge]]), int(at[problem.source[edge]])
        k_in, k_out = (1, 1) if alone else (int(caps.ingress[into]), int(caps.egress[out_of]))
        return max(volume * 8 * k_in / machines[into].ingress_bps, volume * 8 * k_out / machines[out_of].egress_bps)

    ended: list[float] = [0] * len(tasks)
    arrived: list[float] = [0] * len(problem.graph.edges)
    for n, volumes in enumerate(drawn):
        before, arrived = arrived, [0] * len(arrived)
        for task in problem.graph.order:
            start = ended[task]
            for edge in problem.graph.inputs[task]:
                if problem.graph.edges[edge].lag == 0:
                    start = max(start, arrived[edge])
                elif n:
                    start = max(start, before[edge])
            ended[task] = start + seconds[task]
            for edge in problem.graph.outputs[task]:
                arrived[edge] = ended[task]
                if remote[edge]:
                    arrived[edge] = max(ended[task], before[edge]) + weight(edge, volumes[edge])
    return max(ended)


def leaving(problem: Problem, drawn: FloatArray) -> FloatArray:
    """Bytes of each edge in all iterations; a flow of lag 1 does not leave the last one."""
    total: FloatArray = drawn.sum(axis=0) - np.where(problem.lag == 1, drawn[-1], 0)
    return total


def card_seconds(problem: Problem, machine: IntArray, sent: FloatArray) -> FloatArray:
    """Seconds that each network card is busy with ``sent`` bytes of each edge: all that receive, then all that send."""
    remote = problem.remote(machine)
    count = len(problem.cluster)
    into = np.bincount(machine[problem.target[remote]], sent[remote], count) / problem.ingress
    out_of = np.bincount(machine[problem.source[remote]], sent[remote], count) / problem.egress
    return np.concatenate([into, out_of])


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds on a placement's makespan over the iterations of ``drawn``, in seconds.

    Attributes:
        lower: no schedule ends sooner: the path with flows alone, the busiest network card, the busiest task.
        upper: online execution ends no later (theorem 3).
        ratio: online execution takes at most this many times the optimum (theorem 1), at least 1.
    """

    lower: float
    upper: float
    ratio: int


def bounds(
    problem: Problem,
    machine: IntArray,
    drawn: FloatArray,
    path: Callable[[IntArray, bool], float] | None = None,
) -> Bounds:
    """The bounds of a placement; ``path`` gives the critical path of a placement, with flows alone or not."""
    if path is None:

        def path(machine: IntArray, alone: bool) -> float:
            return float(critical_path(problem, machine.tolist(), drawn.tolist(), alone=alone))

    iterations = len(drawn)
    busiest_card = card_seconds(problem, machine, leaving(problem, drawn)).max()
    busiest_task = iterations * problem.seconds[np.arange(len(machine)), machine].max()
    lower = max(path(machine, True), float(busiest_card), float(busiest_task))
    return Bounds(lower, path(machine, False), max(1, degrees(problem, machine).maximum))
