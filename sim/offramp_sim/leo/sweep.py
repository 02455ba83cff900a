# SPDX-License-Identifier: Apache-2.0
"""The default rule on random settings, beside the greedy ones and, where that can be computed, the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from offramp.leo.selection.capacity import capacity
from offramp.leo.selection.policies import Policy
from offramp.leo.selection.steps import DELAY, NETWORK, Routes, Step
from offramp.leo.selection.table import Dependency
from offramp.sweep import sweep
from offramp_sim.leo.load import Load
from offramp_sim.leo.simulate import LoadResult, Rule, simulate

_AHEAD: Final = 8
_EXACT_REQUESTS: Final = 6000
_GREEDY: Final = (Policy.GREEDY_INTRA, Policy.GREEDY_E2E)


@dataclass(frozen=True, eq=False)
class Setting:
    """Paths, and a load on them.

    Attributes:
        number: of the setting, which is also its seed.
        routes, load: what is simulated.
        offered: rate that comes, or would come if nothing waited, over what all paths sustain.
        single: what the best path alone sustains, over what all do.
        exact: whether the optimum is computed.
    """

    number: int
    routes: Routes
    load: Load
    offered: float
    single: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a setting has shown; costs are mean JCTs in an open loop, times between answers in a closed one.

    Attributes:
        number, offered, single: of the setting.
        is_open: whether its loop is.
        costs: by rule, ns.
        throughput_mrps: by rule.
    """

    number: int
    offered: float
    single: float
    is_open: bool
    costs: dict[str, float]
    throughput_mrps: dict[str, float]

    @property
    def against_greedy(self) -> float:
        """Cost over that of the better greedy rule."""
        return self.costs[Policy.LOOKAHEAD] / min(self.costs[p] for p in _GREEDY)

    @property
    def against_optimum(self) -> float | None:
        """Cost over that of the exact search, where there is one."""
        best = self.costs.get(f"exact k={_AHEAD}")
        return None if best is None else self.costs[Policy.LOOKAHEAD] / best

    @property
    def gain(self) -> float | None:
        """Throughput over that of the better greedy rule, in a closed loop that offers more than one path sustains."""
        if self.is_open or self.offered < 1:
            return None
        return self.throughput_mrps[Policy.LOOKAHEAD] / max(self.throughput_mrps[p] for p in _GREEDY)


def make_setting(number: int, requests: int) -> Setting:
    """A setting from its number: two to four paths, with links of their own or in common, and parallel nodes."""
    rng = np.random.default_rng(number)
    paths = int(rng.choice([2, 2, 2, 3, 4]))
    service = rng.uniform(100, 500, paths)
    rest = rng.uniform(1000, 3000, paths) * rng.choice([1.0, 1.0, 2.0])
    parallel = rng.choice([1, 1, 1, 2, 4], paths)
    shared = rng.uniform(10, 60) if rng.random() < 0.3 else 0.0
    before = bool(rng.random() < 0.3)
    low = float(rng.uniform(0, 6))
    network = (low, low + float(rng.uniform(0, 9)))
    steps = []
    for p in range(paths):
        node = [Step(p, float(service[p] * parallel[p]))]
        node += [Step(paths, shared)] if shared else []
        crossing = [Step(NETWORK, 1.0)]
        steps.append([*(crossing if before else ()), *node, Step(DELAY, float(rest[p])), *(() if before else crossing)])
    if rng.random() < 0.3:  # a link of its own before each node
        steps = [[Step(paths + 1 + p, float(rng.uniform(20, 300))), *steps[p]] for p in range(paths)]
        own = [f"link{p}" for p in range(paths)]
    else:
        own = []
    names = tuple(f"p{p}" for p in range(paths))
    resources = (*names, "link", *own)
    capacities = (*parallel.tolist(), 1, *[1] * len(own))
    routes = Routes(("request",), names, resources, [steps], (Dependency.NONE,), capacities)
    whole = capacity(routes.table).rate_mrps
    alone = max(capacity(routes.table, only=p).rate_mrps for p in range(paths))
    offered = float(rng.uniform(0.1, 0.95))
    load = Load(requests, rate_mrps=offered * whole, network_us=network)
    simple = paths <= 3 and not shared and not own and parallel.max() == 1 and not before
    if rng.random() < 0.4:
        offered = float(rng.uniform(0.2, 2.0))
        trip = float(np.nanmin(routes.table.base)) / 1e3 + sum(network) / 2
        load = Load(requests, window=max(1, round(offered * whole * trip)), network_us=network)
        simple = False
    return Setting(number, routes, load, offered, alone / whole, simple)


def judge(case: tuple[int, int]) -> Verdict:
    """Run all rules on the setting of this number with so many requests."""
    setting = make_setting(*case)
    rules = [Rule(Policy.LOOKAHEAD), *(Rule(p) for p in _GREEDY), Rule(Policy.OUTSTANDING), Rule(ahead=1)]
    outcomes = {rule.name: simulate(setting.routes, setting.load, rule, seed=setting.number) for rule in rules}
    costs = {name: _cost(setting.load, outcome) for name, outcome in outcomes.items()}
    if setting.exact:
        short = Load(_EXACT_REQUESTS, setting.load.rate_mrps, network_us=setting.load.network_us)
        both = [Rule(ahead=_AHEAD), Rule(Policy.LOOKAHEAD)]
        best, ours = (_cost(short, simulate(setting.routes, short, rule, seed=setting.number)) for rule in both)
        costs[both[0].name] = costs[Policy.LOOKAHEAD] * best / ours
    throughput = {name: outcome.throughput_mrps for name, outcome in outcomes.items()}
    is_open = setting.load.rate_mrps is not None
    return Verdict(setting.number, setting.offered, setting.single, is_open, costs, throughput)


def _cost(load: Load, outcome: LoadResult) -> float:
    return outcome.mean_jct_us * 1e3 if load.rate_mrps is not None else 1e3 / outcome.throughput_mrps


def run_sweep(settings: int, requests: int, seed: int, processes: int | None = None) -> list[Verdict]:
    """Verdicts of so many settings."""
    cases = [(seed * 1_000_000 + number, requests) for number in range(settings)]
    return sweep(judge, cases, processes=processes, what="settings")


def summary(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The three promises in numbers: never worse than greedy, near the optimum, more throughput beyond one path."""
    greedy = [v.against_greedy for v in verdicts]
    optimum = [r for v in verdicts if (r := v.against_optimum) is not None]
    gains = [g for v in verdicts if (g := v.gain) is not None]
    return {
        "settings": len(verdicts),
        "against_greedy": _spread(greedy),
        "against_optimum": _spread(optimum),
        "gain": _spread(gains),
        "against_outstanding": _spread([v.costs[Policy.LOOKAHEAD] / v.costs[Policy.OUTSTANDING] for v in verdicts]),
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {"count": 0}
    low, mid, high = np.quantile(values, [0, 0.5, 1])
    return {"count": len(values), "least": float(low), "median": float(mid), "most": float(high)}
