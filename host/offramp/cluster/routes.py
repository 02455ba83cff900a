# SPDX-License-Identifier: Apache-2.0
"""Ways through a cluster: shortest paths over switches; hosts carry nothing for others."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from offramp.cluster.model import Cable, Cluster, ClusterSwitch
from offramp_base.errors import OfframpError


def distances(cluster: Cluster, target: str) -> dict[str, int]:
    """Links from each node that reaches ``target`` to it."""
    hops = {target: 0}
    waiting = deque([target])
    while waiting:
        name = waiting.popleft()
        if name != target and not isinstance(cluster.by_name[name], ClusterSwitch):
            continue
        for link in cluster.links_of[name]:
            other = link.far(name).node
            if other not in hops:
                hops[other] = hops[name] + 1
                waiting.append(other)
    return hops


def next_links(cluster: Cluster, target: str) -> dict[str, Cable]:
    """The link by which each node sends to ``target``; of several equally short ones a hash of both names decides."""
    far = distances(cluster, target)
    links: dict[str, Cable] = {}
    for name in far:
        if name == target:
            continue
        ways = [
            link
            for link in cluster.links_of[name]
            if far.get(link.far(name).node, len(far)) == far[name] - 1
            and (link.far(name).node == target or isinstance(cluster.by_name[link.far(name).node], ClusterSwitch))
        ]
        links[name] = ways[zlib.crc32(target.encode()) % len(ways)]
    return links


@dataclass(frozen=True, slots=True)
class Route:
    """A way from a host to another.

    Attributes:
        links: links in order.
        nodes: nodes between them, ends included.
    """

    links: tuple[Cable, ...]
    nodes: tuple[str, ...]

    @property
    def delay_ns(self) -> float:
        """Delay of all links of the route together, in nanoseconds."""
        return sum(link.delay_ns for link in self.links)

    @property
    def rate_bps(self) -> int:
        """Rate of the slowest link, in bits per second."""
        return min(link.rate_bps for link in self.links)


def route(cluster: Cluster, source: str, target: str) -> Route:
    """The way from one node to another.

    Raises:
        OfframpError: there is none.
    """
    steps = next_links(cluster, target)
    links, nodes = [], [source]
    while nodes[-1] != target:
        if nodes[-1] not in steps:
            raise OfframpError(
                f"{cluster.place(source)}: no way from {source} to {target}: expected links that join them"
            )
        links.append(steps[nodes[-1]])
        nodes.append(links[-1].far(nodes[-1]).node)
    return Route(tuple(links), tuple(nodes))


def farthest_ns(cluster: Cluster, names: Sequence[str]) -> float:
    """The longest delay of a way between two of these nodes, in nanoseconds.

    Raises:
        OfframpError: two of them have none.
    """
    longest = 0.0
    for target in names:
        steps, delay = next_links(cluster, target), {target: 0.0}
        for source in names:
            if source != target and source not in steps:
                route(cluster, source, target)
            passed = [source]
            while passed[-1] not in delay:
                passed.append(steps[passed[-1]].far(passed[-1]).node)
            for far, near in pairwise(reversed(passed)):
                delay[near] = delay[far] + steps[near].delay_ns
            longest = max(longest, delay[source])
    return longest


def two_apart(cluster: Cluster) -> tuple[str, str] | None:
    """Two hosts of which the first does not reach the other; hosts carry nothing for others."""
    hosts = [host.name for host in cluster.hosts]
    if len(hosts) < 2:
        return None
    switches = {switch.name for switch in cluster.switches}
    first = distances(cluster, hosts[0])
    if any(distances(cluster, name).keys() >= set(hosts) for name in first if name in switches and first[name] == 1):
        return None
    for host in hosts:  # a network without a switch for all is small: it has a cable for each pair
        reached = distances(cluster, host)
        other = next((name for name in hosts if name not in reached), None)
        if other is not None:
            return host, other
    return None


def check_connected(cluster: Cluster) -> None:
    """Refuse a cluster with two hosts that do not reach each other, over switches alone.

    Raises:
        OfframpError: names them, with file and line.
    """
    apart = two_apart(cluster)
    if apart is not None:
        first, name = apart
        raise OfframpError(f"{cluster.place(name)}: {name}: no way to {first}: expected links that join them")
