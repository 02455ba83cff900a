# SPDX-License-Identifier: Apache-2.0
"""A run of the queue model (specification section 10), and its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.leo.selection.layout import PS, SelectorState, Tolerance, make_memory
from offramp.leo.selection.policies import AnyPolicy, Policy
from offramp.leo.selection.steps import NETWORK, Routes
from offramp.leo.selection.table import Table
from offramp_base.errors import OfframpError
from offramp_base.native.arrays import RecordArrays
from offramp_sim.leo import layout as at
from offramp_sim.leo.load import DrawnRequests, RequestLoad, draw

WARM_UP: Final = 0.1
"""Share of the requests that results leave out at the beginning, and in a closed loop also at the end."""


@dataclass(frozen=True, slots=True)
class PathRule:
    """The rule by which paths are chosen.

    Attributes:
        policy: policy of the selectors.
        ahead: if above 0, search for the best of the next k choices instead, with all queues and arrivals known.
        only: take this path alone.
    """

    policy: AnyPolicy = Policy.LOOKAHEAD
    ahead: int = 0
    only: int | None = None

    @property
    def name(self) -> str:
        """Name in figures and tables."""
        if self.ahead:
            return f"exact k={self.ahead}"
        return self.policy.value if self.only is None else f"only path {self.only}"


@dataclass(frozen=True, slots=True)
class Slowdown:
    """A resource that starts slowly, hangs or fails for a while: steps that begin meanwhile take longer.

    Attributes:
        resource: its index.
        from_us, until_us: when.
        factor: whole number by which the time of steps is multiplied.
    """

    resource: int
    from_us: float
    until_us: float
    factor: int


@dataclass(frozen=True, eq=False)
class QueueModelResult:
    """Times in ns, a row for each request.

    Attributes:
        kind, path, owner: kind, path and owner of each request.
        came, began, ended: when it arrived, when it began, and when its answer arrived.
        jct: intra-host JCT.
        worked_ns: busy time of each resource's servers.
        memories: the selectors' final memories.
    """

    kind: npt.NDArray[np.int64]
    path: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    came: npt.NDArray[np.float64]
    began: npt.NDArray[np.float64]
    ended: npt.NDArray[np.float64]
    jct: npt.NDArray[np.float64]
    worked_ns: npt.NDArray[np.float64]
    memories: Sequence[npt.NDArray[np.int64]]

    @property
    def counted(self) -> slice:
        """Requests after the warm-up."""
        return slice(int(len(self.kind) * WARM_UP), None)

    @property
    def mean_jct_us(self) -> float:
        """Mean intra-host JCT."""
        return float(self.jct[self.counted].mean()) / 1e3

    @property
    def median_us(self) -> float:
        """Median time from arrival to answer."""
        return float(np.median((self.ended - self.came)[self.counted])) / 1e3

    @property
    def p99_us(self) -> float:
        """99th percentile of the time from arrival to answer."""
        return float(np.percentile((self.ended - self.came)[self.counted], 99)) / 1e3

    @property
    def throughput_mrps(self) -> float:
        """Answers per second between the warm-up and the same time before the end, in millions."""
        ended = np.sort(self.ended)
        cut = int(len(ended) * WARM_UP)
        inner = ended[cut : len(ended) - cut]
        return float((len(inner) - 1) / max(inner[-1] - inner[0], 1e-9) * 1e3)

    def tenants_mrps(self, tenants: int) -> list[float]:
        """Answers per second of each tenant in the middle of the run, in millions."""
        low, high = np.quantile(self.ended, [WARM_UP, 0.5])
        inside = (self.ended >= low) & (self.ended < high)
        counts = np.bincount(self.owner[inside], minlength=tenants)
        return [float(count / max(high - low, 1e-9) * 1e3) for count in counts]

    def shares(self, paths: int) -> list[float]:
        """Share of the requests on each path."""
        counted = self.path[self.counted]
        return [float(x) for x in np.bincount(counted, minlength=paths) / len(counted)]


@cache
def _run() -> Any:
    from offramp_base.native.library import compiled_all
    from offramp_sim.leo.loop import run

    return compiled_all((run,))["run"]


def simulate(
    routes: Routes,
    load: RequestLoad,
    rule: PathRule,
    *,
    seed: int = 0,
    believed: Table | None = None,
    weights: Sequence[float] = (1.0,),
    one_selector: bool = False,
    tolerance: Tolerance | None = None,
    slowdowns: Sequence[Slowdown] = (),
) -> QueueModelResult:
    """Serve a load by a rule.

    Args:
        routes: the actual paths.
        load: the requests.
        rule: how paths are chosen.
        seed: seed of the load.
        believed: the selectors' table, if profiles are wrong.
        weights: weights of the tenants at every link and node.
        one_selector: whether tenants share one selector, which sees all; else each has its own.
        tolerance: tolerance of the selectors.
        slowdowns: at most one of each resource.

    Raises:
        OfframpError: impossible settings, or llvmlite is missing.
    """
    table = believed or routes.table
    if len(weights) != len(load.shares) or min(weights) <= 0:
        raise OfframpError(f"weights: expected {len(load.shares)} over 0, one for each tenant")
    kinds, paths, resources = table.load.shape
    pairs = [steps or () for row in routes.steps for steps in row]
    most = max(map(len, pairs))
    drawn = draw(load, kinds, most, seed, at.UNIT)
    n, tenants = load.requests, len(weights)
    if tolerance is None:
        tolerance = Tolerance(network_ns=sum(load.network_us) / 2 * 1e3)
    memories = [make_memory(table, rule.policy, n, seed + i, tolerance) for i in range(1 if one_selector else tenants)]
    if rule.only is not None:
        for memory in memories:
            memory[SelectorState.down] = ((1 << paths) - 1) & ~(1 << rule.only)
    addresses = [memories[0 if one_selector else i].ctypes.data for i in range(tenants)]
    words = RecordArrays(at.LeoRunState)
    for field, array in _arrays(routes, drawn, weights, addresses, max(rule.ahead, 1)).items():
        words.give(field, np.asarray(array, np.int64))
    for slow in slowdowns:
        words[at.LeoRunState.slow_from][slow.resource] = round(slow.from_us * 1e6)
        words[at.LeoRunState.slow_until][slow.resource] = round(slow.until_us * 1e6)
        words[at.LeoRunState.slow_by][slow.resource] = slow.factor
    context = words.fields
    context.requests, context.steps_ahead = n, rule.ahead
    context.window = load.window if load.rate_mrps is None else 0
    context.resources, context.tenants, context.paths, context.most_steps = resources, tenants, paths, most
    ended = _run()(words.address)
    if ended < n:
        raise OfframpError(f"simulation: {n - ended} requests wait forever, since their paths are not taken")
    return _result(words, memories)


def _result(words: RecordArrays[at.LeoRunState], memories: list[np.ndarray]) -> QueueModelResult:
    began, finished = words[at.LeoRunState.began] / PS, words[at.LeoRunState.finished] / PS
    return QueueModelResult(
        words[at.LeoRunState.kinds],
        words[at.LeoRunState.chosen],
        words[at.LeoRunState.owners],
        words[at.LeoRunState.came] / PS,
        began,
        finished,
        finished - began - words[at.LeoRunState.away] / PS,
        words[at.LeoRunState.worked] / PS,
        memories,
    )


def _arrays(
    routes: Routes, drawn: DrawnRequests, weights: Sequence[float], memories: Sequence[int], ahead: int
) -> dict[object, npt.ArrayLike]:
    """Arrays of a simulation's input and state; ``memories``: of each tenant's selector."""
    n, resources = len(drawn.kinds), len(routes.resources)
    queues = resources * len(weights)
    pairs = [steps or () for row in routes.steps for steps in row]
    places = [s for steps in pairs for s in steps]
    times = [s.time_ns * (at.UNIT if s.resource == NETWORK else PS) for s in places]
    values = {getattr(at.LeoRunState, field.name): getattr(drawn, field.name) for field in fields(drawn)}
    rooms = dict.fromkeys(_OF_REQUESTS, n) | dict.fromkeys(_OF_RESOURCES, resources)
    rooms |= {
        at.LeoRunState.heap: 3 * (n + 2),
        at.LeoRunState.ends: queues,
        at.LeoRunState.gaps: ahead,
        at.LeoRunState.choice: ahead,
    }
    nobody = {at.LeoRunState.heads: queues, at.LeoRunState.tails: queues, at.LeoRunState.chosen: n}
    return {
        **values,
        at.LeoRunState.memories: memories,
        at.LeoRunState.first: np.cumsum([0, *map(len, pairs)]),
        at.LeoRunState.places: [s.resource for s in places],
        at.LeoRunState.times: np.rint(times),
        at.LeoRunState.capacity: routes.capacity,
        at.LeoRunState.weights: np.rint(at.UNIT / np.asarray(weights, np.float64)),
        at.LeoRunState.scratch: np.zeros((ahead + 1) * (resources + 3)),
        **{field: np.full(length, at.NOBODY) for field, length in nobody.items()},
        **{field: np.zeros(length) for field, length in rooms.items()},
    }


_OF_RESOURCES: Final[Any] = (
    at.LeoRunState.busy,
    at.LeoRunState.virtual,
    at.LeoRunState.worked,
    at.LeoRunState.backlog,
    at.LeoRunState.slow_from,
    at.LeoRunState.slow_until,
    at.LeoRunState.slow_by,
)
_OF_REQUESTS: Final[Any] = (
    at.LeoRunState.step,
    at.LeoRunState.came,
    at.LeoRunState.began,
    at.LeoRunState.finished,
    at.LeoRunState.away,
    at.LeoRunState.tags,
    at.LeoRunState.next,
)
