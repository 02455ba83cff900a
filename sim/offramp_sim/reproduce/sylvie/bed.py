# SPDX-License-Identifier: Apache-2.0
"""Sylvie's servers of eight GPUs at the size of its data sets: an epoch of each system, from rates and a roofline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offramp.graph.boundary import Boundary
from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp_sim.reproduce.gpu import A100, RTX3090, Gpu

GPUS: Final = 8
"""GPUs per server."""
_VERTICES: Final = 8000


class SylvieDataSet(NamedTuple):
    """Table 3.4, and table 3.5's GraphSAGE for it (layers, hidden width)."""

    vertices: float
    edges: float
    features: int
    classes: int
    layers: int
    hidden: int


DATA: Final = {
    "reddit": SylvieDataSet(232_965, 57_307_946, 602, 41, 4, 256),
    "yelp": SylvieDataSet(716_847, 6_977_410, 300, 100, 4, 512),
    "products": SylvieDataSet(2_449_029, 61_859_140, 100, 47, 3, 128),
    "amazon": SylvieDataSet(1_598_960, 132_169_734, 200, 107, 4, 128),
    "papers": SylvieDataSet(111_059_956, 1_615_685_872, 128, 172, 3, 128),
}


@dataclass(frozen=True)
class ServerType:
    """A type of server.

    Attributes:
        gpu: each of the eight GPUs.
        inside_bps: bytes per second that a GPU sends to others in its server, and receives.
        between_bps: bytes per second of the server's network card, which its GPUs share.
        latency_s: latency of an exchange.
    """

    gpu: Gpu
    inside_bps: float
    between_bps: float
    latency_s: float = 100e-6


ETHERNET: Final = ServerType(RTX3090, 8e9, 1e9 / 8)
"""RTX 3090, PCIe 4.0 x16 through the host at half its rate, 1 Gb/s Ethernet."""
INFINIBAND: Final = ServerType(A100, 240e9, 200e9 / 8)
"""A100 with NVLink at 80 % of its 300 GB/s, 200 Gb/s InfiniBand."""


@dataclass(frozen=True)
class ComparedSystem:
    """A system's treatment of messages.

    Attributes:
        share: share of rows that travel (BNS-GCN).
        bits: bits of a value.
        bounds: extra bytes of each row, for its quantiser.
        stale: whether messages are an epoch old and overlap with computation (PipeGCN).
    """

    share: float = 1.0
    bits: float = 32.0
    bounds: int = 0
    stale: bool = False


SYSTEMS: Final = {
    "DGL": ComparedSystem(),
    "PipeGCN": ComparedSystem(stale=True),
    "BNS-GCN": ComparedSystem(share=0.1),
    "Sylvie in step": ComparedSystem(bits=3.75, bounds=4),
    "Sylvie, stale": ComparedSystem(bits=3.75, bounds=4, stale=True),
}
"""The systems; Sylvie has base 1, whose percentiles give 3.75 bits; its controller changes mode and base."""


class Spent(NamedTuple):
    """Seconds of an epoch: communication alone, computation alone, and both together."""

    communication: float
    computation: float
    gradients: float
    total: float


@dataclass(frozen=True)
class SylvieTestbed:
    """A data set on a number of servers.

    Attributes:
        data: the real graph's numbers.
        servers: number of servers.
        server: their type.
        inside, between: largest number of rows that a GPU sends within its server, and that a server sends to others,
            over the real graph's vertices, by a generated graph.
        copies: rows that travel in an exchange over vertices, likewise.
    """

    data: SylvieDataSet
    servers: int
    server: ServerType
    inside: float
    between: float
    copies: float

    def epoch(self, system: ComparedSystem) -> Spent:
        """An epoch of GraphSAGE under ``system``."""
        data, server, gpus = self.data, self.server, GPUS * self.servers
        widths = [data.features, *[data.hidden] * (data.layers - 1), data.classes]
        computing = server.gpu.epoch_s(data.vertices, data.edges, widths) / gpus
        exchanges = 2 * (data.layers - 1)
        row = system.share * (data.hidden * system.bits / 8 + system.bounds)
        each = max(self.inside * row / server.inside_bps, self.between * row / server.between_bps)
        sending = exchanges * (data.vertices * each + server.latency_s)
        if system.bits < 32:  # codes are written and read once at each end
            touched = 2 * (self.copies * data.vertices / gpus) * data.hidden * (4 + system.bits / 8)
            computing += exchanges * touched / (server.gpu.bytes_per_s * server.gpu.efficiency)
        weights = 2 * sum(wide * narrow for wide, narrow in pairwise(widths))
        rate = server.between_bps if self.servers > 1 else server.inside_bps
        reducing = 2 * 4 * weights / rate + server.latency_s
        alone = (sending, computing, reducing)
        return Spent(*alone, reducing + (max(sending, computing) if system.stale else sending + computing))


