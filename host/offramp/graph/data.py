"""A graph with what a GNN trains on: features, labels and masks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from offramp.errors import OfframpError
from offramp.graph.csr import IntArray, symmetric_csr
from offramp.graph.split import split_vertices

DENSE_FEATURE_BYTES = 64 << 20
"""Sparse features are made dense up to this size and kept as CSR above it."""


@dataclass(slots=True, eq=False)
class Graph:
    """An undirected simple graph of ``n`` vertices.

    Attributes:
        name: what reports call it.
        indptr: ``(n+1,)`` int64.
        indices: ``(2·edges,)`` int64, both directions of every edge, sorted inside each row.
        features: ``(n, F)`` float32, an array or (large and sparse) a ``scipy.sparse.csr_array``.
        labels: ``(n,)`` int64 in ``[0, classes)``.
        classes: number of classes; 1 where the source has no labels.
        train: ``(n,)`` bool, as ``val`` and ``test``: the three disjoint parts of the split.
        metadata: where it came from and what loading changed (``symmetrised``, ``self_loops_dropped``, …).

    Raises:
        OfframpError: the arrays do not fit together.
    """

    name: str
    indptr: IntArray
    indices: IntArray
    features: Any
    labels: IntArray
    classes: int
    train: npt.NDArray[np.bool_]
    val: npt.NDArray[np.bool_]
    test: npt.NDArray[np.bool_]
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.indptr) - 1
        for what, shape in (
            ("features", self.features.shape[:1]),
            ("labels", self.labels.shape),
            ("train", self.train.shape),
            ("val", self.val.shape),
            ("test", self.test.shape),
        ):
            if shape != (n,):
                raise OfframpError(f"{self.name}: {what}: expected {n} rows, one a vertex, got shape {shape}")
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
        """Features a vertex has."""
        return int(self.features.shape[1])

    @property
    def degrees(self) -> IntArray:
        """``(n,)`` neighbours of each vertex."""
        return np.diff(self.indptr)


def build_graph(
    name: str,
    edges: tuple[npt.ArrayLike, npt.ArrayLike],
    features: Any,
    labels: npt.ArrayLike,
    *,
    split: str | tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.bool_]],
    seed: int,
    metadata: dict[str, Any] | None = None,
) -> Graph:
    """A :class:`Graph` from edges ``(u, v)`` in any direction, duplicates and self-loops allowed.

    ``split`` is a rule of :func:`~offramp.graph.split.split_vertices` or the three masks themselves.

    Raises:
        OfframpError: ids, labels, features or masks that do not fit together.
    """
    n = int(features.shape[0])
    u, v = (np.asarray(ends, np.int64) for ends in edges)
    if len(u) and not 0 <= min(u.min(), v.min()) <= max(u.max(), v.max()) < n:
        raise OfframpError(f"{name}: edges: expected vertex ids from 0 to {n - 1}")
    labels = np.asarray(labels).astype(np.int64)
    if labels.shape != (n,) or (n and labels.min() < 0):
        raise OfframpError(f"{name}: labels: expected {n} integers of at least 0, one a vertex")
    classes = int(labels.max()) + 1 if n else 1
    train, val, test = split_vertices(labels, classes, split, seed) if isinstance(split, str) else split
    indptr, indices = symmetric_csr(n, u, v)
    loops = int((u == v).sum())
    # A directed source stores each edge once, an undirected one twice: only the latter has all reverses.
    stored_both_ways = _distinct(u, v, n) == len(indices)
    facts = {"symmetrised": bool(len(indices)) and not stored_both_ways, "self_loops_dropped": loops}
    return Graph(
        name, indptr, indices, _as_features(name, features), labels, classes, train, val, test,
        {**facts, **(metadata or {})},
    )  # fmt: skip


def _distinct(u: IntArray, v: IntArray, n: int) -> int:
    proper = u != v
    return len(np.unique(u[proper] * n + v[proper]))


def _as_features(name: str, features: Any) -> Any:
    if issparse(features):
        dense = 4 * features.shape[0] * features.shape[1] <= DENSE_FEATURE_BYTES
        features = features.toarray() if dense else csr_array(features)
    features = features.astype(np.float32)
    values = features.data if issparse(features) else features
    if features.ndim != 2 or not np.isfinite(values).all():
        raise OfframpError(f"{name}: features: expected a matrix of finite numbers, one row a vertex")
    return features
