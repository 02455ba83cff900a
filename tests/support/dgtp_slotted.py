# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 as the paper prints it, in slots: a second, slower implementation for comparison.

As in the specification's reading of it: only stores start at once, the last slot of a flow carries what is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.dgtp.oes import RunningFlow, TaskDispatcher, equal_shares
from offramp.dgtp.problem import Problem
from offramp_base.errors import OfframpError


def execute_in_slots(problem: Problem, placement: Sequence[int], drawn: Sequence[Sequence[float]], limit: int) -> int:
    """Slots until every task has done every iteration; execution times are whole slots, bandwidths bytes a slot.

    Raises:
        OfframpError: it takes more than ``limit`` slots, or an execution time is not whole.
    """
    machine = problem.check(placement)
    seconds = problem.seconds[np.arange(len(machine)), machine]
    if (seconds != np.rint(seconds)).any():
        raise OfframpError("slots: expected execution times that are whole slots")
    machines = problem.cluster.machines
    ingress, egress = [m.ingress_bps / 8 for m in machines], [m.egress_bps / 8 for m in machines]
    dispatcher = TaskDispatcher(problem, machine.tolist(), len(drawn))
    running: dict[int, int] = {}  # the slot at whose beginning a task is done
    flows: list[RunningFlow] = []

    def begin(tasks: list[tuple[int, int]], started: list[tuple[int, int]], slot: int) -> None:
        running.update({task: slot + int(seconds[task]) for task, _ in tasks})
        for edge, n in started:
            ends = problem.graph.edges[edge]
            source, target = int(machine[ends.source]), int(machine[ends.target])
            flows.append(RunningFlow(edge, n, source, target, drawn[n][edge], slot))

    begin(dispatcher.begin(), [], 0)
    for slot in range(limit + 1):
        while ended := [task for task, end in running.items() if end <= slot] + [f for f in flows if f.left <= 0]:
            for what in ended:
                if isinstance(what, RunningFlow):
                    flows.remove(what)
                    begin(*dispatcher.flow_done(what.edge), slot)
                else:
                    del running[what]
                    begin(*dispatcher.task_done(what), slot)
        if dispatcher.finished:
            return slot
        for flow, rate in zip(flows, equal_shares(flows, ingress, egress), strict=True):
            flow.left = max(0, flow.left - rate)
    raise OfframpError(f"slots: unfinished after {limit}")
