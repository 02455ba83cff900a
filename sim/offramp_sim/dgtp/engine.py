# SPDX-License-Identifier: Apache-2.0
"""A cluster in continuous time, event after event, exact in rational arithmetic: the reference of the fast engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offramp.dgtp.oes import RunningFlow, TaskDispatcher, equal_shares
from offramp.dgtp.policies import Policy
from offramp.dgtp.problem import Problem
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.trace import FlowRun, PlacementTrace, RateInterval, TaskRun

_CLOSE: Final = 1e-12
"""Relative difference below which events in floating-point time count as simultaneous."""


def execute(
    problem: Problem,
    placement: Sequence[int],
    drawn: Sequence[Sequence[float]],
    policy: Policy = equal_shares,
    *,
    rates: bool = False,
) -> PlacementTrace:
    """Run the iterations of ``drawn`` with online execution, flows at the rates of ``policy``.

    Raises:
        OfframpError: the placement is invalid, or a policy leaves work that never ends.
    """
    run = _PlacementRun(problem, problem.check(placement).tolist(), drawn, policy)
    run.keep_rates = rates
    return run.until_done()


class _PlacementRun:
    def __init__(self, problem: Problem, machine: list[int], drawn: Sequence[Sequence[float]], policy: Policy) -> None:
        machines = problem.cluster.machines
        self.graph, self.machine, self.drawn, self.policy = problem.graph, machine, drawn, policy
        self.seconds = [
            task.seconds / machines[m].speed.get(task.kind, 1)
            for task, m in zip(self.graph.tasks, machine, strict=True)
        ]
        self.ingress = [m.ingress_bps / 8 for m in machines]
        self.egress = [m.egress_bps / 8 for m in machines]
        self.dispatcher = TaskDispatcher(problem, machine, len(drawn))
        self.now: float = 0
        self.running: list[tuple[float, int, int, float]] = []  # end, task, iteration, start
        self.flows: list[RunningFlow] = []
        self.trace = PlacementTrace()
        self.keep_rates = False

    def until_done(self) -> PlacementTrace:
        self._begin(self.dispatcher.begin(), [])
        while True:
            self._settle([])
            if not self.running and not self.flows:
                break
            rates = self.policy(self.flows, self.ingress, self.egress)
            if self.keep_rates:
                moving = {f.edge: rate for f, rate in zip(self.flows, rates, strict=True)}
                self.trace.moments.append(RateInterval(self.now, moving))
            self._advance(rates)
        if not self.dispatcher.finished:
            raise OfframpError("simulation: nothing runs but tasks are unfinished: the task graph is stuck")
        self.trace.makespan = max((run.end for run in self.trace.tasks), default=0)
        return self.trace

    def _advance(self, rates: Sequence[float]) -> None:
        """Advance to the next end of a task or flow."""
        arrivals = [self.now + f.left / rate if rate > 0 else None for f, rate in zip(self.flows, rates, strict=True)]
        ends = [end for end, *_ in self.running] + [t for t in arrivals if t is not None]
        if not ends:
            raise OfframpError("simulation: flows are active but none has a rate: the policy is stuck")
        soonest = min(ends)
        moment = soonest if not isinstance(soonest, float) else soonest * (1 + _CLOSE)
        span = soonest - self.now
        self.now = soonest
        arrived = []
        for flow, rate, end in zip(self.flows, rates, arrivals, strict=True):
            if end is not None and end <= moment:
                arrived.append(flow)
            else:
                flow.left -= rate * span
        self._settle(arrived)

    def _settle(self, arrived: list[RunningFlow]) -> None:
        """Process everything that ends at this moment, and all that follows from it immediately."""
        moment = self.now if not isinstance(self.now, float) else self.now * (1 + _CLOSE)
        arrived_ids = {id(flow) for flow in arrived}
        self.flows = [flow for flow in self.flows if id(flow) not in arrived_ids]
        while True:
            for flow in arrived:
                self._note(flow)
                self._begin(*self.dispatcher.flow_done(flow.edge))
            ended = [run for run in self.running if run[0] <= moment]
            self.running = [run for run in self.running if run[0] > moment]
            for end, task, iteration, start in ended:
                self.trace.tasks.append(TaskRun(task, iteration, start, end))
                self._begin(*self.dispatcher.task_done(task))
            arrived = [flow for flow in self.flows if flow.left <= 0]
            self.flows = [flow for flow in self.flows if flow.left > 0]
            if not ended and not arrived:
                break
        self.flows.sort(key=lambda flow: (flow.arrived, flow.edge))

    def _note(self, flow: RunningFlow) -> None:
        size = self.drawn[flow.iteration][flow.edge]
        run = FlowRun(flow.edge, flow.iteration, flow.source, flow.target, size, flow.arrived, self.now)
        self.trace.flows.append(run)

    def _begin(self, tasks: list[tuple[int, int]], flows: list[tuple[int, int]]) -> None:
        self.running += [(self.now + self.seconds[task], task, n, self.now) for task, n in tasks]
        for edge, n in flows:
            source, target = self.graph.edges[edge].source, self.graph.edges[edge].target
            size = self.drawn[n][edge]
            self.flows.append(RunningFlow(edge, n, self.machine[source], self.machine[target], size, self.now))
