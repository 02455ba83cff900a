# SPDX-License-Identifier: Apache-2.0
"""A cluster's network as arrays: ranks, NICs, and both directions of each cable."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.cluster.model import Cable, Cluster
from offramp.cluster.read import read_cluster
from offramp.fabric.paths import Paths
from offramp_base.errors import OfframpError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
UNLIMITED: Final = 1e30
"""Bytes per second of what takes no time."""


@dataclass(frozen=True, eq=False)
class Nics:
    """The ends of cables at hosts, host by host in the file's order.

    Attributes:
        host: ``(n,)`` host of each.
        up, down: ``(n,)`` links from and to it.
        far: ``(n,)`` node at the other end of its cable.
    """

    host: Ints
    up: Ints
    down: Ints
    far: Ints

    def __len__(self) -> int:
        return len(self.host)


@dataclass(frozen=True, eq=False)
class Fabric:
    """Hosts are the first nodes, switches follow. Cable ``k`` is link ``2k`` from its end ``a``, and ``2k + 1`` back.

    A resource is a link, or the way of a rank to and from the others of its host: first all links, then the sending
    side of each rank, then the receiving side.

    Attributes:
        cluster: the description that all of it comes from.
        without: cables that carry nothing.
    """

    cluster: Cluster
    without: frozenset[int] = frozenset()

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Names of hosts, then of switches."""
        return tuple(self.cluster.by_name)

    @property
    def hosts(self) -> int:
        """How many nodes are hosts."""
        return len(self.cluster.hosts)

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each node."""
        return {name: i for i, name in enumerate(self.nodes)}

    @cached_property
    def ends(self) -> Ints:
        """``(links, 2)`` nodes from which and to which each link leads."""
        pairs = [(self.number[c.a.node], self.number[c.b.node]) for c in self.cluster.links]
        table = np.array(pairs, np.int64).reshape(-1, 2)
        return np.stack([table, table[:, ::-1]], axis=1).reshape(-1, 2)

    @cached_property
    def rate_bps(self) -> Floats:
        """``(links,)`` bits per second."""
        return np.repeat(np.array([c.rate_bps for c in self.cluster.links], np.float64), 2)

    @cached_property
    def delay_ns(self) -> Floats:
        """``(links,)`` propagation."""
        return np.repeat(np.array([c.delay_ns for c in self.cluster.links], np.float64), 2)

    @cached_property
    def works(self) -> npt.NDArray[np.bool_]:
        """``(links,)`` whether the link carries anything."""
        works = np.ones(len(self.ends), np.bool_)
        for cable in self.without:
            works[2 * cable : 2 * cable + 2] = False
        return works

    @cached_property
    def rank_host(self) -> Ints:
        """``(ranks,)`` host of each rank."""
        return np.repeat(np.arange(self.hosts), [host.processes for host in self.cluster.hosts])

    @property
    def ranks(self) -> int:
        """How many ranks all hosts have."""
        return len(self.rank_host)

    @cached_property
    def nics(self) -> Nics:
        """Every host's NICs that work."""
        rows: list[list[tuple[int, int, int, int]]] = [[] for _ in range(self.hosts)]
        for link, (near, far) in enumerate(self.ends.tolist()):
            if near < self.hosts and self.works[link]:
                rows[near].append((near, link, link ^ 1, far))
        table = np.array([row for mine in rows for row in mine], np.int64).reshape(-1, 4)
        return Nics(*np.ascontiguousarray(table.T))

    @cached_property
    def nics_of_host(self) -> Ints:
        """``(hosts + 1,)`` position of each host's first NIC."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.nics.host, minlength=self.hosts))]).astype(np.int64)

    @cached_property
    def host_bps(self) -> Floats:
        """``(hosts,)`` bits per second of all links of each host, each way."""
        return np.bincount(self.nics.host, self.rate_bps[self.nics.up], self.hosts).astype(np.float64)

    @cached_property
    def slot(self) -> Ints:
        """``(ranks,)`` place of each rank in its host."""
        first = np.searchsorted(self.rank_host, np.arange(self.hosts))
        return np.arange(self.ranks) - first[self.rank_host]

    @cached_property
    def rail(self) -> Ints:
        """``(ranks,)`` NIC by which each rank prefers to send: those of a host are shared out in order; -1: none."""
        processes = np.bincount(self.rank_host, minlength=self.hosts)
        count = np.diff(self.nics_of_host)
        host = self.rank_host
        mine = self.nics_of_host[host] + self.slot * count[host] // np.maximum(processes[host], 1)
        return np.where(count[host] > 0, mine, -1)

    @cached_property
    def paths(self) -> Paths:
        """The shortest paths between NICs."""
        return Paths(self)

    @property
    def resources(self) -> int:
        """Links, and both sides of each rank."""
        return len(self.ends) + 2 * self.ranks

    @cached_property
    def capacity(self) -> Floats:
        """``(resources,)`` bytes per second; what takes no time has :data:`UNLIMITED`."""
        inside = [host.inside_bps for host in self.cluster.hosts]
        rates = np.array([UNLIMITED if rate is None else rate / 8 for rate in inside], np.float64)[self.rank_host]
        return np.concatenate([np.where(self.works, self.rate_bps / 8, 0.0), rates, rates])

    def place(self, node: int) -> str:
        """``FILE:LINE`` of a node, for messages."""
        return self.cluster.place(self.nodes[node])

    def cable(self, link: int) -> Cable:
        """The cable whose one direction a link is."""
        return self.cluster.links[link // 2]

    def cables(self, near: str, far: str) -> list[Cable]:
        """The cables between two nodes that carry anything, in the file's order."""
        joined = (self.ends[:, 0] == self.number[near]) & (self.ends[:, 1] == self.number[far]) & self.works
        return [self.cable(link) for link in np.flatnonzero(joined).tolist()]

    def shown(self, resource: int) -> str:
        """A resource by the names of its ends."""
        links = len(self.ends)
        if resource >= links:
            way, rank = divmod(resource - links, self.ranks)
            host = self.nodes[self.rank_host[rank]]
            return f"{host} {'to' if way else 'from'} GPU {self.slot[rank]}"
        near, far = self.ends[resource]
        return f"{self.nodes[near]} > {self.nodes[far]}"

    def failing(self, cables: Collection[int]) -> Fabric:
        """The network when these cables, too, carry nothing."""
        return Fabric(self.cluster, self.without | frozenset(cables))

    def load(self, source: npt.ArrayLike, sink: npt.ArrayLike, size: npt.ArrayLike, key: int = 0) -> Floats:
        """``(resources,)`` bytes that flows between ranks put on each resource.

        Args:
            source: ``(f,)`` ranks that send; a flow to its own rank takes nothing.
            sink: ``(f,)`` ranks that receive.
            size: ``(f,)`` bytes.
            key: part of what ECMP's hash depends on: flows of the same ranks and another key may take other paths.

        Raises:
            OfframpError: two hosts that nothing joins.
        """
        flow, resource, share = self.paths.rows(np.asarray(source, np.int64), np.asarray(sink, np.int64), key)
        sizes = np.asarray(size, np.float64)
        return np.bincount(resource, share * sizes[flow], self.resources).astype(np.float64)

    def seconds(self, load: Floats) -> float:
        """Seconds that the busiest resource needs for a load: no schedule takes less."""
        return float((load / np.where(self.capacity > 0, self.capacity, np.inf)).max(initial=0.0))

    def failed_at(self, time_ns: float) -> frozenset[int]:
        """The cables that the cluster's file says to have failed at a time."""
        pairs = {frozenset(each.nodes) for each in self.cluster.failures if each.start_ns <= time_ns < each.end_ns}
        links = self.cluster.links
        return frozenset(k for k, c in enumerate(links) if frozenset((c.a.node, c.b.node)) in pairs)

    @cached_property
    def changes_ns(self) -> tuple[float, ...]:
        """Times after the start at which links of the file fail or are mended."""
        times = {time for each in self.cluster.failures for time in (each.start_ns, each.end_ns)}
        return tuple(sorted(time for time in times if 0 < time < math.inf))

    def at(self, time_ns: float) -> Fabric:
        """The network as it is at a time, without the cables that the file says to have failed."""
        failed = self.failed_at(time_ns)
        return self.failing(failed) if failed else self


def fabric_of(cluster: Cluster) -> Fabric:
    """The network that a cluster's hosts, switches and links are, with all links.

    Raises:
        OfframpError: several hosts and no link.
    """
    if not cluster.hosts:
        raise OfframpError(f"{cluster.origin or cluster.name}: dimensions alone: expected hosts, switches and links")
    if len(cluster.hosts) > 1 and not cluster.links:
        raise OfframpError(
            f"{cluster.origin or cluster.name}: {len(cluster.hosts)} hosts: expected links that join them"
        )
    return Fabric(cluster)


def read_fabric(path: str | Path) -> Fabric:
    """The network of a cluster file.

    Raises:
        OfframpError: what :func:`offramp.cluster.read_cluster` and :func:`fabric_of` say.
    """
    return fabric_of(read_cluster(path))
