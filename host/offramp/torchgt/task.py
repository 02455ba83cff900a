# SPDX-License-Identifier: Apache-2.0
"""Learning tasks: labels of the vertices of one graph, or a label or number for each graph of a set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from offramp.graph.csr import IntArray
from offramp.graph.load import load
from offramp.torchgt.encodings import laplacian_positions
from offramp.torchgt.graph_files import read_set
from offramp.torchgt.graph_sets import SETS, generate_set

if TYPE_CHECKING:
    from offramp.torchgt.settings import TorchGtSettings


@dataclass(frozen=True, eq=False)
class GraphTask:
    """One graph, or a set of graphs side by side.

    Attributes:
        name: its name in reports.
        indptr, indices: CSR of all vertices, both directions of every edge.
        features: ``(n, F)`` float32.
        graph_of: ``(n,)`` ascending graph of each vertex in a set; None: one graph whose vertices have the targets.
        targets: ``(n,)`` targets of vertices, or ``(graphs,)``; classes, or numbers if ``classes`` is 0.
        masks: ``(3, n)`` or ``(3, graphs)``: training, validation, test.
        classes: number of classes; 0: a regression.
        positions: ``(n, k)`` Laplacian eigenvectors, if the model uses them.
    """

    name: str
    indptr: IntArray
    indices: IntArray
    features: npt.NDArray[np.float32]
    graph_of: IntArray | None
    targets: npt.NDArray[np.float64]
    masks: npt.NDArray[np.bool_]
    classes: int
    positions: npt.NDArray[np.float32]

    @property
    def vertices(self) -> int:
        """Number of vertices of all graphs."""
        return len(self.indptr) - 1

    @property
    def edges(self) -> int:
        """Number of undirected edges of all graphs."""
        return len(self.indices) // 2

    @property
    def graphs(self) -> int:
        """Number of graphs."""
        return 1 if self.graph_of is None else len(self.targets)

    @property
    def metric(self) -> str:
        """Meaning of scores: fraction of correct predictions, or mean absolute error."""
        return "accuracy" if self.classes else "mae"


def load_task(settings: TorchGtSettings) -> GraphTask:
    """The graph or the set that the settings name.

    Raises:
        OfframpError: there is nothing of that name, or a file is malformed.
    """
    dataset = read_set(settings.graph, settings.split, settings.seed)
    if settings.graph.partition(":")[0] in SETS:
        dataset = generate_set(settings.graph, settings.split, settings.seed)
    if dataset is not None:
        indptr, indices, features, graph_of = dataset.indptr, dataset.indices, dataset.features, dataset.graph_of
        name, targets, masks, classes = settings.graph, dataset.targets, dataset.masks, dataset.classes
    else:
        files = (Path(name) if name else None for name in (settings.features, settings.labels))
        graph = load(settings.graph, settings.seed, settings.split, *files)
        indptr, indices, graph_of, classes = graph.indptr, graph.indices, None, graph.classes
        features = graph.features.toarray() if issparse(graph.features) else graph.features
        name, targets = graph.name, graph.labels.astype(np.float64)
        masks = np.stack([graph.train, graph.val, graph.test])
    positions = np.zeros((len(indptr) - 1, settings.positions), np.float32)
    if not settings.biased:
        positions = _positions(indptr, indices, graph_of, settings.positions, settings.seed)
    return GraphTask(name, indptr, indices, features, graph_of, targets, masks, classes, positions)


def _positions(
    indptr: IntArray, indices: IntArray, graph_of: IntArray | None, count: int, seed: int
) -> npt.NDArray[np.float32]:
    """Eigenvectors of each graph separately."""
    if graph_of is None:
        return laplacian_positions(indptr, indices, count, seed)
    ends = np.concatenate([[0], np.cumsum(np.bincount(graph_of))])
    parts = []
    for first, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = indptr[first : end + 1]
        parts.append(laplacian_positions(own - own[0], indices[own[0] : own[-1]] - first, count, seed))
    return np.concatenate(parts)