@dataclass(frozen=True)
class SylvieParameters:
    """Parameters that the thesis leaves open.

    Attributes:
        homophily: homophily of generated graphs, whose communities METIS finds.
        bits: mean bits of a value in Sylvie: 3.75 by percentiles, 1.45 by the bytes of table 3.11, at most 8.
        sample: BNS-GCN's share.
        efficiency: efficiency of the GPU's peaks.
    """

    homophily: float = 0.8
    bits: float = 3.75
    sample: float = 0.1
    efficiency: float = 0.5

    def of(self, name: str) -> ComparedSystem:
        """A system under these conditions."""
        system = SYSTEMS[name]
        if system.bits < 32:
            return replace(system, bits=self.bits)
        return replace(system, share=self.sample) if system.share < 1 else system

    def bed(self, name: str, servers: int, server: ServerType, scale: float, seed: int) -> SylvieTestbed:
        """The data set ``name`` on this many servers."""
        inside, between, copies = _cut(name, servers, max(512, round(_VERTICES * scale)), seed, self.homophily)
        gpu = replace(server.gpu, efficiency=self.efficiency)
        return SylvieTestbed(DATA[name], servers, replace(server, gpu=gpu), inside, between, copies)


OPTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "homophily": (0.8, 0.5, 0.95),
    "bits": (3.75, 1.45, 8.0),
    "sample": (0.1, 0.01, 0.5),
    "efficiency": (0.5, 0.1),
}
"""Values of :class:`SylvieParameters` for a referee."""

NOTE: Final = (
    "Simulated: rows by METIS's cut of a generated graph with the data set's mean degree (at most an eighth of its "
    "vertices), scaled to the real number of vertices; computation by a roofline of the GPU; messages at the rates of "
    "the data sheets, PCIe at half its rate and NVLink at 80 %. No GPU ran, and no published time is an input. "
    "Sylvie has 3.75 bits a value and pays for its codes; PipeGCN, and Sylvie where it is stale, hide the smaller of "
    "computation and messages behind the larger. SAR is not implemented."
)


@lru_cache(maxsize=64)
def _cut(name: str, servers: int, n: int, seed: int, homophily: float) -> tuple[float, float, float]:
    """Rows of the busiest GPU inside its server, of the busiest server to others, and of all, over vertices."""
    data = DATA[name]
    degree = min(2 * data.edges / data.vertices, n / 8)
    graph = generate(f"sbm:n={n},k=40,degree={degree:g},gamma=2.5,homophily={homophily:g},features=1", "1/0/0", seed)
    gpus = GPUS * servers
    boundary = Boundary(graph, partition(graph, gpus, "metis", seed, racks=servers), gpus)
    rows = np.zeros((gpus, gpus))
    np.add.at(rows, (boundary.owner[boundary.copies[:, 0]], boundary.copies[:, 1]), 1)
    same = np.equal.outer(np.arange(gpus) // GPUS, np.arange(gpus) // GPUS)
    inside = _busiest(np.where(same, rows, 0))
    across = np.where(same, 0, rows).reshape(servers, GPUS, servers, GPUS).sum((1, 3))
    return inside / n, _busiest(across) / n, boundary.R / n


def _busiest(rows: npt.NDArray[np.float64]) -> float:
    """Rows that the busiest end sends or receives."""
    return float(max(rows.sum(0).max(), rows.sum(1).max()))
