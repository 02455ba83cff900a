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
from offramp_sim.dgtp.native.layout import Context
from offramp_sim.dgtp.policies import POLICIES

_EDGE_WORDS: Final[tuple[object, ...]] = (Context.released, Context.sent, Context.next, Context.list, Context.finished)
_EDGE_DOUBLES: Final[tuple[object, ...]] = (Context.mark, Context.left, Context.speed, Context.key, Context.arrived)
_MACHINE_WORDS: Final = (
    Context.entering,
    Context.leaving,
    Context.peak_in,
    Context.peak_out,
    Context.count_in,
    Context.count_out,
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
        self._memory = RecordArrays(Context)
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
        for field in (Context.is_dirty, Context.dirty):
            self._memory.give(field, np.zeros(2 * machines, np.int64))
        for field in (Context.free_in, Context.free_out):
            self._memory.give(field, np.zeros(machines))
        for field in (Context.first, Context.served, Context.since, Context.rate):
            self._memory.give(field, np.zeros(machines * machines))
        self._memory.give(Context.head, np.zeros(machines * machines, np.int64))
        self._memory.give(Context.tree, np.zeros(2 * leaves))
        self._memory.give(Context.now, np.zeros(1))
        self._memory.give(Context.started, np.zeros(tasks, np.int64))
        self._memory.give(Context.done, np.zeros(tasks, np.int64))
        self._memory.give(Context.calendar_time, np.zeros(tasks + 1))
        self._memory.give(Context.calendar_task, np.zeros(tasks + 1, np.int64))
        self._memory.give(Context.ended, np.zeros(tasks))
        self._memory.give(Context.arrivals, np.zeros((2, edges)))
        self._memory.give(Context.missing, np.zeros((iterations, tasks), np.int64))
        self._give_problem()

    def _give_problem(self) -> None:
        problem, graph = self.problem, self.problem.graph
        for field, array in (
            (Context.ingress, problem.ingress),
            (Context.egress, problem.egress),
            (Context.source, problem.source),
            (Context.target, problem.target),
            (Context.lag, problem.lag),
            (Context.bytes, self.drawn),
            (Context.order, np.array(graph.order, np.int64)),
        ):
            self._memory.give(field, array)
        for start, field, lists in (
            (Context.out_start, Context.out_edge, graph.outputs),
            (Context.in_start, Context.in_edge, graph.inputs),
        ):
            self._memory.give(start, np.cumsum([0, *map(len, lists)], dtype=np.int64))
            self._memory.give(field, np.array([e for edges in lists for e in edges], np.int64))
        rank = ranks(problem)
        # The largest rank stands before the first, where the engine looks for it.
        ranked = np.concatenate([[rank.max(initial=0)], rank])
        self._memory.give(Context.rank, ranked[1:])
        inputs = np.zeros((2, len(graph.tasks)), np.int64)
        np.add.at(inputs, (problem.lag, problem.target), 1)
        self._missing = np.tile(inputs.sum(axis=0), (len(self.drawn), 1))
        self._missing[0] = inputs[0]

    def _place(self, machine: IntArray) -> None:
        seconds = self.problem.seconds[np.arange(len(machine)), machine]
        self._memory.give(Context.seconds, seconds)
        self._memory.give(Context.at, np.asarray(machine, np.int64))
        self._memory.give(Context.remote, self.problem.remote(machine).astype(np.int64))

    def critical_path(self, machine: IntArray, alone: bool = False) -> float:
        """The critical path of a placement in seconds, at least what online execution takes (theorem 3).

        With ``alone``, flows count as if each had the network to itself: a lower bound of any schedule.
        """
        self._place(machine)
        weights = None if alone else degrees(self.problem, machine)
        self._memory.give(Context.weight, flow_weights(self.problem, machine, weights))
        self._memory[Context.ended][:] = 0
        self._memory[Context.arrivals][:] = 0
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
                Context.now,
                Context.started,
                Context.done,
                Context.released,
                Context.sent,
                Context.entering,
                Context.leaving,
                Context.peak_in,
                Context.peak_out,
            ),
            *(Context.is_dirty, Context.served, Context.since, Context.rate),
        ):
            self._memory[field][...] = 0
        self._memory[Context.head][:] = -1
        self._memory[Context.tree][:] = at.NEVER
        self._memory[Context.missing][:] = self._missing
        run = _functions()[0 if policy == "oes" else 1]
        if run(self._memory.address) != at.DONE_ALL:
            raise OfframpError("simulation: nothing runs but work is unfinished: the task graph is stuck")
        return float(self._memory[Context.now][0])

    def times(self, machine: IntArray, policy: str = "oes") -> Times:
        """Start and end of every task and flow, executed as by :meth:`makespan`."""
        shape = self._memory[Context.missing].shape
        for field, of in ((Context.task_start, shape), (Context.task_end, shape)):
            self._memory.give(field, np.full(of, np.nan))
        for field in (Context.flow_start, Context.flow_end):
            self._memory.give(field, np.full(self.drawn.shape, np.nan))
        self._memory.fields.notes = 1
        try:
            makespan = self.makespan(machine, policy)
        finally:
            self._memory.fields.notes = 0
        noted = Context.task_start, Context.task_end, Context.flow_start, Context.flow_end
        kept = [self._memory[field] for field in noted]
        return Times(makespan, *kept)


class Times:
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
