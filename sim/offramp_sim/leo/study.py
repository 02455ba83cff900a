# SPDX-License-Identifier: Apache-2.0
"""Rules compared on the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from offramp.leo.selection.policies import Policy, named
from offramp.leo.selection.steps import Routes
from offramp.leo.selection.table import Table
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.progress import counted
from offramp_base.settings.error import SettingsError
from offramp_sim.figures.panels import Curves
from offramp_sim.leo.load import RequestLoad
from offramp_sim.leo.simulate import PathRule, QueueModelResult, simulate

MOST_AHEAD = 12
"""Most steps of an exact search; its time grows with the number of paths to this power."""


@dataclass(frozen=True, slots=True)
class TenantWeights:
    """Weights of the tenants at links and nodes, and whether they share one selector."""

    weights: tuple[float, ...] = (1.0,)
    one_selector: bool = False


@dataclass(frozen=True, eq=False)
class Study:
    """Every rule under every load.

    Attributes:
        routes: the actual paths.
        believed: the selectors' table.
        rules, loads: each with each.
        tenants: who shares.
        seed: seed of the requests.
    """

    routes: Routes
    believed: Table
    rules: tuple[PathRule, ...]
    loads: tuple[RequestLoad, ...]
    tenants: TenantWeights = TenantWeights()
    seed: int = 0


def parse_rule(name: str, paths: Sequence[str]) -> list[PathRule]:
    """A policy's name, ``exact:K``, ``only:PATH``, or ``all`` policies.

    Raises:
        OfframpError: none of these.
    """
    word, colon, value = name.partition(":")
    if name == "all":
        return [PathRule(policy) for policy in Policy]
    if word == "exact" and colon:
        ahead = whole_number(value)
        if ahead is None or not 1 <= ahead <= MOST_AHEAD:
            raise SettingsError("policy", f"expected exact:1 to exact:{MOST_AHEAD}", name)
        return [PathRule(ahead=ahead)]
    if word == "only" and colon:
        if value not in paths:
            raise SettingsError("policy", f"expected one of {', '.join(f'only:{path}' for path in paths)}", name)
        return [PathRule(only=list(paths).index(value))]
    return [PathRule(named(name))]


def misread(table: Table, factor: float, seed: int) -> Table:
    """The table of a bad profile: every resource and every T is off by up to ``factor``.

    Raises:
        OfframpError: a factor below 1.
    """
    if not 1 <= factor <= 100:
        raise SettingsError("wrong", "expected 1 to 100", factor)
    if factor == 1:
        return table
    rng = np.random.default_rng(seed)
    work = factor ** rng.uniform(-1, 1, len(table.resources))
    rest = factor ** rng.uniform(-1, 1, len(table.paths))
    load = table.load * work
    own = (table.load * table.capacity).sum(axis=2)
    base = (load * table.capacity).sum(axis=2) + (table.base - own) * rest
    return replace(table, load=load, base=np.where(table.allowed, base, np.nan))


def run_study(study: Study) -> list[dict[str, Any]]:
    """Numbers of every run, ready for JSON.

    Raises:
        OfframpError: settings that do not fit.
    """
    rows = []
    for load, rule in counted("simulating", [(load, rule) for load in study.loads for rule in study.rules]):
        if rule.ahead and (load.keys or len(study.tenants.weights) > 1):
            raise OfframpError(f"{rule.name}: expected requests without shared keys, and one tenant")
        outcome = simulate(
            study.routes,
            load,
            rule,
            seed=study.seed,
            believed=study.believed,
            weights=study.tenants.weights,
            one_selector=study.tenants.one_selector,
        )
        rows.append({"load": describe(load), "rule": _name(rule, study.routes), **numbers(outcome, study)})
    return rows


def describe(load: RequestLoad) -> str:
    """Describe a load in a few words."""
    return f"{load.rate_mrps:g} Mrps" if load.rate_mrps is not None else f"{load.window} at a time"


def _name(rule: PathRule, routes: Routes) -> str:
    return rule.name if rule.only is None else f"only {routes.paths[rule.only]}"


def numbers(outcome: QueueModelResult, study: Study) -> dict[str, Any]:
    """Results of a run, ready for JSON."""
    return {
        "throughput_mrps": outcome.throughput_mrps,
        "mean_jct_us": outcome.mean_jct_us,
        "median_us": outcome.median_us,
        "p99_us": outcome.p99_us,
        "shares": outcome.shares(len(study.routes.paths)),
        "tenants_mrps": outcome.tenants_mrps(len(study.tenants.weights)),
    }


def panels(study: Study, rows: Sequence[dict[str, Any]]) -> list[Curves]:
    """Throughput and latency against the load, in separate panels for open and closed loops."""
    curves = []
    for is_open in (True, False):
        loads = [load for load in study.loads if (load.rate_mrps is not None) is is_open]
        if not loads:
            continue
        xs = [load.rate_mrps if is_open else load.window for load in loads]
        names = {describe(load) for load in loads}
        x = "million requests per second offered" if is_open else "requests at a time"
        for title, what, unit in (
            ("throughput", "throughput_mrps", "million requests/s"),
            ("median from arrival to answer", "median_us", "us"),
        ):
            lines: dict[str, tuple[list[Any], list[float]]] = {}
            for row in rows:
                if row["load"] in names:
                    lines.setdefault(row["rule"], (xs, []))[1].append(row[what])
            curves.append(Curves(title, x, unit, lines))
    return curves
