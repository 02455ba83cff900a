# SPDX-License-Identifier: Apache-2.0
"""The flow level again, slowly and in fractions: strict priority, weighted max-min fairness, order of arrival.

Written from the definitions, flow by flow and link by link; shares with the engine only what is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.flow.policies import AT_HOSTS, EVERY_HOP, Order

_NONE: Final = Fraction(0)
_LARGEST_DENOMINATOR: Final = 10**6
"""Weights come as floats, of sizes that are small integers: what should end together must."""


@dataclass(slots=True)
class _Flow:
    task: int
    uses: dict[int, Fraction]
    weight: Fraction
    level: int
    host: int
    side: int
    left: Fraction = Fraction(1)
    rate: Fraction = _NONE


class ExactFlow:
    """One run; :attr:`end` holds when each task ended."""

    def __init__(self, loaded: Loaded, order: Order) -> None:
        self._loaded, self._order = loaded, order
        tasks = len(loaded.delay)
        self.end: list[Fraction | None] = [None] * tasks
        self._capacity = Fraction(loaded.fabric.bytes_per_s)
        self._ports = loaded.fabric.count
        self._left_flows = [int(loaded.flow_row[k + 1] - loaded.flow_row[k]) for k in range(tasks)]
        self._waits = [int(w) for w in loaded.waits]
        self._delays: list[tuple[Fraction, int]] = []
        self._active: list[_Flow] = []
        self._arrivals = 0
        now = _NONE
        for k in range(tasks):
            if not self._waits[k]:
                self._begin(k, now)
        while self._delays or self._active:
            self._allocate()
            steps = [time - now for time, _ in self._delays]
            steps += [flow.left / flow.rate for flow in self._active if flow.rate]
            step = min(steps)
            now += step
            for flow in self._active:
                flow.left -= flow.rate * step
            self._happen(now)

    def _begin(self, task: int, now: Fraction) -> None:
        self._delays.append((now + Fraction(float(self._loaded.delay[task])), task))

    def _happen(self, now: Fraction) -> None:
        """Everything that is due, and what it lets start in the same moment."""
        self._arrivals += 1
        over = [flow for flow in self._active if not flow.left]
        self._active = [flow for flow in self._active if flow.left]
        for flow in over:
            self._left_flows[flow.task] -= 1
            if not self._left_flows[flow.task]:
                self._finish(flow.task, now)
        while due := [task for time, task in self._delays if time <= now]:
            self._delays = [(time, task) for time, task in self._delays if time > now]
            for task in due:
                self._start(task, now)

    def _start(self, task: int, now: Fraction) -> None:
        loaded, order = self._loaded, self._order
        flows = range(int(loaded.flow_row[task]), int(loaded.flow_row[task + 1]))
        if not flows:
            self._finish(task, now)
        for f in flows:
            load = int(loaded.load[f])
            uses = slice(int(loaded.use_row[load]), int(loaded.use_row[load + 1]))
            amounts = {int(r): Fraction(float(a)) for r, a in zip(loaded.use[uses], loaded.amount[uses], strict=True)}
            coflow = int(loaded.coflow_of_flow[f])
            level = self._arrivals if order.fifo == EVERY_HOP else int(order.level[coflow])
            host = 0 if order.host is None else int(order.host[coflow])
            if order.fifo == AT_HOSTS:
                host = self._arrivals
            side = int(order.side[coflow])
            weight = Fraction(float(loaded.weight[load])).limit_denominator(_LARGEST_DENOMINATOR)
            self._active.append(_Flow(task, amounts, weight, level, host, side))

    def _finish(self, task: int, now: Fraction) -> None:
        self.end[task] = now
        row = self._loaded.after_row
        for then in self._loaded.after[int(row[task]) : int(row[task + 1])].tolist():
            self._waits[then] -= 1
            if not self._waits[then]:
                self._begin(then, now)

    def _allocate(self) -> None:
        room: dict[int, Fraction] = {}
        held = {r for flow in self._active if flow.side == 1 for r in flow.uses if r < self._ports}
        waiting = []
        for flow in self._active:
            flow.rate = _NONE
            if not (flow.side == 2 and held & set(flow.uses)):
                waiting.append(flow)
        for level in sorted({flow.level for flow in waiting}):
            group = [flow for flow in waiting if flow.level == level]
            while group:
                first = [flow for flow in group if not self._behind(flow, group)]
                self._fill(first, room)
                group = [flow for flow in group if flow not in first]

    def _behind(self, flow: _Flow, group: list[_Flow]) -> bool:
        """Whether another of the group comes before it at one of its senders."""
        mine = {r for r in flow.uses if r < self._ports}
        return any(other.host < flow.host and mine & set(other.uses) for other in group)

    def _fill(self, flows: list[_Flow], room: dict[int, Fraction]) -> None:
        """Progressive filling: all grow alike until a link is full, whose flows then stop."""
        growing = list(flows)
        while growing:
            demand: dict[int, Fraction] = {}
            for flow in growing:
                for r, amount in flow.uses.items():
                    demand[r] = demand.get(r, _NONE) + flow.weight * amount
            step = min(room.get(r, self._capacity) / d for r, d in demand.items())
            full = set()
            for r, d in demand.items():
                room[r] = room.get(r, self._capacity) - step * d
                if not room[r]:
                    full.add(r)
            for flow in growing:
                flow.rate += step * flow.weight
            growing = [flow for flow in growing if not full & set(flow.uses)]
