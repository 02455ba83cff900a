# SPDX-License-Identifier: Apache-2.0
"""Directed graphs that may be larger than memory, as a stream of edges and arrays of vertices and edges."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError

CHUNK: Final = 1 << 22
"""Edges that are read at a time."""


@dataclass(frozen=True)
class GraphSource:
    """A graph that is read piece by piece.

    Attributes:
        name: name in reports.
        vertices, edges: number of each.
        chunks: reads sources and targets from the first edge on.
        vertex_fields: arrays with one row for each vertex; ``x``, ``y`` and masks by PyG's names.
        edge_fields: arrays with one row for each edge, in the edges' order.
        notes: notes on reading, for the manifest.
        owner: ``(vertices,)`` int32 part of each vertex, where the graph was cut already.
    """

    name: str
    vertices: int
    edges: int
    chunks: Callable[[], Iterable[tuple[IntArray, IntArray]]]
    vertex_fields: dict[str, Any] = field(default_factory=dict)
    edge_fields: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    owner: npt.NDArray[np.int32] | None = None


def in_memory(
    name: str,
    vertices: int,
    sources: IntArray,
    targets: IntArray,
    vertex_fields: dict[str, Any],
    edge_fields: dict[str, Any],
    notes: dict[str, Any] | None = None,
) -> GraphSource:
    """A graph whose arrays are there, in memory or mapped from a file.

    Raises:
        OfframpError: arrays of other lengths.
    """
    for fields, rows, what in ((vertex_fields, vertices, "vertex"), (edge_fields, len(sources), "edge")):
        for key, values in fields.items():
            if values.shape[:1] != (rows,):
                actual = values.shape[0] if values.shape else "a number"
                raise OfframpError(f"{name}: {key}: expected {rows} rows, one for each {what}, got {actual}")

    def chunks() -> Iterator[tuple[IntArray, IntArray]]:
        for start in range(0, len(sources), CHUNK):
            part = slice(start, start + CHUNK)
            yield np.array(sources[part], np.int64), np.array(targets[part], np.int64)
            forget(sources)

    return GraphSource(name, vertices, len(sources), chunks, vertex_fields, edge_fields, notes or {})


def place_rows(path: Path, fields: dict[str, Any], arrays: dict[str, Any], at: IntArray, rows: int) -> None:
    """Put a part's rows among those of the whole graph, which has ``rows`` rows.

    Raises:
        OfframpError: arrays that do not fit the part, or the parts before it.
    """
    for name, values in arrays.items():
        if len(values) != len(at):
            raise OfframpError(f"{path}: {name}: expected {len(at)} rows, got {len(values)}")
        whole = fields.setdefault(name, np.zeros((rows, *values.shape[1:]), values.dtype))
        if whole.shape[1:] != values.shape[1:]:
            raise OfframpError(f"{path}: {name}: rows of shape {values.shape[1:]}, before it {whole.shape[1:]}")
        whole[at] = values


def forget(values: Any) -> None:
    """Give back the memory behind what was read of an array in a file; it is read again where it is needed."""
    mapping = getattr(values, "_mmap", None)
    if mapping is not None:
        mapping.madvise(mmap.MADV_DONTNEED)
