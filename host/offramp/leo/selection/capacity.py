# SPDX-License-Identifier: Apache-2.0
"""The most requests per second that all paths together sustain: a linear program over shares of paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from offramp.leo.selection.table import Table, Times
from offramp_base.errors import OfframpError

_MRPS = 1e3  # requests per nanosecond in millions per second


@dataclass(frozen=True, eq=False)
class Capacity:
    """Sustained capacity of a host.

    Attributes:
        rate_mrps: million requests per second; infinite where nothing is ever busy.
        shares: ``(types, paths)``, fractions of all requests.
        bottlenecks: indices of resources that are busy all the time.
    """

    rate_mrps: float
    shares: Times
    bottlenecks: tuple[int, ...]


def capacity(table: Table, mix: Sequence[float] = (), *, only: int | None = None) -> Capacity:
    """The best split of a mix of types over paths.

    Args:
        table: table of types and paths.
        mix: share of each type; equal shares by default.
        only: use this path alone.

    Raises:
        OfframpError: a type of the mix has no path.
    """
    from scipy.optimize import linprog

    kinds, paths, resources = table.load.shape
    wanted = np.asarray(mix or np.ones(kinds), np.float64)
    wanted = wanted / wanted.sum()
    pairs = [(i, p) for i in range(kinds) for p in range(paths) if table.allowed[i, p] and only in (None, p)]
    for i in range(kinds):
        if wanted[i] and not any(kind == i for kind, _ in pairs):
            raise OfframpError(f"type {table.types[i]}: may not take path {table.paths[only or 0]}")
    busy = np.array([table.load[i, p] for i, p in pairs]).T
    most = float(busy.max(initial=0.0))
    if most == 0:
        return Capacity(np.inf, np.zeros((kinds, paths)), ())
    # Least time of the busiest resource per request, in units of the largest load: solvers like numbers near 1.
    rows = np.hstack([busy / most, -np.ones((resources, 1))])
    equal = np.array([[float(kind == i) for kind, _ in pairs] + [0.0] for i in range(kinds)])
    cost = np.zeros(len(pairs) + 1)
    cost[-1] = 1
    solution = linprog(cost, rows, np.zeros(resources), equal, wanted, bounds=(0, None), method="highs")
    assert solution.success, solution.message
    shares = np.zeros((kinds, paths))
    for (i, p), share in zip(pairs, solution.x[:-1], strict=True):
        shares[i, p] = share
    period = float(solution.x[-1]) * most
    if period <= 0:
        return Capacity(np.inf, shares, ())
    full = busy @ solution.x[:-1] >= period * (1 - 1e-6)
    return Capacity(_MRPS / period, shares, tuple(int(r) for r in np.flatnonzero(full)))
