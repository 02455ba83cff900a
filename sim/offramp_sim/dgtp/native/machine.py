# SPDX-License-Identifier: Apache-2.0
"""The engine's machine code, and the arrays that it works on."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np

from offramp.dgtp.bounds import degrees, flow_weights
from offramp.dgtp.coflows import ranks
from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.volume import FloatArray
from offramp_base.errors import OfframpError
from offramp_base.native.arrays import RecordArrays
from offramp_base.native.library import machine_code
from offramp_sim.dgtp.native import layout as at
from offramp_sim.dgtp.native.layout import PlacementRunState
from offramp_sim.dgtp.policies import POLICIES

_EDGE_WORDS: Final[tuple[object, ...]] = (
    PlacementRunState.released,
    PlacementRunState.sent,
    PlacementRunState.next,
    PlacementRunState.list,
    PlacementRunState.finished,
)
_EDGE_DOUBLES: Final[tuple[object, ...]] = (
    PlacementRunState.mark,
    PlacementRunState.left,
    PlacementRunState.speed,
    PlacementRunState.key,
    PlacementRunState.arrived,
)
_MACHINE_WORDS: Final = (
    PlacementRunState.entering,
    PlacementRunState.leaving,
    PlacementRunState.peak_in,
    PlacementRunState.peak_out,
    PlacementRunState.count_in,
    PlacementRunState.count_out,
)


@cache
def _functions() -> tuple[Any, Any, Any]:
    from offramp_sim.dgtp.native.loop import run_equal, run_listed
    from offramp_sim.dgtp.native.path import longest_path

    code, word, address = machine_code((run_equal, run_listed, longest_path)), ctypes.c_int64, ctypes.c_void_p
    first = code.function("rt.run_equal", word, address)
    first.code = code  # keeps the machine code alive
    return (
        first,
        code.function("rt.run_listed", word, address),
        code.function("rt.longest_path", ctypes.c_double, address),
    )


class FastCluster:
    """Simulates placements of one problem on the volumes of one draw.

    Args:
        problem: tasks and machines.
        drawn: bytes of each edge (columns) in each iteration (rows).
    """

    def __init__(self, problem: Problem, drawn: FloatArray) -> None:
        self.problem = problem
        self.drawn: FloatArray = np.ascontiguousarray(drawn, np.float64)
        self._memory = RecordArrays(PlacementRunState)
        tasks, edges, machines = len(problem.graph.tasks), len(problem.graph.edges), len(problem.cluster)
        iterations = len(self.drawn)
        if self.drawn.shape != (iterations, edges) or not iterations:
            raise OfframpError(f"volumes: expected {edges} for each iteration, got {self.drawn.shape}")
        fields = self._memory.fields
        fields.tasks, fields.edges, fields.machines, fields.iterations = tasks, edges, machines, iterations
        fields.leaves = leaves = 1 << max(1, (machines * machines - 1).bit_length())
        for field in _EDGE_WORDS:
            self._memory.give(field, np.zeros(edges, np.int64))
        for field in _EDGE_DOUBLES:
            self._memory.give(field, np.zeros(edges))
        for field in _MACHINE_WORDS:
            self._memory.give(field, np.zeros(machines, np.int64))
        for field in (PlacementRunState.is_dirty, PlacementRunState.dirty):
            self._memory.give(field, np.zeros(2 * machines, np.int64))
        for field in (PlacementRunState.free_in, PlacementRunState.free_out):
            self._memory.give(field, np.zeros(machines))
        for field in (
            PlacementRunState.first,
            PlacementRunState.served,
            PlacementRunState.since,
            PlacementRunState.rate,
        ):
            self._memory.give(field, np.zeros(machines * machines))
        self._memory.give(PlacementRunState.head, np.zeros(machines * machines, np.int64))
        self._memory.give(PlacementRunState.tree, np.zeros(2 * leaves))
        self._memory.give(PlacementRunState.now, np.zeros(1))
        self._memory.give(PlacementRunState.started, np.zeros(tasks, np.int64))
        self._memory.give(PlacementRunState.done, np.zeros(tasks, np.int64))
        self._memory.give(PlacementRunState.calendar_time, np.zeros(tasks + 1))
        self._memory.give(PlacementRunState.calendar_task, np.zeros(tasks + 1, np.int64))
        self._memory.give(PlacementRunState.ended, np.zeros(tasks))
        self._memory.give(PlacementRunState.arrivals, np.zeros((2, edges)))
        self._memory.give(PlacementRunState.missing, np.zeros((iterations, tasks), np.int64))
        self._give_problem()

    def _give_problem(self) -> None:
        problem, graph = self.problem, self.problem.graph
        for field, array in (
            (PlacementRunState.ingress, problem.ingress),
            (PlacementRunState.egress, problem.egress),
            (PlacementRunState.source, problem.source),
            (PlacementRunState.target, problem.target),
            (PlacementRunState.lag, problem.lag),
            (PlacementRunState.bytes, self.drawn),
            (PlacementRunState.order, np.array(graph.order, np.int64)),
        ):
            self._memory.give(field, array)
        for start, field, lists in (
            (PlacementRunState.out_start, PlacementRunState.out_edge, graph.outputs),
            (PlacementRunState.in_start, PlacementRunState.in_edge, graph.inputs),
        ):
            self._memory.give(start, np.cumsum([0, *map(len, lists)], dtype=np.int64))
            self._memory.give(field, np.array([e for edges in lists for e in edges], np.int64))
        rank = ranks(problem)
        # The largest rank stands before the first, where the engine looks for it.
        ranked = np.concatenate([[rank.max(initial=0)], rank])
        self._memory.give(PlacementRunState.rank, ranked[1:])
        inputs = np.zeros((2, len(graph.tasks)), np.int64)
        np.add.at(inputs, (problem.lag, problem.target), 1)
        self._missing = np.tile(inputs.sum(axis=0), (len(self.drawn), 1))
        self._missing[0] = inputs[0]

    def _place(self, machine: IntArray) -> None:
        seconds = self.problem.seconds[np.arange(len(machine)), machine]
        self._memory.give(PlacementRunState.seconds, seconds)
        self._memory.give(PlacementRunState.at, np.asarray(machine, np.int64))
        self._memory.give(PlacementRunState.remote, self.problem.remote(machine).astype(np.int64))

    def critical_path(self, machine: IntArray, alone: bool = False) -> float:
        """The critical path of a placement in seconds, at least what online execution takes (theorem 3).

        With ``alone``, flows count as if each had the network to itself: a lower bound of any schedule.
        """
        self._place(machine)
        weights = None if alone else degrees(self.problem, machine)
        self._memory.give(PlacementRunState.weight, flow_weights(self.problem, machine, weights))
        self._memory[PlacementRunState.ended][:] = 0
        self._memory[PlacementRunState.arrivals][:] = 0
        return float(_functions()[2](self._memory.address))

    def makespan(self, machine: IntArray, policy: str = "oes") -> float:
        """Seconds until a placement has done every iteration.

        Raises:
            OfframpError: no such policy, or a run that cannot complete all work.
        """
        if policy not in POLICIES:
            raise OfframpError(f"policy {policy}: expected one of {', '.join(POLICIES)}")
        self._place(machine)
        fields = self._memory.fields
        fields.policy = POLICIES.index(policy)
        fields.left_to_do = len(self.drawn) * len(self.problem.graph.tasks)
        fields.calendar_used = fields.dirty_used = fields.flows = 0
        for field in (
            *(
                PlacementRunState.now,
                PlacementRunState.started,
                PlacementRunState.done,
                PlacementRunState.released,
                PlacementRunState.sent,
                PlacementRunState.entering,
                PlacementRunState.leaving,
                PlacementRunState.peak_in,
                PlacementRunState.peak_out,
            ),
            *(PlacementRunState.is_dirty, PlacementRunState.served, PlacementRunState.since, PlacementRunState.rate),
        ):
            self._memory[field][...] = 0
        self._memory[PlacementRunState.head][:] = -1
        self._memory[PlacementRunState.tree][:] = at.NEVER
        self._memory[PlacementRunState.missing][:] = self._missing
        run = _functions()[0 if policy == "oes" else 1]
        if run(self._memory.address) != at.DONE_ALL:
            raise OfframpError("simulation: nothing runs but work is unfinished: the task graph is stuck")
        return float(self._memory[PlacementRunState.now][0])

    def times(self, machine: IntArray, policy: str = "oes") -> RunTimes:
        """Start and end of every task and flow, executed as by :meth:`makespan`."""
        shape = self._memory[PlacementRunState.missing].shape
        for field, of in ((PlacementRunState.task_start, shape), (PlacementRunState.task_end, shape)):
            self._memory.give(field, np.full(of, np.nan))
        for field in (PlacementRunState.flow_start, PlacementRunState.flow_end):
            self._memory.give(field, np.full(self.drawn.shape, np.nan))
        self._memory.fields.notes = 1
        try:
            makespan = self.makespan(machine, policy)
        finally:
            self._memory.fields.notes = 0
        noted = (
            PlacementRunState.task_start,
            PlacementRunState.task_end,
            PlacementRunState.flow_start,
            PlacementRunState.flow_end,
        )
        kept = [self._memory[field] for field in noted]
        return RunTimes(makespan, *kept)


class RunTimes:
    """Start and end times of tasks and flows, in seconds: iterations by tasks, iterations by edges; NaN if never."""

    def __init__(
        self,
        makespan: float,
        task_start: FloatArray,
        task_end: FloatArray,
        flow_start: FloatArray,
        flow_end: FloatArray,
    ) -> None:
        self.makespan = makespan
        self.task_start, self.task_end = task_start, task_end
        self.flow_start, self.flow_end = flow_start, flow_end
