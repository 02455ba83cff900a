# SPDX-License-Identifier: Apache-2.0
"""Cuts of a fabric between a job's hosts, and what each carries: none carries more than its own links.

Any set of switches gives a cut: what its hosts send to others crosses the links that leave the set. Of many only some
are looked at: the two sides of a link that alone joins them (all that a tree has), what lies around a switch, and the
minimum cuts between hosts at different switches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from offramp.cluster.model import ClusterHost
from offramp.fabric import Fabric

_FEW: Final = 8
_MOST_FLOWS: Final = 64
"""Most pairs of places between which minimum cuts are computed."""

Graph = dict[int, dict[int, float]]
"""Bits per second from each node to those beside it."""


@dataclass(frozen=True)
class Cut:
    """A cut between hosts.

    Attributes:
        inside: positions of the hosts on one side, among the job's.
        rate_bps: total rate of the links that cross it, each way.
    """

    inside: frozenset[int]
    rate_bps: float


def cuts(fabric: Fabric, hosts: Sequence[ClusterHost]) -> list[Cut]:
    """The narrowest cut for each division of the hosts that is looked at; without those of single hosts."""
    network = _Network(fabric, hosts)
    narrowest: dict[frozenset[int], float] = {}
    for side in network.sides():
        inside = network.inside(side)
        if 0 < len(inside) < len(hosts):
            rate = network.rate_bps(side)
            narrowest[inside] = min(rate, narrowest.get(inside, rate))
    return [Cut(inside, rate) for inside, rate in narrowest.items()]


class _Network:
    """Switches, and those hosts that have not just one link to one of them, which counts as its part."""

    def __init__(self, fabric: Fabric, hosts: Sequence[ClusterHost]) -> None:
        self._place = list(range(len(fabric.nodes)))
        for host in range(fabric.hosts):
            first, end = fabric.nics_of_host[host : host + 2]
            if end - first == 1 and fabric.nics.far[first] >= fabric.hosts:
                self._place[host] = int(fabric.nics.far[first])
        self._ranks: dict[int, set[int]] = {place: set() for place in self._place}
        for position, host_ in enumerate(hosts):
            self._ranks[self._place[fabric.number[host_.name]]].add(position)
        self._graph: Graph = {place: {} for place in self._ranks}
        bps = 8 * fabric.capacity[: len(fabric.ends)]
        for (near, far), rate in zip(fabric.ends.tolist(), bps.tolist(), strict=True):
            a, b = self._place[near], self._place[far]
            if a != b and rate:
                self._graph[a][b] = self._graph[a].get(b, 0.0) + rate

    def inside(self, side: Collection[int]) -> frozenset[int]:
        """Positions of the hosts at these places."""
        return frozenset(position for place in side for position in self._ranks[place])

    def rate_bps(self, side: Collection[int]) -> float:
        """The total rate of the links that leave a set of places."""
        return sum(rate for place in side for far, rate in self._graph[place].items() if far not in side)

    def sides(self) -> Iterator[set[int]]:
        """Sets of places whose cuts can be narrow; all sets where there are few places."""
        if len(self._graph) <= _FEW:
            first, *rest = self._graph
            for count in range(len(rest)):
                yield from ({first, *chosen} for chosen in combinations(rest, count))
            return
        for place in self._graph:
            distance = _distances(self._graph, place)
            for radius in range(max(distance.values())):
                yield {name for name, far in distance.items() if far <= radius}
        for near, beside in self._graph.items():
            for far in beside:
                if near < far:
                    side = set(_distances(self._graph, near, without=(near, far)))
                    if far not in side:
                        yield side
        first, *others = [place for place, ranks in self._ranks.items() if ranks]
        for other in others[:_MOST_FLOWS]:
            yield _minimum(self._graph, first, other)


def _distances(graph: Graph, start: int, without: tuple[int, int] | None = None) -> dict[int, int]:
    """Links from a place to each that it reaches, also without those between two neighbours."""
    skipped = set() if without is None else {without, without[::-1]}
    distance, waiting = {start: 0}, deque([start])
    while waiting:
        near = waiting.popleft()
        for far, rate in graph[near].items():
            if rate and far not in distance and (near, far) not in skipped:
                distance[far] = distance[near] + 1
                waiting.append(far)
    return distance


def _minimum(graph: Graph, source: int, target: int) -> set[int]:
    """The source's side of a minimum cut, by shortest augmenting paths (Edmonds and Karp)."""
    left = {near: dict(beside) for near, beside in graph.items()}
    while target in (distance := _distances(left, source)):
        path = [target]
        while path[-1] != source:
            far = path[-1]
            path.append(next(p for p in left[far] if distance.get(p, -1) == distance[far] - 1 and left[p][far]))
        steps = list(zip(path[1:], path[:-1], strict=True))
        amount = min(left[near][far] for near, far in steps)
        for near, far in steps:
            left[near][far] -= amount
            left[far][near] += amount
    return set(distance)
