# SPDX-License-Identifier: Apache-2.0
"""Bounds that no placement of a job on a cluster can beat: a linear relaxation over all of them.

A placement's own lower bound (:mod:`offramp.dgtp.bounds`) says how good a schedule is; this one says how good the
placement is. Tasks of one class may be split between machines. Counted are bytes from bound tasks (graph stores) and
from one class of movable tasks to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from offramp.dgtp.bounds import leaving
from offramp.dgtp.packing import Classes, classes
from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.volume import FloatArray
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_Rows: TypeAlias = Any
"""Some columns of some rows: an array, sparse or not; None: zeros."""
_SLACK: Final = 1e-6
"""The solver's tolerance, by which the bound is lowered."""


def placements_lower(problem: Problem, drawn: FloatArray, within: float | None = None) -> float:
    """Seconds that every placement under every schedule takes at least for the iterations of ``drawn``.

    The larger of two: the longest way through an iteration and the rest of a task's turns, on each task's fastest
    machine and without bytes; and the linear program of network cards and turns, unless it takes more than ``within``
    seconds.

    Raises:
        OfframpError: not even split tasks fit the machines.
    """
    return max(_without_bytes(problem, len(drawn)), _relaxed(problem, drawn, within))


def _without_bytes(problem: Problem, iterations: int) -> float:
    graph = problem.graph
    seconds = problem.seconds.min(axis=1)
    before, behind = np.zeros(len(seconds)), np.zeros(len(seconds))
    for task in graph.order:
        for e in graph.outputs[task]:
            if not graph.edges[e].lag:
                target = graph.edges[e].target
                before[target] = max(before[target], before[task] + seconds[task])
    for task in reversed(graph.order):
        for e in graph.inputs[task]:
            if not graph.edges[e].lag:
                source = graph.edges[e].source
                behind[source] = max(behind[source], behind[task] + seconds[task])
    return float((before + iterations * seconds + behind).max())


@dataclass(frozen=True, slots=True)
class _Exchange:
    """Edges with bytes from the movable tasks of one class to those of another.

    Attributes:
        source, target: the classes, by index.
        least: bytes of the edge that has the fewest.
        leave, enter: edges of a task of ``source`` and of ``target``, fewest and most.
    """

    source: int
    target: int
    least: float
    leave: tuple[int, int]
    enter: tuple[int, int]


def _relaxed(problem: Problem, drawn: FloatArray, within: float | None) -> float:
    """The linear program: tasks of each class on each machine, edges of each exchange within each, and the seconds."""
    from scipy.optimize import linprog

    of, machines = classes(problem), len(problem.cluster)
    kinds = len(of.sizes)
    if not kinds:
        return 0.0
    sent = leaving(problem, drawn)
    exchanges = _exchanges(problem, of, sent)
    eye, ones = np.eye(machines), np.ones((machines, 1))
    rows, limits = [], []

    def limit(placed: _Rows, within: list[_Rows], seconds: _Rows, most: FloatArray) -> None:
        rows.append([placed, *within, seconds])
        limits.append(most)

    nothing = [None] * len(exchanges)
    limit(_each_machine([of.demand.T] * machines), nothing, None, problem.free.ravel() * (1 + _SLACK))
    most, least, total = _sent_by_bound(problem, of, sent)
    into, out_of = least.sum(axis=0) - least, -most
    for n, e in enumerate(exchanges):
        into[:, e.target] += e.least * e.enter[0]
        out_of[:, e.source] += e.least * e.leave[0]
        for kind, edges in ((e.source, e.leave[1]), (e.target, e.enter[1])):
            inside = [eye if k == n else None for k in range(len(exchanges))]
            limit(_each_machine([-edges * _one(kind, kinds)] * machines), inside, None, np.zeros(machines))
    for bytes_, rate, already in ((into, problem.ingress, np.zeros(machines)), (out_of, problem.egress, total)):
        inside = [-eye * (e.least / rate)[:, None] for e in exchanges]
        limit(_each_machine(list((bytes_ / rate[:, None])[:, None, :])), inside, -ones, -already / rate)
    turns = len(drawn) * problem.seconds[[m[0] for m in of.members]] / np.array(of.sizes)[:, None]
    own = np.vstack([np.outer(turns[k], _one(k, kinds)).ravel() for k in range(kinds)])
    limit(own, nothing, -np.ones((kinds, 1)), np.zeros(kinds))
    each = _blocks([[np.tile(np.eye(kinds), machines), *nothing, None]], machines, len(exchanges))
    cost = np.zeros(each.shape[1])
    cost[-1] = 1.0
    solution = linprog(
        cost,
        _blocks(rows, machines, len(exchanges)),
        np.concatenate(limits),
        each,
        np.array(of.sizes, float),
        method="highs",
        options=None if within is None else {"time_limit": within},
    )
    if solution.status == 1:
        return 0.0
    if solution.x is None:
        raise OfframpError("placement: no way to place the tasks meets every machine's capacities")
    return float(solution.fun) * (1 - _SLACK)


