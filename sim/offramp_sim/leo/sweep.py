# SPDX-License-Identifier: Apache-2.0
"""The default rule on random settings of each class, beside other rules and, where known, the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from offramp.leo.selection.policies import Policy
from offramp.sweep import sweep
from offramp_sim.leo.classes import MIXED, LeoScenario, make_setting
from offramp_sim.leo.load import RequestLoad
from offramp_sim.leo.simulate import PathRule, QueueModelResult, simulate

_AHEAD: Final = 8
_EXACT_REQUESTS: Final = 6000
_GREEDY: Final = (Policy.GREEDY_INTRA, Policy.GREEDY_E2E)
SIMPLE: Final = (Policy.OUTSTANDING, Policy.WEIGHTED)
"""Rules that do not learn, which the default one must match."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Results of a setting; costs are mean JCTs in an open loop, times between answers in a closed one.

    Attributes:
        kind, number, offered, single: those of the setting.
        is_open: whether its loop is open.
        costs: costs by rule, ns.
        throughput_mrps: throughput by rule.
    """

    kind: str
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
    def against_simple(self) -> float:
        """Cost over that of the better of the rules that do not learn."""
        return self.costs[Policy.LOOKAHEAD] / min(self.costs[p] for p in SIMPLE)

    @property
    def against_optimum(self) -> float | None:
        """Cost over that of the exact search; None without one."""
        best = self.costs.get(f"exact k={_AHEAD}")
        return None if best is None else self.costs[Policy.LOOKAHEAD] / best

    @property
    def gain(self) -> float | None:
        """Throughput over that of the better greedy rule, in a closed loop that offers more than one path sustains."""
        if self.is_open or self.offered < 1:
            return None
        return self.throughput_mrps[Policy.LOOKAHEAD] / max(self.throughput_mrps[p] for p in _GREEDY)


def evaluate(case: tuple[str, int, int]) -> Evaluation:
    """Run all rules on the setting of this class and number, with this many requests."""
    setting = make_setting(*case)
    rules = [PathRule(p) for p in (Policy.LOOKAHEAD, *_GREEDY, *SIMPLE)]
    outcomes = {rule.name: _run(setting, setting.load, rule) for rule in rules}
    costs = {name: _cost(setting.load, outcome) for name, outcome in outcomes.items()}
    if setting.exact:
        short = RequestLoad(_EXACT_REQUESTS, setting.load.rate_mrps, network_us=setting.load.network_us)
        pair = [PathRule(ahead=_AHEAD), PathRule(Policy.LOOKAHEAD)]
        best, ours = (_cost(short, _run(setting, short, rule)) for rule in pair)
        costs[pair[0].name] = costs[Policy.LOOKAHEAD] * best / ours
    throughput = {name: outcome.throughput_mrps for name, outcome in outcomes.items()}
    is_open = setting.load.rate_mrps is not None
    return Evaluation(setting.kind, setting.number, setting.offered, setting.single, is_open, costs, throughput)


def _run(setting: LeoScenario, load: RequestLoad, rule: PathRule) -> QueueModelResult:
    return simulate(
        setting.routes,
        load,
        rule,
        seed=setting.number,
        believed=setting.believed,
        weights=setting.weights,
        slowdowns=setting.slowdowns,
    )


def _cost(load: RequestLoad, outcome: QueueModelResult) -> float:
    return outcome.mean_jct_us * 1e3 if load.rate_mrps is not None else 1e3 / outcome.throughput_mrps


def run_sweep(
    settings: int, requests: int, seed: int, processes: int | None = None, classes: Sequence[str] = (MIXED,)
) -> list[Evaluation]:
    """Evaluations of ``settings`` settings of each class."""
    cases = [(kind, seed * 1_000_000 + number, requests) for kind in classes for number in range(settings)]
    return sweep(evaluate, cases, processes=processes, what="settings")


def by_class(evaluations: Sequence[Evaluation]) -> dict[str, dict[str, dict[str, float]]]:
    """Per class, the default rule's cost over the others': median, 95th percentile, maximum."""
    costs: dict[str, dict[str, dict[str, float]]] = {}
    for kind in dict.fromkeys(v.kind for v in evaluations):
        these = [v for v in evaluations if v.kind == kind]
        costs[kind] = {
            "simple": _spread([v.against_simple for v in these]),
            **{p.value: _spread([v.costs[Policy.LOOKAHEAD] / v.costs[p] for v in these]) for p in SIMPLE},
            "greedy": _spread([v.against_greedy for v in these]),
            "exact": _spread([r for v in these if (r := v.against_optimum) is not None]),
        }
    return costs


def summary(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """The three promises in numbers: never worse than greedy, near the optimum, more throughput beyond one path."""
    greedy = [v.against_greedy for v in evaluations]
    optimum = [r for v in evaluations if (r := v.against_optimum) is not None]
    gains = [g for v in evaluations if (g := v.gain) is not None]
    return {
        "settings": len(evaluations),
        "against_greedy": _spread(greedy),
        "against_optimum": _spread(optimum),
        "gain": _spread(gains),
        "against_outstanding": _spread([v.costs[Policy.LOOKAHEAD] / v.costs[Policy.OUTSTANDING] for v in evaluations]),
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {"count": 0}
    low, mid, high, most = (float(x) for x in np.quantile(values, [0, 0.5, 0.95, 1]))
    return {"count": len(values), "least": low, "median": mid, "p95": high, "most": most}
