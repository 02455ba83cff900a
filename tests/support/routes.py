# SPDX-License-Identifier: Apache-2.0
"""Routes by destination, node by node: an oracle for the paths of a fabric, which it does not use."""

from __future__ import annotations

from dataclasses import dataclass

from offramp.cluster.model import Cable, Cluster, ClusterSwitch
from offramp.cluster.routes import distances
from offramp_base.errors import OfframpError


def next_links(cluster: Cluster, target: str) -> dict[str, Cable]:
    """The link by which each node sends to ``target``, a host with one link.

    Of several equally short ones each switch takes the next for the next host at the target's switch. Where it begins
    is a hash of both switches.
    """
    far = distances(cluster, target)
    links: dict[str, Cable] = {}
    numbers = {switch.name: number for number, switch in enumerate(cluster.switches)}
    (home,) = (link.far(target).node for link in cluster.links_of[target])
    at_home = [
        host.name for host in cluster.hosts for link in cluster.links_of[host.name] if link.far(host.name).node == home
    ]
    for name in far:
        if name == target:
            continue
        ways = [
            link
            for link in cluster.links_of[name]
            if far.get(link.far(name).node, len(far)) == far[name] - 1
            and (link.far(name).node == target or isinstance(cluster.by_name[link.far(name).node], ClusterSwitch))
        ]
        begin = _hash(numbers[name] * len(numbers) + numbers[home]) if name in numbers else 0
        links[name] = ways[(at_home.index(target) + begin) % len(ways)]
    return links


def _hash(cell: int) -> int:
    word = (cell + 1) * 0x9E3779B97F4A7C15 % (1 << 64)
    return (word ^ word >> 32) >> 8


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
