# SPDX-License-Identifier: Apache-2.0
"""Lower bound on the time of any schedule: a linear program over the orders of the dimensions.

The loads that one chunk can put on the dimensions are the vertices of a polytope, one for each order; a mix of orders
reaches every point between them. The best mix is a linear program (beyond the paper; specification section 11).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from offramp.themis.demand import Demand
from offramp.themis.network import Collective, DimensionTopology, Network
from offramp.themis.schedule import Order, active, all_orders, chunk_for, stages
from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class Bound:
    """The least time of any schedule.

    Attributes:
        transfer_ps: time of the bytes alone.
        finish_ps: time with fixed delays: a dimension's last transfer still has to arrive, and a chunk has to pass all
            dimensions.
        mix: for every demand, the shares of the orders that attain it.
    """

    transfer_ps: float
    finish_ps: float
    mix: tuple[dict[Order, float], ...]


class OrderProgram:
    """The linear program for demands that share a network from one time on."""

    def __init__(self, network: Network, demands: Sequence[Demand], base_ps: Sequence[float] | None = None) -> None:
        """``base_ps``: work of the dimensions beside the demands."""
        import numpy as np

        self.network = network
        self.demands = tuple(demands)
        self.columns: list[tuple[int, Order]] = []
        loads: list[list[float]] = []
        self._delays = np.full(len(network.dimensions), math.inf)
        self._path = 0.0
        for number, demand in enumerate(demands):
            part = demand.part(network)
            if not demand.size or not active(part):
                continue
            paths = []
            for order in all_orders(part):
                pieces = stages(part, demand.collective, chunk_for(demand.collective, demand.size, order))
                load = [0.0] * len(network.dimensions)
                for stage in pieces:
                    load[stage.dim] += network.dimensions[stage.dim].wire_ps(stage.stage, stage.size)
                self.columns.append((number, order))
                loads.append(load)
                paths.append(sum(stage.delay_ps for stage in pieces))
            self._path = max(self._path, float(min(paths)))
            for k in active(part):
                self._delays[k] = min(self._delays[k], _least_delay(part, demand.collective, k))
        self._delays[np.isinf(self._delays)] = 0.0
        self._loads = np.array(loads).T if loads else np.zeros((len(network.dimensions), 0))
        self._base = np.zeros(len(network.dimensions)) if base_ps is None else np.array(base_ps, dtype=float)

    def bound(self) -> Bound:
        """Solve the program exactly."""
        transfer, _ = self._solve(delays=False)
        finish, shares = self._solve(delays=True)
        return Bound(transfer, max(finish, self._path), self._mix(shares))

    def other_mix(self, finish_ps: float, costs: Sequence[float]) -> tuple[dict[Order, float], ...]:
        """The cheapest mix at these costs of :attr:`columns`, among those that finish in ``finish_ps``."""
        _, shares = self._solve(delays=True, costs=costs, limit=finish_ps)
        return self._mix(shares)

    def _mix(self, shares: Any) -> tuple[dict[Order, float], ...]:
        mixes: list[dict[Order, float]] = [{} for _ in self.demands]
        for (number, order), share in zip(self.columns, shares, strict=True):
            if share > 1e-9:
                mixes[number][order] = float(share)
        return tuple(mixes)

    def _solve(
        self, *, delays: bool, costs: Sequence[float] | None = None, limit: float = math.inf
    ) -> tuple[float, Any]:
        import numpy as np
        from scipy.optimize import linprog

        dims, count = self._loads.shape
        base = self._base + (self._delays if delays else 0.0)
        if count == 0:
            return float(base.max(initial=0.0)), np.zeros(0)
        unit = float(max(self._loads.max(), base.max(), 1.0))  # numbers around 1 suit the solver
        rows = np.hstack([self._loads / unit, -np.ones((dims, 1))])
        numbers = sorted({number for number, _ in self.columns})
        ones = np.array([[float(number == n) for number, _ in self.columns] + [0.0] for n in numbers])
        cost = np.zeros(count + 1)
        if costs is None:
            cost[-1] = 1.0
        else:
            cost[:-1] = costs
        last = None if math.isinf(limit) else limit / unit * (1 + 1e-9)
        solution = linprog(
            cost,
            A_ub=rows,
            b_ub=-base / unit,
            A_eq=ones,
            b_eq=np.ones(len(numbers)),
            bounds=[(0, None)] * count + [(0, last)],
            method="highs-ds",
        )
        if solution.x is None:
            raise OfframpError(
                f"{self.network.name}: the linear program of the orders has no solution: {solution.message}"
            )
        return float(solution.x[-1] * unit), solution.x[:-1]


def _least_delay(part: Network, collective: Collective, k: int) -> float:
    """The least fixed delay after the last transfer on a dimension, over all orders."""
    d = part.dimensions[k]
    if collective is not Collective.ALL_REDUCE:
        return d.fixed_ps(collective)
    gather = d.fixed_ps(Collective.ALL_GATHER)
    return min(gather, d.fixed_ps(collective)) if d.kind is DimensionTopology.IN_NETWORK else gather


def best_bound(network: Network, demands: Sequence[Demand]) -> Bound:
    """The least time in which any schedule finishes demands that start together."""
    return OrderProgram(network, demands).bound()


def ideal_ps(network: Network, demands: Sequence[Demand]) -> float:
    """Table 3's Ideal: the bytes that an NPU has to send at the bandwidth of all dimensions that take part.

    An in-network dimension may send fewer bytes than counted here.
    """
    total = 0.0
    dims: set[int] = set()
    for demand in demands:
        part = demand.part(network)
        dims.update(active(part))
        if demand.collective is Collective.ALL_TO_ALL:
            total += sum(d.sent(demand.collective, demand.size) for d in part.dimensions)
        else:
            twice = 2 if demand.collective is Collective.ALL_REDUCE else 1
            total += twice * demand.size * (1 - 1 / part.npus)
    bandwidth = sum(network.dimensions[k].used_bps for k in dims)
    return total * 8e12 / bandwidth if bandwidth else 0.0
