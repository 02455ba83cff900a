# SPDX-License-Identifier: Apache-2.0
"""The time of an MSCCL program on a network of several dimensions.

A chunk goes along the dimension on which its ends differ, the outermost if there are several: over links between
neighbours, a link between two peers, or the ports of both on a switch, whose buffers have no limit. Each carries one
chunk at a time, in the order of requests. A chunk arrives a latency after its last link has carried it. Adding and
copying take no time, and neither do thread blocks that wait for each other.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from offramp.themis.kinds import DimensionTopology
from offramp.themis.msccl.program import MscclProgram
from offramp.themis.network import Network, coordinates
from offramp_base.errors import OfframpError
from offramp_sim.themis.msccl.engine import Engine


@dataclass(frozen=True, slots=True)
class MscclTiming:
    """Picoseconds of a program, and the bytes that an average GPU sends on each dimension."""

    finish_ps: int
    sent: tuple[float, ...]


def time_on(program: MscclProgram, network: Network, size: int) -> MscclTiming:
    """Time a program with ``size`` bytes: for an all-gather the gathered output, otherwise what each GPU holds before.

    Raises:
        OfframpError: the program is for another number of GPUs, or deadlocks.
    """
    if len(program.gpus) != network.npus:
        raise OfframpError(f"{len(program.gpus)} GPUs: {network.name} has {network.npus}")
    links = _Links(network, size / program.chunks)
    engine = Engine(program, timing=links)
    stuck = engine.run()
    if stuck:
        raise OfframpError(f"deadlock: {stuck[0]} waits for {stuck[0].waits}")
    sent = tuple(links.sent.get(k, 0) * size / program.chunks / network.npus for k in range(len(network.dimensions)))
    return MscclTiming(engine.finish_ps, sent)


class _Route(NamedTuple):
    """Links that a chunk occupies, for how many picoseconds, its latency, and its dimension."""

    links: tuple[tuple[int, ...], ...]
    busy_ps: int
    latency_ps: int
    dim: int


class _Links:
    """The network's links, each with the time at which it is free."""

    def __init__(self, network: Network, chunk_bytes: float) -> None:
        self.network, self.chunk_bytes = network, chunk_bytes
        self.sent: dict[int, int] = defaultdict(int)
        self._sizes = [d.size for d in network.dimensions]
        self._free: dict[tuple[int, ...], int] = defaultdict(int)
        self._routes: dict[tuple[int, int], _Route] = {}

    def free(self, source: int, sink: int) -> int:
        """Picosecond from which the first link between two GPUs is free."""
        return self._free[self._way(source, sink).links[0]]

    def carry(self, source: int, sink: int, now: int) -> tuple[int, int]:
        """Picoseconds at which a chunk that is sent ``now``, when the first link is free, has left and has arrived."""
        route = self._way(source, sink)
        start = now
        for link in route.links:  # cut through: a chunk starts on the next link while it still leaves the one before
            start = max(start, self._free[link])
            self._free[link] = start + route.busy_ps
        self.sent[route.dim] += 1
        return now + route.busy_ps, start + route.busy_ps + route.latency_ps

    def _way(self, source: int, sink: int) -> _Route:
        if (source, sink) not in self._routes:
            self._routes[source, sink] = self._route(source, sink)
        return self._routes[source, sink]

    def _route(self, source: int, sink: int) -> _Route:
        a, b = coordinates(source, self._sizes), coordinates(sink, self._sizes)
        dim = max(k for k in range(len(self._sizes)) if a[k] != b[k])
        d = self.network.dimensions[dim]
        if d.kind is DimensionTopology.RING and d.size > 2:
            ahead = (b[dim] - a[dim]) % d.size
            way = 1 if d.one_way or ahead <= d.size - ahead else -1
            hops = ahead if way == 1 else d.size - ahead
            passed = ((*a[:dim], (a[dim] + way * k) % d.size, *a[dim + 1 :]) for k in range(hops))
            links, rate = tuple((dim, way, *node) for node in passed), d.bandwidth_bps / 2
        elif d.kind is DimensionTopology.FULLY_CONNECTED:
            hops, links, rate = 1, ((dim, source, sink),), d.bandwidth_bps / (d.size - 1)
        else:
            hops, links, rate = 1, ((dim, source, -1), (dim, -1, sink)), d.bandwidth_bps
        busy = round(self.chunk_bytes * 8e12 / rate)
        return _Route(links, busy, round(hops * d.latency_ns * 1000), dim)
