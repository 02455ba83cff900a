# SPDX-License-Identifier: Apache-2.0
"""Random settings by class: the difficulty of each, and what else is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from offramp.leo.selection.capacity import capacity
from offramp.leo.selection.steps import DELAY, NETWORK, PathStep, Routes
from offramp.leo.selection.table import RequestDependency, Table
from offramp_base.settings.error import SettingsError
from offramp_sim.leo.load import RequestLoad
from offramp_sim.leo.simulate import Slowdown
from offramp_sim.leo.study import misread

MIXED: Final = "mixed"
"""The class of settings in which any difficulty may occur, but none is severe."""


@dataclass(frozen=True, eq=False)
class LeoScenario:
    """Paths, and a load on them.

    Attributes:
        kind: its class.
        number: number of the setting, which is also its seed.
        routes, load: what is simulated.
        believed: the selectors' table.
        weights: weights of the tenants.
        slowdowns: slowdowns of resources.
        offered: rate of arrivals, or of a loop in which nothing waits, over what all paths sustain.
        single: rate that the best path alone sustains, over that of all paths.
        exact: whether the optimum is computed.
    """

    kind: str
    number: int
    routes: Routes
    load: RequestLoad
    believed: Table
    weights: tuple[float, ...]
    slowdowns: tuple[Slowdown, ...]
    offered: float
    single: float
    exact: bool


@dataclass(frozen=True)
class ScenarioClass:
    """A class of settings.

    Attributes:
        paths: how many there may be.
        before: whether the network comes before the queues; None: either.
        shared: share of the settings in which all paths have a link in common.
        link_ns: least and most that a request takes there.
        load: draws further fields of :class:`~offramp_sim.leo.load.RequestLoad`.
        closed: share of closed loops.
        most: offered load of an open loop, as a share of what all paths sustain.
        wrong: factor by which the selectors' table may be off.
        tenants: tenants with a selector each; the least and most of them.
        slow: factors of a slowdown of one path's node, and its begin and end, as fractions of the run.
    """

    paths: tuple[int, ...] = (2, 2, 2, 3, 4)
    before: bool | None = None
    shared: float = 0.3
    link_ns: tuple[float, float] = (10, 60)
    load: Callable[[np.random.Generator], Mapping[str, Any]] = lambda _: {}
    closed: float = 0.4
    most: float = 0.95
    wrong: float = 1.0
    tenants: tuple[int, int] = (1, 1)
    slow: tuple[tuple[int, ...], float, float] | None = None


CLASSES: Final[Mapping[str, ScenarioClass]] = {
    MIXED: ScenarioClass(),
    "bursts": ScenarioClass(load=lambda rng: {"burst": int(rng.choice([8, 16, 32, 64, 128]))}, closed=0),
    "bimodal": ScenarioClass(load=lambda rng: {"long": float(rng.uniform(0.02, 0.2))}),
    "correlated": ScenarioClass(paths=(3, 4), shared=1.0, link_ns=(40, 150)),
    "six-paths": ScenarioClass(paths=(6,)),
    "wrong-1.5": ScenarioClass(wrong=1.5),
    "wrong-3": ScenarioClass(wrong=3),
    "network-first": ScenarioClass(before=True),
    "network-last": ScenarioClass(before=False),
    "tenants": ScenarioClass(tenants=(2, 4)),
    "slow-start": ScenarioClass(closed=0, most=0.6, slow=((2, 4, 8), 0, 0.4)),
    "failures": ScenarioClass(closed=0, most=0.6, slow=((20, 50), 0.3, 0.45)),
}


def make_setting(kind: str, number: int, requests: int) -> LeoScenario:
    """The setting of a class and a number."""
    which = CLASSES[kind]
    rng = np.random.default_rng(number)
    routes, simple, network = _routes(rng, which)
    whole = capacity(routes.table).rate_mrps
    alone = max(capacity(routes.table, only=p).rate_mrps for p in range(len(routes.paths)))
    offered = float(rng.uniform(0.1, which.most))
    fields = {"requests": requests, "network_us": network, **which.load(rng)}
    count = int(rng.integers(which.tenants[0], which.tenants[1] + 1))
    weights = (1.0, *rng.uniform(0.5, 2, count - 1).tolist())
    if count > 1:
        fields["shares"] = tuple(rng.uniform(0.5, 2, count).tolist())
    load = RequestLoad(rate_mrps=offered * whole, **fields)
    if rng.random() < which.closed:
        offered = float(rng.uniform(0.2, 2.0))
        trip = float(np.nanmin(routes.table.base)) / 1e3 + sum(network) / 2
        load = RequestLoad(window=max(1, round(offered * whole * trip)), **fields)
        simple = False
    slowdowns = _slowdowns(rng, which, len(routes.paths), requests / (offered * whole))
    believed = misread(routes.table, which.wrong, number)
    known = count == 1 and which.wrong == 1 and not slowdowns and not load.long and load.burst == 1
    return LeoScenario(
        kind, number, routes, load, believed, weights, slowdowns, offered, alone / whole, exact=simple and known
    )


def _routes(rng: np.random.Generator, which: ScenarioClass) -> tuple[Routes, bool, tuple[float, float]]:
    """Paths with separate or common links and parallel nodes; whether they are plain; time on the network."""
    paths = int(rng.choice(which.paths))
    service = rng.uniform(100, 500, paths)
    rest = rng.uniform(1000, 3000, paths) * rng.choice([1.0, 1.0, 2.0])
    parallel = rng.choice([1, 1, 1, 2, 4], paths)
    shared = rng.uniform(*which.link_ns) if rng.random() < which.shared else 0.0
    before = bool(rng.random() < 0.3)
    if which.before is not None:
        before = which.before
    low = float(rng.uniform(0, 6))
    network = (low, low + float(rng.uniform(0, 9)))
    steps = []
    for p in range(paths):
        node = [PathStep(p, float(service[p] * parallel[p]))]
        node += [PathStep(paths, shared)] if shared else []
        crossing = [PathStep(NETWORK, 1.0)]
        steps.append(
            [*(crossing if before else ()), *node, PathStep(DELAY, float(rest[p])), *(() if before else crossing)]
        )
    own: list[str] = []
    if rng.random() < 0.3:  # a link of its own before each node
        steps = [[PathStep(paths + 1 + p, float(rng.uniform(20, 300))), *steps[p]] for p in range(paths)]
        own = [f"link{p}" for p in range(paths)]
    names = tuple(f"p{p}" for p in range(paths))
    resources = (*names, "link", *own)
    capacities = (*parallel.tolist(), 1, *[1] * len(own))
    simple = paths <= 3 and not shared and not own and parallel.max() == 1 and not before
    return Routes(("request",), names, resources, [steps], (RequestDependency.NONE,), capacities), simple, network


def _slowdowns(rng: np.random.Generator, which: ScenarioClass, paths: int, length_us: float) -> tuple[Slowdown, ...]:
    if which.slow is None:
        return ()
    factors, begin, end = which.slow
    factor = int(rng.choice(factors))
    return (Slowdown(int(rng.integers(paths)), begin * length_us, end * length_us, factor),)


def names_of(classes: Sequence[str]) -> tuple[str, ...]:
    """The classes of these names; ``all`` stands for all of them, and none for :data:`MIXED`.

    Raises:
        SettingsError: there is no such class.
    """
    for name in classes:
        if name != "all" and name not in CLASSES:
            raise SettingsError("kind", f"expected all or one of {', '.join(CLASSES)}", name)
    return tuple(CLASSES) if "all" in classes else tuple(dict.fromkeys(classes)) or (MIXED,)
