# SPDX-License-Identifier: Apache-2.0
"""The k-step program (specification section 2): as a mixed-integer program, and by enumeration.

The thesis calls it linear, although choices are 0 or 1 and multiply queues. A request is charged the backlog in front
of it, before its own work; there are k terms, so that k = 1 is greedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from offramp.leo.selection import exact
from offramp.leo.selection.layout import PS, Tolerance, make_memory
from offramp.leo.selection.policies import Policy
from offramp.leo.selection.table import Table, Times
from offramp_base.errors import OfframpError


@dataclass(frozen=True, eq=False)
class RequestSequence:
    """A sequence of requests.

    Attributes:
        table: table of types and paths.
        kinds: type of each request.
        gaps_ns: time from each request to the next.
        backlog_ns: backlog of each resource when the first one arrives.

    Raises:
        OfframpError: lengths that do not fit, or negative times.
    """

    table: Table
    kinds: Sequence[int]
    gaps_ns: Sequence[float]
    backlog_ns: Sequence[float]

    def __post_init__(self) -> None:
        if not self.kinds or len(self.gaps_ns) != len(self.kinds):
            raise OfframpError("program: expected at least one request, and a gap for each")
        if len(self.backlog_ns) != len(self.table.resources):
            raise OfframpError(f"program: expected a backlog for each of {len(self.table.resources)} resources")
        if min(self.gaps_ns) < 0 or min(self.backlog_ns) < 0:
            raise OfframpError("program: expected gaps and backlogs of at least 0")
        if not all(0 <= kind < len(self.table.types) for kind in self.kinds):
            raise OfframpError(f"program: expected types from 0 to {len(self.table.types) - 1}")


@dataclass(frozen=True, slots=True)
class Solution:
    """Paths in the order of the requests, and the sum of their JCTs."""

    paths: tuple[int, ...]
    cost_ns: float


@cache
def _search() -> Any:
    from offramp_base.native.library import compiled

    return compiled(exact.search)


def enumerate_paths(program: RequestSequence) -> Solution:
    """The best of all sequences, the first among equals; the time grows with paths to the power of k.

    Raises:
        OfframpError: llvmlite is missing.
    """
    steps, resources = len(program.kinds), len(program.table.resources)
    memory = make_memory(program.table, Policy.LOOKAHEAD, 1, 0, Tolerance())
    kinds, gaps, backlog = (
        np.rint(np.asarray(a, np.float64) * unit).astype(np.int64)
        for a, unit in ((program.kinds, 1), (program.gaps_ns, PS), (program.backlog_ns, PS))
    )
    choice = np.zeros(steps, np.int64)
    scratch = np.zeros((steps + 1) * (resources + 3), np.int64)
    cost = _search()(memory, kinds, gaps, backlog, steps, scratch, choice)
    return Solution(tuple(int(p) for p in choice), cost / PS)


def _slack(table: Table) -> Times:
    """Backlog that delays no request, where a resource serves several at a time."""
    beyond: Times = table.load * (np.asarray(table.capacity) - 1)
    return beyond


def solve(program: RequestSequence) -> Solution:
    """Solve the program with HiGHS; solutions of equal cost may differ from :func:`enumerate_paths`.

    Raises:
        OfframpError: the solver gives up.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    # One function: the variables are columns of one matrix, and each block of rows names those of several.
    table = program.table
    steps, paths, resources = len(program.kinds), len(table.paths), len(table.resources)
    scale = max(float(np.max(table.load)), float(np.nanmax(table.base)), 1e-9)
    load, base, slack = table.load / scale, np.nan_to_num(table.base) / scale, _slack(table) / scale
    start, gaps = np.asarray(program.backlog_ns) / scale, np.asarray(program.gaps_ns) / scale
    x = np.arange(steps * paths).reshape(steps, paths)
    w = x + x.size
    q = np.arange((steps + 1) * resources).reshape(steps + 1, resources) + 2 * x.size
    e = np.arange(steps * paths * resources).reshape(steps, paths, resources) + 2 * x.size + q.size
    size = 2 * x.size + q.size + e.size
    rows: list[tuple[dict[int, float], float, float]] = []
    low, high = np.zeros(size), np.full(size, np.inf)
    low[q[0]] = high[q[0]] = start
    high[x] = 1.0
    for t, kind in enumerate(program.kinds):
        rows.append((dict.fromkeys(x[t].tolist(), 1.0), 1.0, 1.0))
        for p in range(paths):
            if not table.allowed[kind, p]:
                high[x[t, p]] = 0.0
                continue
            used = np.flatnonzero(load[kind, p])
            # The most that the backlogs of this path can come to by now: a tight M.
            reach = start[used] + np.array([load[list(program.kinds[:t]), :, r].max(axis=1).sum() for r in used])
            most = float(np.maximum(reach - slack[kind, p, used], 0).sum())
            rows.append(
                ({int(w[t, p]): 1.0, int(x[t, p]): -most} | {int(e[t, p, r]): -1.0 for r in used}, -most, np.inf)
            )
            rows += [({int(e[t, p, r]): 1.0, int(q[t, r]): -1.0}, -float(slack[kind, p, r]), np.inf) for r in used]
        for r in range(resources):
            row = {int(q[t + 1, r]): 1.0, int(q[t, r]): -1.0}
            row |= {int(x[t, p]): -float(load[kind, p, r]) for p in range(paths) if table.allowed[kind, p]}
            rows.append((row, -float(gaps[t]), np.inf))
    cost = np.zeros(size)
    cost[w] = 1.0
    for t, kind in enumerate(program.kinds):
        cost[x[t]] = base[kind]
    places = [(i, j, v) for i, (row, _, _) in enumerate(rows) for j, v in row.items()]
    i, j, v = zip(*places, strict=True)
    matrix = csr_array((v, (i, j)), shape=(len(rows), size))
    whole = np.zeros(size)
    whole[x] = 1
    solution = milp(
        cost,
        integrality=whole,
        bounds=Bounds(low, high),
        constraints=LinearConstraint(matrix, [r[1] for r in rows], [r[2] for r in rows]),
        options={"mip_rel_gap": 0.0},
    )
    if solution.x is None:
        raise OfframpError(f"program: HiGHS gives up: {solution.message}")
    chosen = np.argmax(solution.x[x], axis=1)
    return Solution(tuple(int(p) for p in chosen), float(solution.fun) * scale)
