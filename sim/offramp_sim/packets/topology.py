# SPDX-License-Identifier: Apache-2.0
"""Stars and leaf-spine networks: ports and routes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_sim.packets import layout as at

if TYPE_CHECKING:
    from offramp.fabric import Fabric

Words = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinkProperties:
    """Properties that all links of a network share.

    Attributes:
        rate_bps: rate of every link; 8 Tbit/s divided by it must be a whole number of picoseconds per byte.
        delay_ps: propagation.
        buffer_bytes: buffer of a switch's port; None: unlimited.
        mark_bytes: queued bytes above which a switch marks; None: never.
        mark_all_bytes: those above which it marks all packets; between the two with a probability that rises to
            ``mark_probability`` (RED); None: all above ``mark_bytes``.
        mark_probability: mark probability of a mark just below ``mark_all_bytes``.
        loss: probability that a packet is lost on a link.
    """

    rate_bps: int = 100_000_000_000
    delay_ps: int = 2_000_000
    buffer_bytes: int | None = None
    mark_bytes: int | None = None
    mark_all_bytes: int | None = None
    mark_probability: float = 1.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        if self.rate_bps <= 0 or 8 * 10**12 % self.rate_bps:
            raise OfframpError(f"rate_bps {self.rate_bps}: expected a divisor of 8 Tbit/s")
        if self.delay_ps < 0:
            raise OfframpError(f"delay_ps {self.delay_ps}: expected at least 0")
        if not 0 <= self.mark_probability <= 1:
            raise OfframpError(f"mark_probability {self.mark_probability}: expected 0 to 1")
        if self.mark_all_bytes is not None and not 0 <= (self.mark_bytes or 0) < self.mark_all_bytes:
            raise OfframpError(f"mark_all_bytes {self.mark_all_bytes}: expected more than mark_bytes")
        if not 0 <= self.loss < 1:
            raise OfframpError(f"loss {self.loss}: expected 0 to below 1")


@dataclass(frozen=True, eq=False)
class RoutedWays:
    """Links that differ, and routes by table (:func:`offramp_sim.packets.routed.packet_topology`).

    Attributes:
        fabric: fabric whose NICs are the hosts.
        link: ``(p,)`` link of the fabric of each port; -1: a switch's own port.
        byte_ps, delay_ps: ``(p,)`` of each port.
        buffer: ``(p,)`` bytes that wait there; :data:`NEVER_PS`: any number.
        home: ``(hosts,)`` switch of each host, counted from the first.
        first, count: ``(switches squared,)`` by switch and target: its ways among ``ports``.
        ports: ports of all ways.
        changes: times in picoseconds after the start at which links fail or are mended, and the network from then on.
    """

    fabric: Fabric
    link: Words
    byte_ps: Floats
    delay_ps: Words
    buffer: Words
    home: Words
    first: Words
    count: Words
    ports: Words
    changes: tuple[tuple[int, Fabric], ...] = ()


@dataclass(frozen=True, eq=False)
class Topology:
    """A tree of switches, possibly with several equal paths up. Nodes are hosts, then leaves, then the levels above.

    Attributes:
        hosts, leaves: how many.
        levels: ``(l + 1,)`` nodes of each level, hosts first.
        links: properties of all links.
        source, target: ``(p,)`` nodes at the ends of each port. Ports that lead to a node are next to each other; a
            switch's last one is its own, by which its pipeline keeps packets.
        switches: ``(s, Switch.WORDS)`` words of :class:`offramp_sim.packets.layout.SwitchRecord`.
        lanes: first port of a divided star's lanes (:func:`offramp_sim.packets.partitions.divided`); 0: it is whole.
        ways: rates and routes of a network that is no tree; ``links`` then has its fastest rate and shortest delay.
    """

    hosts: int
    leaves: int
    levels: tuple[int, ...]
    links: LinkProperties
    source: Words
    target: Words
    switches: Words
    lanes: int = 0
    ways: RoutedWays | None = None

    @cached_property
    def byte_ps(self) -> Floats:
        """``(p,)`` picoseconds of a byte at each port."""
        if self.ways is not None:
            return self.ways.byte_ps
        return np.full(len(self.source), 8e12 / self.links.rate_bps)

    @cached_property
    def delay_ps(self) -> Words:
        """``(p,)`` propagation from each port."""
        return np.full(len(self.source), self.links.delay_ps) if self.ways is None else self.ways.delay_ps

    @property
    def nodes(self) -> int:
        """Hosts and switches."""
        return sum(self.levels)

    def leaf_of(self) -> Words:
        """``(hosts,)`` leaf of each host."""
        if self.ways is not None:
            return np.maximum(self.ways.home, 0)
        return np.arange(self.hosts) // (self.hosts // self.leaves)

    def host_ports(self) -> Words:
        """``(hosts,)`` port by which each host sends."""
        return np.unique(self.source, return_index=True)[1][: self.hosts]


def star(hosts: int, links: LinkProperties) -> Topology:
    """One switch.

    Raises:
        OfframpError: fewer than 1 host.
    """
    if hosts < 1:
        raise OfframpError(f"hosts {hosts}: expected at least 1")
    return _tree((hosts,), (1,), links)


def leaf_spine(leaves: int, spines: int, hosts_each: int, links: LinkProperties) -> Topology:
    """``leaves`` switches of ``hosts_each`` hosts, each joined to each of ``spines`` by one link; ECMP.

    Raises:
        OfframpError: a count below 1.
    """
    if min(leaves, spines, hosts_each) < 1:
        raise OfframpError(f"leaf-spine {leaves}x{spines}, {hosts_each} hosts per leaf: expected at least 1 of each")
    return _tree((hosts_each, leaves), (1, spines), links)


def fat_tree(pods: int, leaves: int, hosts_each: int, spines: int, cores: int, links: LinkProperties) -> Topology:
    """``pods`` of ``leaves`` leaves and ``spines`` spines, and ``cores`` switches above each of a pod's spines; ECMP.

    A switch of the core is joined to one spine of every pod. ``fat_tree(k, k // 2, k // 2, k // 2, k // 2, links)`` is
    the fat tree of switches with k ports (Al-Fares et al., SIGCOMM 2008).

    Raises:
        OfframpError: a count below 1.
    """
    if min(pods, leaves, hosts_each, spines, cores) < 1:
        shape = f"{pods} pods of {leaves} leaves, {hosts_each} hosts a leaf, {spines} spines, {cores} cores a spine"
        raise OfframpError(f"fat tree of {shape}: expected at least 1 of each")
    return _tree((hosts_each, leaves, pods), (1, spines, cores), links)


def _tree(below: tuple[int, ...], above: tuple[int, ...], links: LinkProperties) -> Topology:
    """An extended generalised fat tree (Oehring et al. 1995).

    Each node of level ``l`` has ``below[l - 1]`` nodes below and ``above[l]`` above. Those of a level are numbered by
    the subtree that they stand over (``tree``) and then by the way up that leads to them (``way``).
    """
    height = len(below)
    hosts = math.prod(below)
    trees = [math.prod(below[level:]) for level in range(height + 1)]
    ways = [math.prod(above[:level]) for level in range(height + 1)]
    counts = tuple(tree * way for tree, way in zip(trees, ways, strict=True))
    nodes = np.concatenate([[0], np.cumsum(counts)])
    downs, ups = (0, *below), (*above, 0)
    degrees = [downs[level] + ups[level] + (level > 0) for level in range(height + 1)]
    ports = np.concatenate([[0], np.cumsum([count * degree for count, degree in zip(counts, degrees, strict=True)])])
    source, target = np.empty(ports[-1], np.int64), np.empty(ports[-1], np.int64)
    switches = np.zeros((int(nodes[-1]) - hosts, at.SwitchRecord.WORDS), np.int64)
    for level, (count, degree) in enumerate(zip(counts, degrees, strict=True)):
        number = np.arange(count)
        tree, way = np.divmod(number, ways[level])
        ends = slice(ports[level], ports[level + 1])
        target[ends] = np.repeat(nodes[level] + number, degree)
        into = source[ends].reshape(count, degree)
        into[:, -1] = nodes[level] + number
        if level:
            turn, under = np.divmod(way, ways[level - 1])
            child = tree[:, None] * downs[level] + np.arange(downs[level])
            into[:, : downs[level]] = nodes[level - 1] + child * ways[level - 1] + under[:, None]
            rows = switches[nodes[level] - hosts : nodes[level + 1] - hosts]
            field = at.SwitchRecord
            rows[:, field.first_in] = ports[level] + number * degree
            rows[:, field.last_in] = rows[:, field.first_in] + degree - 1
            rows[:, field.loop] = rows[:, field.last_in]
            rows[:, field.span] = math.prod(below[:level])
            rows[:, field.low] = tree * rows[:, field.span]
            rows[:, field.divisor] = math.prod(below[: level - 1])
            rows[:, field.level] = level - 1
            first = (tree * downs[level] * ways[level - 1] + under) * degrees[level - 1]
            rows[:, field.down] = ports[level - 1] + first + downs[level - 1] + turn
            rows[:, field.down_stride] = ways[level - 1] * degrees[level - 1]
        if level < height:
            parent, place = np.divmod(tree, downs[level + 1])
            by = np.arange(ups[level])
            over = (parent * ways[level + 1] + way)[:, None] + by * ways[level]
            into[:, downs[level] : downs[level] + ups[level]] = nodes[level + 1] + over
            if level:
                rows[:, field.ups] = ups[level]
                rows[:, field.up] = ports[level + 1] + over[:, 0] * degrees[level + 1] + place
                rows[:, field.up_stride] = ways[level] * degrees[level + 1]
    return Topology(hosts, trees[1], counts, links, source, target, switches)
