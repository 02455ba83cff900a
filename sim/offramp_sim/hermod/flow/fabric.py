# SPDX-License-Identifier: Apache-2.0
"""A fat tree of NICs: which resources a flow takes (thesis, section 5.5.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.dag import Flows
from offramp.hermod.factors import CType
from offramp.hermod.placement import Placement
from offramp_base.errors import OfframpError

ROUTINGS: Final = ("spray", "ecmp")
Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PacketFlows:
    """Flows between NICs that a coflow's flows are.

    Attributes:
        flow: ``(p,)`` flow of the coflow.
        lane: ``(p,)`` which of the GPUs of its worker.
        source, sink: ``(p,)`` NICs.
        way, back: ``(p,)`` number of the path to the sink among the sink's addresses, and of that back.
    """

    flow: Array
    lane: Array
    source: Array
    sink: Array
    way: Array
    back: Array


@dataclass(frozen=True, slots=True)
class LinkSpan:
    """The links of a network, as far as packets depend on all of them.

    Attributes:
        slowest_bps, fastest_bps: rates.
        hops: links on the longest path.
        delay_ns: propagation on the longest path.
    """

    slowest_bps: float
    fastest_bps: float
    hops: int
    delay_ns: float


@dataclass(frozen=True)
class BisectionFabric:
    """NICs under leaves with as many uplinks as NICs, all of one rate: full bisection.

    Packet spraying spreads each flow over all spines evenly, so that no link between switches is narrower than the
    NICs below it; ECMP keeps a pair's flow of one type on one path, where several may meet.

    Attributes:
        ports, servers: NIC of each worker, and the server it is in; nothing between workers of a server travels.
        share: GPUs of a worker behind its NIC.
        bytes_per_s: rate of every link.
        routing: ``spray`` or ``ecmp``.
        leaf: NICs under a leaf, and spines.
        seed: random seed for the paths.

    Raises:
        OfframpError: an unknown routing, a rate or leaf that is not positive.
    """

    ports: Array
    servers: Array
    count: int
    share: int
    bytes_per_s: float
    routing: str = "spray"
    leaf: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        if self.routing not in ROUTINGS:
            raise OfframpError(f"routing {self.routing}: expected {' or '.join(ROUTINGS)}")
        if self.leaf < 1 or not self.bytes_per_s > 0:
            raise OfframpError("fabric: expected a positive rate and at least one NIC per leaf")

    @classmethod
    def of(
        cls, placement: Placement, nic_gbps: float, routing: str = "spray", leaf: int = 16, seed: int = 0
    ) -> BisectionFabric:
        """The network for a placement."""
        ports, servers = placement.port, placement.server
        return cls(ports, servers, placement.ports, placement.share, nic_gbps * 1e9 / 8, routing, leaf, seed)

    @property
    def changes(self) -> tuple[tuple[float, BisectionFabric], ...]:
        """The network from each time on, in seconds, at which links fail or are mended."""
        return ()

    @property
    def leaves(self) -> int:
        """Leaf switches."""
        return -(-self.count // self.leaf)

    @property
    def resources(self) -> int:
        """Sending and receiving sides of NICs; with ECMP the links up from and down to each leaf, spine by spine."""
        links = 2 * self.leaves * self.leaf if self.routing == "ecmp" else 0
        return 2 * self.count + links

    @cached_property
    def capacity(self) -> npt.NDArray[np.float64]:
        """Bytes per second of each resource."""
        return np.full(self.resources, self.bytes_per_s)

    def spine(self, source: Array, sink: Array, ctype: CType) -> Array:
        """The spine that ECMP gives each pair of NICs."""
        word = (source.astype(np.uint64) << np.uint64(34)) ^ (sink.astype(np.uint64) << np.uint64(4))
        word ^= np.uint64(int(ctype) + (self.seed << 2) * 0x9E3779B9 % 2**31)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
        return (word % np.uint64(self.leaf)).astype(np.int64)

    def route(self, flows: Flows, ctype: CType) -> tuple[Array, Array, npt.NDArray[np.float64]]:
        """Load as rows ``(flow, resource, bytes)``."""
        travels = self.travels(flows)
        flow = np.flatnonzero(travels)
        source, sink = self.ports[flows.source[flow]], self.ports[flows.sink[flow]]
        size = flows.size[flow] * self.share
        places = [source, self.count + sink]
        rows = [(flow, place, size) for place in places]
        if self.routing == "ecmp":
            up, down = source // self.leaf, sink // self.leaf
            far = up != down
            spine = self.spine(source[far], sink[far], ctype)
            base = 2 * self.count
            rows.append((flow[far], base + up[far] * self.leaf + spine, size[far]))
            rows.append((flow[far], base + (self.leaves + down[far]) * self.leaf + spine, size[far]))
        return tuple(np.concatenate(part) for part in zip(*rows, strict=True))  # type: ignore[return-value]

    def packet_flows(self, flows: Flows, ctype: CType) -> PacketFlows:
        """A coflow's flows between NICs; ECMP's spine is the path of both directions."""
        flow = np.flatnonzero(self.travels(flows))
        source, sink = self.ports[flows.source[flow]], self.ports[flows.sink[flow]]
        path = self.spine(source, sink, ctype) if self.leaves > 1 else np.zeros_like(flow)
        return PacketFlows(flow, np.zeros_like(flow), source, sink, path, path)

    def span(self, delay_ns: float) -> LinkSpan:
        """Links of one rate and this delay."""
        hops = 2 if self.leaves == 1 else 4
        return LinkSpan(self.bytes_per_s * 8, self.bytes_per_s * 8, hops, hops * delay_ns)

    def packet_latency_s(self, _flows: Flows, _ctype: CType, packet_bits: float, delay_ns: float) -> float:
        """Seconds of a packet's way without its time on the last link: switches store and forward."""
        span = self.span(delay_ns)
        return span.delay_ns / 1e9 + (span.hops - 1) * packet_bits / span.slowest_bps

    def with_goodput(self, share: float) -> BisectionFabric:
        """The network whose links carry only this share of their rate."""
        return replace(self, bytes_per_s=self.bytes_per_s * share)

    def travels(self, flows: Flows) -> npt.NDArray[np.bool_]:
        """Mask of flows that leave their server; a worker's flow to itself stands for its NIC's load."""
        away = self.servers[flows.source] != self.servers[flows.sink]
        travels: npt.NDArray[np.bool_] = (away | (flows.source == flows.sink)) & (flows.size > 0)
        return travels
