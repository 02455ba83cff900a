# SPDX-License-Identifier: Apache-2.0
"""The thesis's testbed for G3 at the size of generated graphs (section 4.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp_sim.g3.minibatch import MiniBatchWork, replicated, sampled
from offramp_sim.g3.pipeline import Costs, Pipelined, simulate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.graph.data import Graph

WORKERS: Final = 16
HIDDEN: Final = 16
BINS: Final = 24
"""Bins of each worker: initial bins of 1,000 and 5,000 vertices give more."""
_TUNED: Final = (1, 4, BINS)
"""Numbers of bins; every system uses its best one."""
_BATCHES: Final = 32
"""Batches of each worker that are sampled and represent all others."""

FAN_OUT: Final = {2: (25, 10), 3: (25, 15, 10), 4: (25, 20, 15, 10)}
BATCH: Final = 1000
SAMPLE_S: Final = 30e-9
"""Seconds to draw an edge on a host's core; an assumption."""

NOTE: Final = (
    "Simulated: generated graphs of the data sets' mean degrees, with communities and a power law, but far smaller; "
    "fixed costs, bins and batches shrink with them. Devices at 12 GB/s, cards at 10 Gb/s; 20 ns per "
    "vertex and 5 ns per edge are assumptions, three times the edges' for GAT. An epoch is twice a forward pass of one "
    "and a half times the computation. Every system has its best of 1, 4 and 24 bins; mini-batches are drawn by 8 "
    "cores, and sampling, sending, loading and computing overlap. --referee changes each of these."
)


@dataclass(frozen=True)
class G3Parameters:
    """Parameters that the thesis leaves open, or that favour baselines.

    Attributes:
        link_gbps: link of a worker's card.
        overlapped: whether the stages of mini-batches overlap; else they follow each other.
        sampling_cores: cores that draw a worker's mini-batches.
        tuned: whether every system gets its best number of bins; else G3 gets :data:`BINS`, and others one.
    """

    link_gbps: float = 10.0
    overlapped: bool = True
    sampling_cores: int = 8
    tuned: bool = True


USUAL: Final = G3Parameters()
OPTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "link_gbps": (10.0, 1.0, 25.0, 100.0),
    "overlapped": (True, False),
    "sampling_cores": (8, 1, 32),
    "tuned": (True, False),
}
"""Values of :class:`G3Parameters` for a referee."""
SIZES: Final = (0.2, 0.1, 0.8)
"""Scales at which a referee runs simulated items."""


@dataclass(frozen=True)
class G3DataSet:
    """A data set of table 4.2: vertices, mean degree, features, classes."""

    vertices: float
    degree: float
    features: int
    classes: int


DATA: Final = {
    "products": G3DataSet(2.45e6, 50.5, 100, 47),
    "amazon": G3DataSet(1.60e6, 82.7, 200, 107),
    "papers": G3DataSet(111.1e6, 29.1, 128, 172),
    "twitter": G3DataSet(41.65e6, 57.7, 128, 100),
}
SMALL: Final = ("products", "amazon")


@dataclass(frozen=True)
class G3Testbed:
    """A data set at a size that fits this machine.

    Attributes:
        name: name of the data set.
        graph: that stands for it.
        seed: seed of partitions and samples.
        conditions: conditions of all systems.
    """

    name: str
    graph: Graph
    seed: int
    conditions: G3Parameters = USUAL

    @property
    def data(self) -> G3DataSet:
        """Properties of the real graph."""
        return DATA[self.name]

    @property
    def ratio(self) -> float:
        """Number of vertices over that of the real graph."""
        return self.graph.vertices / self.data.vertices

    def widths(self, layers: int = 2, features: int | None = None) -> list[int]:
        """Widths of a model's layers."""
        return [features or self.data.features, *[HIDDEN] * (layers - 1), self.data.classes]

    def costs(self, model: str = "sage") -> Costs:
        """Costs of a bin at this size."""
        base = Costs()
        heavy = 3.0 if model == "gat" else 1.0
        return replace(
            base,
            send_bps=self.conditions.link_gbps * 1e9 / 8,
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
        """A pass in one direction with ``bins`` bins, or the best number if systems are tuned; an epoch has two."""
        owner = self.owner(workers, method)
        passes = [
            simulate(
                self.graph,
                owner,
                widths or self.widths(),
                mode,
                self.costs(model),
                targets=-(-self.graph.vertices // (workers * each)),
            )
            for each in (_TUNED if self.conditions.tuned else (bins,))
        ]
        return min(passes, key=lambda each: each.seconds)

    def g3_s(self, workers: int = WORKERS, **how: Any) -> float:
        """Time of an epoch of G3."""
        return 2 * self.epoch(workers, **how).seconds

    def dgl_s(self, workers: int = WORKERS, layers: int = 2, model: str = "sage", features: int | None = None) -> float:
        """Time of an epoch of sampled mini-batches on METIS's partition: the mean of the workers, which draw alike."""
        works = _batches(self.name, self.graph.vertices, self.seed, workers, layers)
        return sum(self._seconds(work, model, features, drawn=True) for work in works) / len(works)

    def replicated_s(self, workers: int, layers: int = 2) -> float:
        """Time of an epoch with full neighbourhoods at every worker, none exchanged between layers."""
        owner = self.owner(workers, "metis")
        return max(self._seconds(replicated(self.graph, owner, w, layers), "sage", None) for w in range(workers))

    def _seconds(self, work: MiniBatchWork, model: str, features: int | None, *, drawn: bool = False) -> float:
        costs, row, conditions = self.costs(model), 4 * (features or self.data.features), self.conditions
        stages = [
            work.remote * row / costs.send_bps,
            work.rows * row / costs.load_bps,
            2 * (work.targets * costs.target_s + work.edges * costs.edge_s),
            work.edges * SAMPLE_S / conditions.sampling_cores if drawn else 0.0,
        ]
        return max(stages) if drawn and conditions.overlapped else sum(stages)


def bed(name: str, scale: float, seed: int, conditions: G3Parameters = USUAL) -> G3Testbed:
    """The data set ``name``, 6,000 vertices at scale 1."""
    return replace(_bed(name, scale, seed), conditions=conditions)


@lru_cache(maxsize=8)
def _bed(name: str, scale: float, seed: int) -> G3Testbed:
    data = DATA[name]
    n = max(400, round(6000 * scale))
    spec = f"sbm:n={n},k=40,degree={min(data.degree, n / 8)},gamma=2.5,homophily=0.8,features=1"
    return G3Testbed(name, generate(spec, "1/0/0", seed), seed)


@lru_cache(maxsize=64)
def _owner(name: str, vertices: int, seed: int, workers: int, method: str) -> npt.NDArray[np.int32]:
    return partition(bed(name, vertices / 6000, seed).graph, workers, method, seed)


@lru_cache(maxsize=64)
def _batches(name: str, vertices: int, seed: int, workers: int, layers: int) -> list[MiniBatchWork]:
    trial = bed(name, vertices / 6000, seed)
    batch, owner = max(1, round(BATCH * trial.ratio)), trial.owner(workers, "metis")
    return [sampled(trial.graph, owner, w, FAN_OUT[layers], batch, seed, _BATCHES) for w in range(workers)]


def shown(scale: float, seed: int, **more: Any) -> dict[str, Any]:
    """Settings as shown to people."""
    trial = bed("products", scale, seed)
    return {"vertices": trial.graph.vertices, "hidden": HIDDEN, "scale": scale, "seed": seed, **more}
