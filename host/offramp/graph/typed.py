# SPDX-License-Identifier: Apache-2.0
"""Directed graphs of several types of vertices and edges, as streams of edges and arrays by type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.graph.source import GraphSource, in_memory
from offramp_base.errors import OfframpError

EdgeType = tuple[str, str, str]
"""Type of the sources, name, type of the targets."""

ONE_TYPE: Final = ""
ITS_EDGES: Final[EdgeType] = (ONE_TYPE, "edge_index", ONE_TYPE)
"""The type of the vertices, and of the edges, of a graph that has one."""


@dataclass(frozen=True)
class Relation:
    """Edges of a type, read piece by piece; vertices by their numbers within their types.

    Attributes:
        edges: number of edges.
        chunks: reads sources and targets from the first edge on.
        fields: arrays with one row for each edge, in the edges' order.
    """

    edges: int
    chunks: Callable[[], Iterable[tuple[IntArray, IntArray]]]
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TypedSource:
    """A graph of several types.

    Attributes:
        name: name in reports.
        counts: vertices of each type.
        vertex_fields: arrays with one row for each vertex, by type.
        relations: edges by type.
        notes: notes on reading, for the manifest.
    """

    name: str
    counts: dict[str, int]
    vertex_fields: dict[str, dict[str, Any]]
    relations: dict[EdgeType, Relation]
    notes: dict[str, Any] = field(default_factory=dict)

    def flat(self) -> GraphSource:
        """The graph as one type: vertices of the types one after another, edges likewise, without fields."""
        starts = self._starts()

        def chunks() -> Iterator[tuple[IntArray, IntArray]]:
            for (source, _, target), relation in self.relations.items():
                for u, v in relation.chunks():
                    yield u + starts[source], v + starts[target]

        edges = sum(relation.edges for relation in self.relations.values())
        return GraphSource(self.name, sum(self.counts.values()), edges, chunks)

    def by_type(self, rows: npt.NDArray[np.int32]) -> dict[str, npt.NDArray[np.int32]]:
        """Rows of the vertices of :meth:`flat` by type."""
        starts = self._starts()
        return {name: rows[starts[name] : starts[name] + count] for name, count in self.counts.items()}

    def _starts(self) -> dict[str, int]:
        return dict(zip(self.counts, np.cumsum([0, *self.counts.values()]).tolist(), strict=False))


def as_typed(source: GraphSource | TypedSource) -> TypedSource:
    """A graph of one type as a typed graph with a single type."""
    if isinstance(source, TypedSource):
        return source
    edges = Relation(source.edges, source.chunks, source.edge_fields)
    return TypedSource(
        source.name, {ONE_TYPE: source.vertices}, {ONE_TYPE: source.vertex_fields}, {ITS_EDGES: edges}, source.notes
    )


def typed_in_memory(
    name: str, counts: dict[str, int], vertices: dict[str, dict[str, Any]], edges: dict[EdgeType, dict[str, Any]]
) -> TypedSource:
    """A graph whose arrays are there, in memory or mapped from files.

    Args:
        name: name of the graph.
        counts: vertices of each type.
        vertices: arrays with one row for each vertex, by type and name.
        edges: ``edge_index`` of shape (2, edges), and arrays with one row for each edge, by type and name.

    Raises:
        OfframpError: arrays of other lengths, an unknown type, or an edge at a vertex that there is not.
    """
    relations = {}
    for key, columns in edges.items():
        where = f"{name}: {' '.join(key)}"
        index, fields = columns["edge_index"], {k: v for k, v in columns.items() if k != "edge_index"}
        if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
            raise OfframpError(f"{where}: edge_index: expected integers of shape (2, edges), got shape {index.shape}")
        for row, of in ((0, key[0]), (1, key[2])):
            if of not in counts:
                raise OfframpError(f"{where}: there are no vertices {of}")
            if index.shape[1] and not 0 <= int(index[row].min()) <= int(index[row].max()) < counts[of]:
                raise OfframpError(f"{where}: expected vertices {of} from 0 to {counts[of] - 1}")
        read = in_memory(where, 0, index[0], index[1], {}, fields)
        relations[key] = Relation(read.edges, read.chunks, fields)
    for of, fields in vertices.items():
        in_memory(f"{name}: {of}", counts[of], np.zeros(0, np.int64), np.zeros(0, np.int64), fields, {})
    return TypedSource(name, counts, vertices, relations)
