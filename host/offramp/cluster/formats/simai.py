# SPDX-License-Identifier: Apache-2.0
"""SimAI's topologies: GPUs, NVSwitches and switches as numbered nodes, and links between them.

The first line is ``NODES GPUS_PER_SERVER NVSWITCHES SWITCHES LINKS GPU``, the second the numbers of all switches,
NVSwitches first, and then each link is a line ``FROM TO 400Gbps 0.0005ms ERROR_RATE``. GPUs have the lowest numbers,
server by server.

As a cluster, a server is a host with an interface for each link that leaves it; NVSwitches are inside. As dimensions,
there is one inside servers, over NVSwitches and links between GPUs, and one among the GPUs with the same place in
different servers (a rail): at the rate of a GPU's links, less where its first switches have less bandwidth up than down
and not all of a rail is below them, and at the latency of the longest of the shortest paths.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, fields_of, inside
from offramp.cluster.formats.npus import MOST_LINKS
from offramp.cluster.model import FASTEST_BPS, MOST_HOSTS, MOST_PORTS, Cluster, ClusterDimension
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.settings.units import BITS_PER_SECOND, nanoseconds, nanoseconds_shown

_FIRST: Final = re.compile(r"\s*([0-9]{1,9} +){5}[A-Za-z][\w-]*\s*(\n|$)")
_RATE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(bps|Kbps|Mbps|Gbps|Tbps)")
_UNITS: Final = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
_MOST_NODES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Wire:
    """One link: nodes, bits per second and nanoseconds, each way."""

    a: int
    b: int
    rate_bps: int
    delay_ns: float


@dataclass(frozen=True, slots=True)
class TopologyFile:
    """The contents of a topology file.

    Attributes:
        gpus: gpus in all, numbered from 0.
        per_server: GPUs of a server.
        nvswitches, switches: their numbers.
        wires: the links.
        gpu: the type.
    """

    gpus: int
    per_server: int
    nvswitches: frozenset[int]
    switches: tuple[int, ...]
    wires: tuple[_Wire, ...]
    gpu: str

    def server(self, node: int) -> int | None:
        """The server that a GPU is in; None for a switch."""
        return node // self.per_server if node < self.gpus else None

    def is_inside(self, wire: _Wire) -> bool:
        """Whether a link stays in a server: to an NVSwitch, or between two of its GPUs."""
        server = self.server(wire.a)
        return bool({wire.a, wire.b} & self.nvswitches) or (server is not None and server == self.server(wire.b))


def is_topology(text: str) -> bool:
    """Whether the first line is that of a topology."""
    return _FIRST.match(text) is not None


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Servers as hosts, switches and links, and the dimensions.

    Raises:
        OfframpError: names the file and line.
    """
    (path, text), *more = files
    if more:
        raise OfframpError(f"{more[0][0]}: expected one topology")
    try:
        topology = _parse(text)
        dimensions = _dimensions(topology)
        rows = _rows(topology, dimensions[0].rate_bps if topology.per_server > 1 else None)
        if rows is None:
            defaults.note(f"{path}: dimensions alone: a cluster file cannot hold as many hosts and links")
        parts = (rows or {}) | {"dimensions": [fields_of(each) for each in dimensions]}
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    return build(path, Path(path).name, parts, defaults, "links of the servers to switches that join them")


def network(text: str, name: str) -> Cluster:
    """The dimensions alone, however many servers there are.

    Raises:
        OfframpError: names the line.
    """
    return Cluster(name=name, dimensions=tuple(_dimensions(_parse(text))))


def _parse(text: str) -> TopologyFile:
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not is_topology(text) or len(lines) < 2:
        raise OfframpError("line 1: expected NODES GPUS_PER_SERVER NVSWITCHES SWITCHES LINKS GPU, then the switches")
    nodes, per_server, nvswitches, switches, links = (int(word) for word in lines[0][1][:5])
    gpus = nodes - nvswitches - switches
    if not 1 <= nodes <= _MOST_NODES or per_server < 1 or gpus < 1 or gpus % per_server:
        raise OfframpError(f"line 1: {gpus} GPUs in servers of {per_server}: expected whole servers")
    number, words = lines[1]
    numbers = [whole_number(word) for word in words]
    if len(numbers) != nvswitches + switches or sorted(n for n in numbers if n is not None) != list(range(gpus, nodes)):
        raise OfframpError(f"line {number}: expected the {nvswitches + switches} switches, from {gpus} to {nodes - 1}")
    if len(lines) - 2 != links:
        raise OfframpError(f"line 1: {links} links, but {len(lines) - 2} lines of links")
    wires = tuple(_wire(number, words, nodes) for number, words in lines[2:])
    known = [n for n in numbers if n is not None]
    return TopologyFile(
        gpus, per_server, frozenset(known[:nvswitches]), tuple(known[nvswitches:]), wires, lines[0][1][5]
    )


def _wire(number: int, words: list[str], nodes: int) -> _Wire:
    if len(words) != 5:
        raise OfframpError(f"line {number}: expected FROM TO RATE LATENCY ERROR_RATE")
    a, b = map(whole_number, words[:2])
    if a is None or b is None or not (a < nodes and b < nodes) or a == b:
        raise OfframpError(f"line {number}: {words[0]:.20} {words[1]:.20}: expected two nodes, below {nodes}")
    rate = _RATE.fullmatch(words[2])
    bps = float(rate[1][:30]) * _UNITS[rate[2]] if rate else 0.0
    if not 1 <= bps <= FASTEST_BPS:
        raise OfframpError(f"line {number}: {words[2]:.40}: expected a rate such as 400Gbps")
    try:
        delay = nanoseconds(words[3])
    except ValueError as error:
        raise OfframpError(f"line {number}: {words[3]:.40}: {error}") from None
    return _Wire(a, b, round(bps), delay)


