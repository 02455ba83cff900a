# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's data sets (table 1): read from files if they are on the machine, else similar generated graphs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp.graph.partition import partition
from offramp_base.errors import OfframpError
from offramp_sim.reproduce.files import read_graph


@dataclass(frozen=True, slots=True)
class PaperDataset:
    """A graph of table 1, with further known properties.

    Attributes:
        vertices, edges: undirected edges (the table's Reddit counts both directions).
        features, classes: as in the table.
        max_degree: largest degree of the real graph.
        vertices_here: vertices of a generated graph at scale 1.
    """

    name: str
    vertices: int
    edges: int
    features: int
    classes: int
    max_degree: int
    vertices_here: int


DATASETS = {
    "products": PaperDataset("products", 2_449_029, 61_859_140, 100, 47, 17_481, 16_000),
    "yelp": PaperDataset("yelp", 716_847, 6_977_410, 300, 100, 4_886, 12_000),
    "reddit": PaperDataset("reddit", 232_965, 57_307_946, 602, 41, 21_657, 8_000),
}

COPIES = 16.0
"""Workers that need a boundary vertex of Reddit among 128 (section 2.2: the traffic is 16 times the boundary)."""

SPREAD = 1.68
"""Deviation of the logarithm of degrees: a fifth of the vertices has four fifths of the neighbours (figure 7)."""


@dataclass(frozen=True, eq=False)
class ScaledGraph:
    """A graph that stands for a data set.

    Attributes:
        data: the data set that it stands for.
        ratio: its vertices over the real graph's; memory and delays shrink by it, times are scaled back.
        indptr, indices: CSR.
        path: the file that it was read from; None: it was generated, with vertices in the order of a ring.
        seed: seed of METIS.
    """

    data: PaperDataset
    ratio: float
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int64]
    path: Path | None = None
    seed: int = 0

    def boundary(self, workers: int) -> Boundary:
        """Boundary of the parts: METIS's, or equal stretches of a generated ring."""
        n = len(self.indptr) - 1
        if self.path is not None:
            return Boundary(self, partition(self, workers, "metis", self.seed), workers)
        return Boundary(self, np.arange(n) * workers // n, workers)


@lru_cache(maxsize=8)
def sample(
    name: str, scale: float = 1.0, seed: int = 0, folder: Path | None = None, copies: float = COPIES
) -> ScaledGraph:
    """Data set ``name`` from files in ``folder``, or generated with its degrees: ``scale`` times ``vertices_here``.

    Vertices lie on a ring and have log-normal weights up to the real graph's largest degree. An edge's ends are
    points of the cumulative weight: a share of the edges lies inside a worker's stretch, the others span distances
    whose logarithm is uniform. For Reddit the share is found by bisection so that a boundary vertex has
    ``copies`` copies among 128 workers; the other data sets use the same share. Degrees shrink with the square root
    of the size, so that a worker's stretch can hold its local neighbours.

    Raises:
        OfframpError: unknown data set, a file that cannot be read, or a scale that leaves fewer than 512 vertices.
    """
    if name not in DATASETS:
        raise OfframpError(f"data set {name!r}: expected one of {', '.join(DATASETS)}")
    data = DATASETS[name]
    graph = None if folder is None else read_graph(folder, name)
    if graph is not None:
        path, indptr, indices = graph
        return ScaledGraph(data, (len(indptr) - 1) / data.vertices, indptr, indices, path, seed)
    n = round(data.vertices_here * scale)
    if n < 512 or n > data.vertices:
        raise OfframpError(f"scale {scale:g}: {name} would have {n} vertices, expected 512 to {data.vertices}")
    ratio = n / data.vertices
    degree = max(8.0, 2 * data.edges / data.vertices * ratio**0.5)
    indptr, indices = _generate(n, degree, data, _local_share(scale, copies), seed)
    return ScaledGraph(data, ratio, indptr, indices)


def every(scale: float, seed: int, folder: Path | None) -> list[ScaledGraph]:
    """One sample of each data set."""
    return [sample(name, scale, seed, folder) for name in DATASETS]


@lru_cache(maxsize=8)
def _local_share(scale: float, copies: float) -> float:
    """The share of local edges with which a boundary vertex of Reddit has ``copies`` copies."""
    data = DATASETS["reddit"]
    n = round(data.vertices_here * scale)
    degree = max(8.0, 2 * data.edges / data.vertices * (n / data.vertices) ** 0.5)
    low, high = 0.0, 0.999
    for _ in range(9):
        middle = (low + high) / 2
        trial = ScaledGraph(data, 1.0, *_generate(n, degree, data, middle, 0)).boundary(128)
        low, high = (middle, high) if copies < trial.R / trial.B else (low, middle)
    return (low + high) / 2


@lru_cache(maxsize=2)
def without_locality(scale: float = 1.0, seed: int = 0, copies: float = COPIES) -> ScaledGraph:
    """Reddit's skew and its 16 copies among 128 workers, but edges between any two vertices: a graph of fewer edges."""
    data = DATASETS["reddit"]
    n = round(data.vertices_here * scale)
    low, high = 2.0, 256.0
    for _ in range(9):
        middle = (low + high) / 2
        trial = ScaledGraph(data, n / data.vertices, *_generate(n, middle, data, 0.0, seed, anywhere=True))
        boundary = trial.boundary(128)
        low, high = (low, middle) if copies < boundary.R / boundary.B else (middle, high)
    return trial


def _generate(
    n: int, degree: float, data: PaperDataset, local: float, seed: int, *, anywhere: bool = False
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    weights = np.exp(SPREAD * rng.standard_normal(n))
    skew = data.max_degree / (2 * data.edges / data.vertices)
    weights = np.minimum(weights, skew * weights.mean())
    cumulative = np.concatenate([[0.0], np.cumsum(weights)])
    total = cumulative[-1]
    edges = round(n * degree / 2)
    start = rng.random(edges)
    far = rng.random(edges) / 2 if anywhere else np.exp(rng.uniform(np.log(1 / 256), np.log(0.5), edges))
    near = rng.random(edges) / 128
    distance = np.where(rng.random(edges) < local, near, far) * rng.choice([-1.0, 1.0], edges)
    ends = [np.searchsorted(cumulative, (x % 1.0) * total, side="right") - 1 for x in (start, start + distance)]
    return symmetric_csr(n, *(np.clip(end, 0, n - 1) for end in ends))
