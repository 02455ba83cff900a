# SPDX-License-Identifier: Apache-2.0
"""The engine's machine code, and the arrays that it works on."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.dgtp.bounds import degrees, flow_weights
from offramp.dgtp.coflows import ranks
from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.volume import FloatArray
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.native import layout as at
from offramp_sim.dgtp.policies import POLICIES

_EDGE_WORDS: Final = (at.RELEASED, at.SENT, at.NEXT, at.LIST, at.FINISHED)
_EDGE_DOUBLES: Final = (at.MARK, at.LEFT, at.SPEED, at.KEY, at.ARRIVED)
_MACHINE_WORDS: Final = (at.ENTERING, at.LEAVING, at.PEAK_IN, at.PEAK_OUT, at.COUNT_IN, at.COUNT_OUT)


@cache
def _code() -> Any:
    try:
        from offramp_p4.native.compiler import MachineCode
        from offramp_p4.native.llvm import AliasTags, ll
        from offramp_p4.native.lowering import Library
    except ImportError:
        raise OfframpError("the cluster simulator needs the package llvmlite: pip install llvmlite") from None
    from offramp_sim.dgtp.native.loop import run_equal, run_listed
    from offramp_sim.dgtp.native.path import longest_path

    module = ll.Module("cluster")
    library = Library(module, AliasTags(module))
    for function in (run_equal, run_listed, longest_path):
        library.function(function, exported=True)
    return MachineCode(str(module))


@cache
def _functions() -> tuple[Any, Any, Any]:
    code, word, address = _code(), ctypes.c_int64, ctypes.c_void_p
    return (
        code.function("rt.run_equal", word, address),
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
        self._context: npt.NDArray[np.int64] = np.zeros(at.CONTEXT_WORDS, np.int64)
        self._arrays: dict[int, npt.NDArray[Any]] = {}
        tasks, edges, machines = len(problem.graph.tasks), len(problem.graph.edges), len(problem.cluster)
        iterations = len(self.drawn)
        if self.drawn.shape != (iterations, edges) or not iterations:
            raise OfframpError(f"volumes: expected {edges} for each iteration, got {self.drawn.shape}")
        self._context[[at.TASKS, at.EDGES, at.MACHINES, at.ITERATIONS]] = tasks, edges, machines, iterations
        self._context[at.LEAVES] = leaves = 1 << max(1, (machines * machines - 1).bit_length())
        for word in _EDGE_WORDS:
            self._give(word, np.zeros(edges, np.int64))
        for word in _EDGE_DOUBLES:
            self._give(word, np.zeros(edges))
        for word in _MACHINE_WORDS:
            self._give(word, np.zeros(machines, np.int64))
        for word in (at.IS_DIRTY, at.DIRTY):
            self._give(word, np.zeros(2 * machines, np.int64))
        for word in (at.FREE_IN, at.FREE_OUT):
            self._give(word, np.zeros(machines))
        for word in (at.FIRST, at.SERVED, at.SINCE, at.RATE):
            self._give(word, np.zeros(machines * machines))
        self._give(at.HEAD, np.zeros(machines * machines, np.int64))
        self._give(at.TREE, np.zeros(2 * leaves))
        self._give(at.NOW, np.zeros(1))
        self._give(at.STARTED, np.zeros(tasks, np.int64))
        self._give(at.DONE, np.zeros(tasks, np.int64))
        self._give(at.CALENDAR_TIME, np.zeros(tasks + 1))
        self._give(at.CALENDAR_TASK, np.zeros(tasks + 1, np.int64))
        self._give(at.ENDED, np.zeros(tasks))
        self._give(at.ARRIVALS, np.zeros((2, edges)))
        self._give(at.MISSING, np.zeros((iterations, tasks), np.int64))
        self._give_problem()

    def _give_problem(self) -> None:
        problem, graph = self.problem, self.problem.graph
        for word, array in (
            (at.INGRESS, problem.ingress),
            (at.EGRESS, problem.egress),
            (at.SOURCE, problem.source),
            (at.TARGET, problem.target),
            (at.LAG, problem.lag),
            (at.BYTES, self.drawn),
            (at.ORDER, np.array(graph.order, np.int64)),
        ):
            self._give(word, array)
        for start, word, lists in (
            (at.OUT_START, at.OUT_EDGE, graph.outputs),
            (at.IN_START, at.IN_EDGE, graph.inputs),
        ):
            self._give(start, np.cumsum([0, *map(len, lists)], dtype=np.int64))
            self._give(word, np.array([e for edges in lists for e in edges], np.int64))
        rank = ranks(problem)
        # The largest rank stands before the first, where the engine looks for it.
        ranked = np.concatenate([[rank.max(initial=0)], rank])
        self._arrays[at.RANK] = ranked
        self._context[at.RANK] = ranked[1:].ctypes.data
        inputs = np.zeros((2, len(graph.tasks)), np.int64)
        np.add.at(inputs, (problem.lag, problem.target), 1)
        self._missing = np.tile(inputs.sum(axis=0), (len(self.drawn), 1))
        self._missing[0] = inputs[0]

    def _give(self, word: int, array: npt.NDArray[Any]) -> None:
        array = np.ascontiguousarray(array)
        self._arrays[word] = array
        self._context[word] = array.ctypes.data

    def _place(self, machine: IntArray) -> None:
        seconds = self.problem.seconds[np.arange(len(machine)), machine]
        self._give(at.SECONDS, seconds)
        self._give(at.AT, np.asarray(machine, np.int64))
        self._give(at.REMOTE, self.problem.remote(machine).astype(np.int64))

    def critical_path(self, machine: IntArray, alone: bool = False) -> float:
        """The critical path of a placement in seconds, at least what online execution takes (theorem 3).

        With ``alone`` flows are weighed as if each had the network for itself: at most what any schedule takes.
        """
        self._place(machine)
        found = None if alone else degrees(self.problem, machine)
        self._give(at.WEIGHT, flow_weights(self.problem, machine, found))
        self._arrays[at.ENDED][:] = 0
        self._arrays[at.ARRIVALS][:] = 0
        return float(_functions()[2](self._context.ctypes.data))

    def makespan(self, machine: IntArray, policy: str = "oes") -> float:
        """Seconds until a placement has done every iteration.

        Raises:
            OfframpError: no such policy, or a run that would end without all work done.
        """
        if policy not in POLICIES:
            raise OfframpError(f"policy {policy}: expected one of {', '.join(POLICIES)}")
        self._place(machine)
        self._context[at.POLICY] = POLICIES.index(policy)
        self._context[at.LEFT_TO_DO] = len(self.drawn) * len(self.problem.graph.tasks)
        self._context[[at.CALENDAR_USED, at.DIRTY_USED, at.FLOWS]] = 0
        for word in (
            *(at.NOW, at.STARTED, at.DONE, at.RELEASED, at.SENT, at.ENTERING, at.LEAVING, at.PEAK_IN, at.PEAK_OUT),
            *(at.IS_DIRTY, at.SERVED, at.SINCE, at.RATE),
        ):
            self._arrays[word][...] = 0
        self._arrays[at.HEAD][:] = -1
        self._arrays[at.TREE][:] = at.NEVER
        self._arrays[at.MISSING][:] = self._missing
        run = _functions()[0 if policy == "oes" else 1]
        if run(self._context.ctypes.data) != at.DONE_ALL:
            raise OfframpError("simulation: nothing moves and work is unfinished: the task graph stands still")
        return float(self._arrays[at.NOW][0])

    def times(self, machine: IntArray, policy: str = "oes") -> Times:
        """As :meth:`makespan`, with the start and end of every task and flow."""
        shape = self._arrays[at.MISSING].shape
        for word, of in ((at.TASK_START, shape), (at.TASK_END, shape)):
            self._give(word, np.full(of, np.nan))
        for word in (at.FLOW_START, at.FLOW_END):
            self._give(word, np.full(self.drawn.shape, np.nan))
        self._context[at.NOTES] = 1
        try:
            makespan = self.makespan(machine, policy)
        finally:
            self._context[at.NOTES] = 0
        kept = [self._arrays.pop(word) for word in (at.TASK_START, at.TASK_END, at.FLOW_START, at.FLOW_END)]
        return Times(makespan, *kept)


class Times:
    """When tasks and flows began and ended, in seconds: iterations by tasks, iterations by edges; NaN if never."""

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