def _exchanges(problem: Problem, of: Classes, sent: FloatArray) -> list[_Exchange]:
    class_of = np.full(len(problem.graph.tasks), -1, np.int64)
    for k, members in enumerate(of.members):
        class_of[members] = k
    source, target = class_of[problem.source], class_of[problem.target]
    counted = np.flatnonzero(problem.data & (source >= 0) & (target >= 0) & (problem.source != problem.target))
    exchanges = []
    for a, b in dict.fromkeys(zip(source[counted].tolist(), target[counted].tolist(), strict=True)):
        edges = counted[(source[counted] == a) & (target[counted] == b)]
        leave, enter = (
            np.bincount(ends[edges], minlength=len(class_of))[of.members[k]]
            for ends, k in ((problem.source, a), (problem.target, b))
        )
        spans = [(int(n.min()), int(n.max())) for n in (leave, enter)]
        exchanges.append(_Exchange(a, b, float(sent[edges].min()), *spans))
    return exchanges


def _sent_by_bound(problem: Problem, of: Classes, sent: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bytes from what is bound to each machine to a task of each class, most and least; and to all movable tasks."""
    machines, tasks = len(problem.cluster), len(problem.graph.tasks)
    homes: IntArray = np.array([-1 if t.home is None else t.home for t in problem.graph.tasks], np.int64)
    movable = np.zeros(tasks, np.bool_)
    movable[problem.movable] = True
    counted = problem.data & (homes[problem.source] >= 0) & movable[problem.target]
    to_task: FloatArray = np.zeros((machines, tasks))
    np.add.at(to_task, (homes[problem.source[counted]], problem.target[counted]), sent[counted])
    most = np.stack([to_task[:, members].max(axis=1) for members in of.members], axis=1)
    least = np.stack([to_task[:, members].min(axis=1) for members in of.members], axis=1)
    return most, least, to_task.sum(axis=1)


def _each_machine(blocks: list[FloatArray]) -> csr_array:
    """A block diagonal of the rows: each machine's values at its own variables."""
    from scipy.sparse import block_diag

    return block_diag(blocks, format="csr")


def _one(kind: int, kinds: int) -> FloatArray:
    row = np.zeros((1, kinds))
    row[0, kind] = 1.0
    return row


def _blocks(rows: list[list[_Rows]], machines: int, exchanges: int) -> csr_array:
    """Rows of the program: placed tasks, then edges within machines for each exchange, then the seconds."""
    from scipy.sparse import csr_array, hstack, vstack

    widths = [*[machines] * exchanges, 1]
    whole = []
    for first, *rest in rows:
        placed = csr_array(first)
        empty = [csr_array((placed.shape[0], width)) for width in widths]
        whole.append(hstack([placed, *(e if r is None else csr_array(r) for r, e in zip(rest, empty, strict=True))]))
    return vstack(whole, format="csr")