def _rows(topology: TopologyFile, inside_bps: int | None) -> dict[str, list[dict[str, Any]]] | None:
    """Rows of servers, switches and links; None where a cluster file cannot hold as many."""
    servers = topology.gpus // topology.per_server
    if servers > MOST_HOSTS or sum(not topology.is_inside(wire) for wire in topology.wires) > MOST_LINKS:
        return None
    hosts = [{"name": f"server{k}", "gpus": topology.per_server, **inside(inside_bps)} for k in range(servers)]
    interfaces: dict[int, int] = defaultdict(int)
    ports: dict[int, int] = defaultdict(int)
    links = []
    for wire in topology.wires:
        if topology.is_inside(wire):
            continue
        ends = []
        for node in (wire.a, wire.b):
            server = topology.server(node)
            if server is None:
                ports[node] += 1
                ends.append(f"switch{node}")
            else:
                ends.append(f"server{server}:eth{interfaces[server]}")
                interfaces[server] += 1
        row: dict[str, Any] = {"ends": ends, "rate": BITS_PER_SECOND.shown(wire.rate_bps)}
        links.append(row | ({"delay": nanoseconds_shown(wire.delay_ns)} if wire.delay_ns else {}))
    for node, count in ports.items():
        if count > MOST_PORTS:
            raise OfframpError(f"switch {node}: {count} links: a cluster's switch has {MOST_PORTS} ports at most")
    switches = [{"name": f"switch{n}", "target": "plain", "ports": max(1, ports[n])} for n in topology.switches]
    return {"hosts": hosts, "switches": switches, "links": links}


def _dimensions(topology: TopologyFile) -> list[ClusterDimension]:
    near: dict[int, list[_Wire]] = defaultdict(list)
    for wire in topology.wires:
        near[wire.a].append(wire)
        near[wire.b].append(wire)
    servers = topology.gpus // topology.per_server
    dimensions = []
    if topology.per_server > 1:
        dimensions.append(_inside(topology, near))
    if servers > 1:
        dimensions.append(_rail(topology, near, servers))
    if not dimensions:
        raise OfframpError("one GPU: expected others that it communicates with")
    return dimensions


def _inside(topology: TopologyFile, near: dict[int, list[_Wire]]) -> ClusterDimension:
    """The first server: the GPU with the slowest links sets the rate, the farthest two GPUs the latency."""
    gpus = range(topology.per_server)
    delays = [_delays(topology, near, gpu, topology.nvswitches) for gpu in gpus]
    for gpu, known in enumerate(delays):
        if any(other not in known for other in gpus):
            raise OfframpError(f"no NVSwitch joins the GPUs of a server: expected a link from GPU {gpu} to one")
    rates = [sum(wire.rate_bps for wire in near[gpu] if topology.is_inside(wire)) for gpu in gpus]
    inside = _dimension(topology.per_server, min(rates), max(known[gpu] for known in delays for gpu in gpus))
    return inside if topology.nvswitches else replace(inside, type="fully-connected")


def _rail(topology: TopologyFile, near: dict[int, list[_Wire]], servers: int) -> ClusterDimension:
    """Delays among the first GPUs of all servers, without paths through NVSwitches or other GPUs."""
    uplinks = [wire for wire in near[0] if not topology.is_inside(wire)]
    leaves = {wire.a + wire.b for wire in uplinks}
    peers = range(topology.per_server, topology.gpus, topology.per_server)
    delays = _delays(topology, near, 0, frozenset(topology.switches))
    missing = next((gpu for gpu in peers if gpu not in delays), None)
    if missing is not None:
        raise OfframpError(f"no way from GPU 0 to GPU {missing}: expected links through switches")
    rate = float(sum(wire.rate_bps for wire in uplinks))
    below = {wire.a + wire.b - leaf for leaf in leaves for wire in near[leaf]}
    if not below.issuperset(peers):  # what leaves the first switches shares their links up
        down = sum(w.rate_bps for leaf in leaves for w in near[leaf] if min(w.a, w.b) < topology.gpus)
        up = sum(w.rate_bps for leaf in leaves for w in near[leaf] if min(w.a, w.b) >= topology.gpus)
        rate *= min(1.0, up / down)
    return _dimension(servers, max(1, round(rate)), max(delays[gpu] for gpu in peers))


def _delays(
    topology: TopologyFile, near: dict[int, list[_Wire]], first: int, through: frozenset[int]
) -> dict[int, float]:
    """Nanoseconds of the shortest way from a GPU to every node, over switches of one kind alone."""
    delays: dict[int, float] = {}
    queue = [(0.0, first)]
    while queue:
        delay, node = heapq.heappop(queue)
        if node in delays or (node >= topology.gpus and node not in through):
            continue
        delays[node] = delay
        if node in through or node == first:
            for wire in near[node]:
                heapq.heappush(queue, (delay + wire.delay_ns, wire.a + wire.b - node))
    return delays


def _dimension(size: int, rate_bps: int, latency_ns: float) -> ClusterDimension:
    return ClusterDimension(type="switch", size=size, rate_bps=min(rate_bps, FASTEST_BPS), latency_ns=latency_ns)
