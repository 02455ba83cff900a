# SPDX-License-Identifier: Apache-2.0
"""Any fabric at the flow level: a worker's GPUs are ranks of the cluster, and their flows take its paths."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp.fabric import Fabric
from offramp.fabric.failures import joined_states
from offramp.hermod.dag import Flows
from offramp.hermod.factors import CType
from offramp.hermod.placement import Placement
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.fabric import Array, BisectionFabric, LinkSpan, PacketFlows


@dataclass(frozen=True)
class RoutedFabric(BisectionFabric):
    """Resources are those of the fabric, the sending sides of NICs first.

    Attributes:
        fabric: hosts, switches and links at the start.
        later: the same from each time on, in seconds, at which links fail or are mended.
        first: ``(workers,)`` rank of each worker's first GPU.
        gpus: GPUs of a worker, neighbouring ranks, each of which sends the same.
        goodput: share of the rate of links that flows have.
    """

    fabric: Fabric = field(kw_only=True)
    later: tuple[tuple[float, Fabric], ...] = field(default=(), kw_only=True)
    first: Array = field(kw_only=True)
    gpus: int = field(kw_only=True)
    goodput: float = field(default=1.0, kw_only=True)

    @classmethod
    def on(cls, fabric: Fabric, first: Array, gpus: int = 1) -> RoutedFabric:
        """The fabric with workers on these ranks.

        Raises:
            OfframpError: more workers than it has ranks, or failures that cut hosts off.
        """
        last = int(first.max(initial=-1)) + gpus
        if last > fabric.ranks:
            raise OfframpError(f"{fabric.cluster.origin}: {fabric.ranks} ranks, the job needs {last}")
        (_, now), *later = joined_states(fabric) if fabric.changes_ns else [(0.0, fabric.at(0.0))]
        slowest = float(fabric.rate_bps[fabric.nics.up].min()) / 8
        ports, servers = fabric.rail[first], fabric.rank_host[first]
        count = len(fabric.nics)
        return cls(
            ports,
            servers,
            count,
            1,
            slowest,
            leaf=count,
            fabric=now,
            later=tuple((time_ns / 1e9, each) for time_ns, each in later),
            first=first,
            gpus=gpus,
        )

    @classmethod
    def placed(cls, fabric: Fabric, placement: Placement, gpus: int) -> RoutedFabric:
        """The fabric with the workers of a placement, server by server on its hosts.

        Raises:
            OfframpError: fewer hosts than servers, or a host with fewer ranks than a server has GPUs.
        """
        servers = int(placement.server.max()) + 1
        room = np.bincount(fabric.rank_host, minlength=fabric.hosts)
        needed = gpus * np.bincount(placement.server)
        if servers > fabric.hosts or (room[:servers] < needed).any():
            short = servers > fabric.hosts or int(np.flatnonzero(room[:servers] < needed)[0])
            what = f"{fabric.hosts} hosts" if short is True else f"{fabric.nodes[short]} has {room[short]} GPUs"
            wanted = f"{servers} servers of {int(needed.max())} GPUs"
            raise OfframpError(f"{fabric.cluster.origin}: {what}: the job needs {wanted}")
        slot = np.zeros(len(placement.server), np.int64)
        for server in range(servers):
            mine = np.flatnonzero(placement.server == server)
            slot[mine] = np.arange(len(mine))
        begin = np.searchsorted(fabric.rank_host, np.arange(servers))
        return cls.on(fabric, begin[placement.server] + gpus * slot, gpus)

    @property
    def resources(self) -> int:
        """Those of the fabric."""
        return self.fabric.resources

    @property
    def changes(self) -> tuple[tuple[float, RoutedFabric], ...]:
        """The fabric from each change on, with the same workers."""
        return tuple((time_s, replace(self, fabric=fabric, later=())) for time_s, fabric in self.later)

    @cached_property
    def _order(self) -> tuple[Array, Array]:
        """Resources with the sending sides of NICs first, and the place of each among them."""
        up = self.fabric.nics.up
        rest = np.setdiff1d(np.arange(self.fabric.resources), up)
        order = np.concatenate([up, rest])
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return order, place

    @cached_property
    def capacity(self) -> npt.NDArray[np.float64]:
        """Bytes per second of each resource."""
        links = np.arange(self.fabric.resources) < len(self.fabric.ends)
        return (self.fabric.capacity * np.where(links, self.goodput, 1.0))[self._order[0]]

    def packet_flows(self, flows: Flows, ctype: CType) -> PacketFlows:
        """A coflow's flows between the NICs of ranks; inside a host nothing travels.

        ECMP gives each pair of NICs and type its path, which is an address of the sink of its own.
        """
        moves = np.flatnonzero(flows.size > 0)
        gpu = np.arange(self.gpus)
        source = (self.first[flows.source[moves], None] + gpu).ravel()
        sink = (self.first[flows.sink[moves], None] + gpu).ravel()
        flow, lane = np.repeat(moves, self.gpus), np.tile(gpu, len(moves))
        away = self.fabric.rank_host[source] != self.fabric.rank_host[sink]
        own = self.fabric.rail[source[source == sink]]
        a, b = self.fabric.paths.nics(source[away], sink[away])
        a, b = np.concatenate([a, own]), np.concatenate([b, own])
        several = self.fabric.cluster.routing == "ecmp"
        way, back = (end * len(CType) + int(ctype) if several else np.zeros_like(end) for end in (a, b))
        flow, lane = (np.concatenate([each[away], each[source == sink]]) for each in (flow, lane))
        return PacketFlows(flow, lane, a, b, way, back)

    def span(self, _delay_ns: float) -> LinkSpan:
        """Rates of the links that work, and the longest path between NICs."""
        fabric = self.fabric
        a, b = (each.ravel() for each in np.indices((len(fabric.nics),) * 2))
        far = fabric.nics.host[a] != fabric.nics.host[b]
        a, b = a[far], b[far]
        joined = fabric.paths.between(a, b) < len(fabric.ends)
        hops, delay_ns = np.zeros(int(joined.sum())), np.zeros(int(joined.sum()))
        for path, link, _ in self.walk(a[joined], b[joined], 0):
            hops += np.bincount(path, minlength=len(hops))
            delay_ns += np.bincount(path, fabric.delay_ns[link], len(hops))
        rates = fabric.rate_bps[fabric.works]
        return LinkSpan(
            float(rates.min()), float(rates.max()), int(hops.max(initial=1)), float(delay_ns.max(initial=0.0))
        )

    def walk(self, a: Array, b: Array, key: int) -> list[tuple[Array, Array, npt.NDArray[np.float64]]]:
        """Links of the paths between NICs, as :meth:`offramp.fabric.Paths.walk` has them."""
        fabric = self.fabric
        ecmp = fabric.cluster.routing == "ecmp"
        choice = fabric.paths.hashes(a, b, key) if ecmp else fabric.paths.places[b]
        return fabric.paths.walk(a, b, choice)

    def packet_latency_s(self, flows: Flows, ctype: CType, packet_bits: float, _delay_ns: float) -> float:
        """Seconds of a packet on the longest way of the flows, without its time on the last link."""
        fabric, pairs = self.fabric, self.packet_flows(flows, ctype)
        other = pairs.source != pairs.sink
        a, b = pairs.source[other], pairs.sink[other]
        seconds = np.zeros(len(a))
        for path, link, _ in self.walk(a, b, int(ctype)):
            last = link == fabric.nics.down[b[path]]
            sending = np.where(last, 0.0, packet_bits / fabric.rate_bps[link])
            seconds += np.bincount(path, fabric.delay_ns[link] / 1e9 + sending, len(a))
        return float(seconds.max(initial=0.0))

    def with_goodput(self, share: float) -> RoutedFabric:
        """The network whose links carry only this share of their rate."""
        return replace(self, goodput=self.goodput * share)

    def route(self, flows: Flows, ctype: CType) -> tuple[Array, Array, npt.NDArray[np.float64]]:
        """Load as rows ``(flow, resource, bytes)``; a worker's flow to itself stands for its NIC's load."""
        moves = np.flatnonzero(flows.size > 0)
        gpu = np.arange(self.gpus)
        source = (self.first[flows.source[moves], None] + gpu).ravel()
        sink = (self.first[flows.sink[moves], None] + gpu).ravel()
        flow, size = np.repeat(moves, self.gpus), np.repeat(flows.size[moves], self.gpus)
        row, resource, share = self.fabric.paths.rows(source, sink, int(ctype))
        own = np.flatnonzero(source == sink)
        nics, rails = self.fabric.nics, self.fabric.rail[source[own]]
        rows = [
            (flow[row], resource, share * size[row]),
            (flow[own], nics.up[rails], size[own]),
            (flow[own], nics.down[rails], size[own]),
        ]
        of, place, amount = (np.concatenate(part) for part in zip(*rows, strict=True))
        capacity = self.fabric.capacity[place]
        counts = capacity < 1e29  # what takes no time loads nothing
        return of[counts], self._order[1][place[counts]], amount[counts].astype(np.float64)
