# SPDX-License-Identifier: Apache-2.0
"""A graph with what a GNN trains on: features, labels and masks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from offramp.graph.csr import IntArray, distinct, symmetric_csr
from offramp.graph.split import Mask, split_vertices
from offramp_base.errors import OfframpError
from offramp_base.memory import check_memory

DENSE_FEATURE_BYTES = 64 << 20
MOST_VERTICES = 1 << 31
"""Pairs of vertices are numbered in int64."""
MOST_CLASSES = 1 << 16
_VERTEX_BYTES, _EDGE_BYTES = 64, 48  # at the peak of building the CSR arrays
"""Sparse features are made dense up to this size and kept as CSR above it."""


@dataclass(slots=True, eq=False)
class Graph:
    """An undirected simple graph of ``n`` vertices.

    Attributes:
        name: name in reports.
        indptr: ``(n+1,)`` int64.
        indices: ``(2·edges,)`` int64, both directions of every edge, sorted inside each row.
        features: ``(n, F)`` float32, an array or (large and sparse) a ``scipy.sparse.csr_array``.
        labels: ``(n,)`` int64 in ``[0, classes)``.
        classes: number of classes; 1 where the source has no labels.
        train: ``(n,)`` bool, as ``val`` and ``test``: the three disjoint parts of the split.
        metadata: what loading did: ``symmetrised`` (some edge came in one direction only),
            ``self_loops_dropped``, and where it holds ``degree_features`` or ``no_labels``.

    Raises:
        OfframpError: the arrays do not fit together.
    """

    name: str
    indptr: IntArray
    indices: IntArray
    features: Any
    labels: IntArray
    classes: int
    train: Mask
    val: Mask
    test: Mask
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.indptr) - 1
        if self.features.ndim != 2 or self.features.shape[0] != n:
            raise OfframpError(
                f"{self.name}: features: expected {n} rows, one per vertex, got shape {self.features.shape}"
            )
        for what, array in (
            ("labels", self.labels),
            ("train", self.train),
            ("val", self.val),
            ("test", self.test),
        ):
            if array.shape != (n,):
                raise OfframpError(
                    f"{self.name}: {what}: expected {n} entries, one per vertex, got shape {array.shape}"
                )
        if n and not 0 <= self.labels.min() <= self.labels.max() < self.classes:
            raise OfframpError(f"{self.name}: labels: expected integers from 0 to {self.classes - 1}")

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def edges(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @property
    def width(self) -> int:
        """Features per vertex."""
        return int(self.features.shape[1])

    @property
    def degrees(self) -> IntArray:
        """``(n,)`` neighbours of each vertex."""
        return np.diff(self.indptr)


def build_graph(
    name: str,
    vertices: int,
    edges: tuple[npt.ArrayLike, npt.ArrayLike],
    *,
    features: Any = None,
    labels: npt.ArrayLike | None = None,
    split: str | tuple[Mask, Mask, Mask] = "planetoid",
    seed: int = 0,
) -> Graph:
    """A :class:`Graph` from edges ``(u, v)`` in any direction; duplicates and self-loops are dropped.

    ``split`` is a rule of :func:`~offramp.graph.split.split_vertices` or the three masks themselves. Without
    ``features`` a vertex has one, its degree on a logarithmic scale from 0 to 1; without ``labels`` there is
    one class.

    Raises:
        OfframpError: ids, labels, features or masks that do not fit together.
    """
    u, v = (np.asarray(ends, np.int64) for ends in edges)
    if vertices < 1:
        raise OfframpError(f"{name}: expected at least one vertex")
    if vertices > MOST_VERTICES:
        raise OfframpError(f"{name}: {vertices} vertices: expected at most {MOST_VERTICES}")
    check_memory(vertices * _VERTEX_BYTES + len(u) * _EDGE_BYTES, name)
    if len(u) and not 0 <= min(u.min(), v.min()) <= max(u.max(), v.max()) < vertices:
        raise OfframpError(f"{name}: edges: expected vertex ids from 0 to {vertices - 1}")
    metadata: dict[str, Any] = {"self_loops_dropped": int((u == v).sum())}
    indptr, indices = symmetric_csr(vertices, u, v)
    metadata["symmetrised"] = _distinct_pairs(u, v, vertices) < len(indices)
    if features is None:
        metadata["degree_features"] = True
        features = _degree_feature(indptr)
    if labels is None:
        metadata["no_labels"] = True
        labels = np.zeros(vertices, np.int64)
    classes_of = _as_labels(name, labels, vertices)
    classes = int(classes_of.max()) + 1
    masks = split_vertices(classes_of, classes, split, seed) if isinstance(split, str) else split
    return Graph(name, indptr, indices, _as_features(name, features), classes_of, classes, *masks, metadata=metadata)


def _distinct_pairs(u: IntArray, v: IntArray, n: int) -> int:
    proper = u != v
    return len(distinct(u[proper] * n + v[proper]))


def _degree_feature(indptr: IntArray) -> npt.NDArray[np.float32]:
    scale = np.log1p(np.diff(indptr))
    feature: npt.NDArray[np.float32] = (scale / max(scale.max(), 1e-9)).astype(np.float32)
    return feature[:, np.newaxis]


def _as_labels(name: str, labels: npt.ArrayLike, n: int) -> IntArray:
    array = np.asarray(labels)
    if array.shape != (n,) or array.dtype.kind not in "iu" or array.min() < 0:
        raise OfframpError(f"{name}: labels: expected {n} integers of at least 0, one per vertex")
    if array.max() >= MOST_CLASSES:
        raise OfframpError(f"{name}: labels: label {array.max()}: expected at most {MOST_CLASSES - 1}")
    return array.astype(np.int64)


def _as_features(name: str, features: Any) -> Any:
    if issparse(features):
        dense = 4 * features.shape[0] * features.shape[1] <= DENSE_FEATURE_BYTES
        features = features.toarray() if dense else csr_array(features)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused
        features = features.astype(np.float32)
    values = features.data if issparse(features) else features
    if features.ndim != 2 or not np.isfinite(values).all():
        raise OfframpError(f"{name}: features: expected a matrix of finite numbers, one row per vertex")
    return features
