# SPDX-License-Identifier: Apache-2.0
"""The thesis's testbed for G3 at the size of generated graphs (section 4.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp_sim.g3.minibatch import Work, replicated, sampled
from offramp_sim.g3.pipeline import Costs, Pipelined, simulate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.graph.data import Graph

WORKERS: Final = 16
HIDDEN: Final = 16
BINS: Final = 24
"""Of each worker: initial bins of 1,000 and 5,000 vertices give more."""

FAN_OUT: Final = {2: (25, 10), 3: (25, 15, 10), 4: (25, 20, 15, 10)}
BATCH: Final = 1000
SAMPLE_S: Final = 30e-9
"""To draw an edge on a host's cores, an assumption."""

NOTE: Final = (
    "Simulated: generated graphs of the data sets' mean degrees, with communities and a power law, but far smaller; "
    "fixed costs, bins and batches shrink with them. Devices at 12 GB/s, cards at 10 Gb/s; 20 ns a "
    "vertex and 5 ns an edge are assumptions, three times the edges' for GAT. An epoch is twice a forward pass of one "
    "and a half times the computation."
)


@dataclass(frozen=True)
class DataSet:
    """Table 4.2: vertices, mean degree, features, classes."""

    vertices: float
    degree: float
    features: int
    classes: int


DATA: Final = {
    "products": DataSet(2.45e6, 50.5, 100, 47),
    "amazon": DataSet(1.60e6, 82.7, 200, 107),
    "papers": DataSet(111.1e6, 29.1, 128, 172),
    "twitter": DataSet(41.65e6, 57.7, 128, 100),
}
SMALL: Final = ("products", "amazon")


@dataclass(frozen=True)
class Bed:
    """A data set at a size that fits here.

    Attributes:
        name: of the data set.
        graph: that stands for it.
        seed: of partitions and samples.
    """

    name: str
    graph: Graph
    seed: int

    @property
    def data(self) -> DataSet:
        """The real graph's data."""
        return DATA[self.name]

    @property
    def ratio(self) -> float:
        """Vertices over those of the real graph."""
        return self.graph.vertices / self.data.vertices

    def widths(self, layers: int = 2, features: int | None = None) -> list[int]:
        """Widths of a model's layers."""
        return [features or self.data.features, *[HIDDEN] * (layers - 1), self.data.classes]

    def costs(self, model: str = "sage") -> Costs:
        """Costs of bins, at this size."""
        base = Costs()
        heavy = 3.0 if model == "gat" else 1.0
        return replace(
            base,
            latency_s=base.latency_s * self.ratio,
            start_s=base.start_s * self.ratio,
            target_s=1.5 * base.target_s,
            edge_s=1.5 * heavy * base.edge_s,
        )

    def owner(self, workers: int, method: str) -> npt.NDArray[np.int32]:
        """The worker of each vertex."""
        return _owner(self.name, self.graph.vertices, self.seed, workers, method)

    def epoch(
        self,
        workers: int = WORKERS,
        method: str = "g3",
        mode: str = "g3",
        *,
        model: str = "sage",
        widths: list[int] | None = None,
        bins: int = BINS,
    ) -> Pipelined:
        """A pass in one direction; an epoch has two."""
        targets = -(-self.graph.vertices // (workers * bins))
        owner = self.owner(workers, method)
        return simulate(self.graph, owner, widths or self.widths(), mode, self.costs(model), targets=targets)

    def g3_s(self, workers: int = WORKERS, **how: Any) -> float:
        """Time of an epoch of G3."""
        return 2 * self.epoch(workers, **how).seconds

    def dgl_s(self, workers: int = WORKERS, layers: int = 2, model: str = "sage", features: int | None = None) -> float:
        """Time of an epoch of sampled mini-batches on METIS's partition."""
        works = _batches(self.name, self.graph.vertices, self.seed, workers, layers)
        return max(self._seconds(work, model, features) + work.edges * SAMPLE_S for work in works)

    def replicated_s(self, workers: int, layers: int = 2) -> float:
        """Time of an epoch with full neighbourhoods at every worker, none exchanged between layers."""
        owner = self.owner(workers, "metis")
        return max(self._seconds(replicated(self.graph, owner, w, layers), "sage", None) for w in range(workers))

    def _seconds(self, work: Work, model: str, features: int | None) -> float:
        costs, row = self.costs(model), 4 * (features or self.data.features)
        moved = work.remote * row / costs.send_bps + work.rows * row / costs.load_bps
        return moved + 2 * (work.targets * costs.target_s + work.edges * costs.edge_s)


@lru_cache(maxsize=8)
def bed(name: str, scale: float, seed: int) -> Bed:
    """The data set ``name``, 6,000 vertices at scale 1."""
    data = DATA[name]
    n = max(400, round(6000 * scale))
    spec = f"sbm:n={n},k=40,degree={min(data.degree, n / 8)},gamma=2.5,homophily=0.8,features=1"
    return Bed(name, generate(spec, "1/0/0", seed), seed)


@lru_cache(maxsize=64)
def _owner(name: str, vertices: int, seed: int, workers: int, method: str) -> npt.NDArray[np.int32]:
    return partition(bed(name, vertices / 6000, seed).graph, workers, method, seed)


@lru_cache(maxsize=64)
def _batches(name: str, vertices: int, seed: int, workers: int, layers: int) -> list[Work]:
    made = bed(name, vertices / 6000, seed)
    batch, owner = max(1, round(BATCH * made.ratio)), made.owner(workers, "metis")
    return [sampled(made.graph, owner, w, FAN_OUT[layers], batch, seed) for w in range(workers)]


def shown(scale: float, seed: int, **more: Any) -> dict[str, Any]:
    """Settings for people."""
    made = bed("products", scale, seed)
    return {"vertices": made.graph.vertices, "hidden": HIDDEN, "scale": scale, "seed": seed, **more}
