# SPDX-License-Identifier: Apache-2.0
"""DGL's binary files: graphs by ``dgl.save_graphs`` (format 2), tensors by ``dgl.data.save_tensors``.

Arrays are views of the mapped file. Integers are little-endian; lists and texts begin with their length in 64 bits.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from offramp.graph.csr import rows_of
from offramp.graph.source import GraphSource, in_memory
from offramp.graph.typed import EdgeType, TypedSource, typed_in_memory
from offramp_base.errors import OfframpError

# The marks by which the parts of a file begin.
_GRAPHS: Final = 0xDD2E4FF046B4A13F
_GRAPH: Final = 0xDD589FBE35224ABF
_TYPES: Final = 0xDD3C5FFE20046ABF
_EDGES: Final = 0xDD2E60F0F6B4A127
_ENDS: Final = 0xDD61FFD305DFF127
_ROWS: Final = 0xDD6CD31205DFF127
_TENSORS: Final = 0xDD5A9FBE3FA2443F
_ARRAY: Final = 0xDD5E40F096B4A13F
_HEADER: Final = 4096
_VERSION, _HETEROGENEOUS = 2, 2
_COO, _CSR, _CSC = 1, 2, 4
_KINDS: Final = {0: "i", 1: "u", 2: "f"}
_DEEPEST: Final = 8
"""Dimensions of an array."""

NAMES: Final = {"feat": "x", "features": "x", "label": "y", "labels": "y"}
"""PyG's names of features and labels by the names that DGL's data sets give them."""

T = TypeVar("T")
Array = np.ndarray[Any, Any]
Tensors = dict[str, Array]


@dataclass(frozen=True)
class DglGraph:
    """A graph of one type of vertices and edges.

    Attributes:
        vertices: number of vertices.
        sources, targets: ``(E,)`` ends of edges, by number of the edge.
        vertex_data, edge_data: arrays with one row for each vertex, or edge.
    """

    vertices: int
    sources: Array
    targets: Array
    vertex_data: Tensors
    edge_data: Tensors


@dataclass(frozen=True)
class DglTypes:
    """A graph of any number of types.

    Attributes:
        counts: vertices of each type.
        ends: ``(sources, targets)`` of edges by their number, by type.
        vertex_data, edge_data: arrays with one row for each vertex, or edge, by type.
    """

    counts: dict[str, int]
    ends: dict[EdgeType, tuple[Array, Array]]
    vertex_data: dict[str, Tensors]
    edge_data: dict[EdgeType, Tensors]


class _Malformed(Exception):
    """Malformed bytes; the text says what is wrong with them."""


class _ByteReader:
    """Takes values from bytes; whatever they say, nothing behind their end is read."""

    def __init__(self, data: memoryview, at: int = 0) -> None:
        self._data, self.at = data, at

    def bytes(self, count: int) -> memoryview:
        if not 0 <= count <= len(self._data) - self.at:
            raise _Malformed(f"ends at byte {len(self._data)}, where {count} more are expected from {self.at} on")
        self.at += count
        return self._data[self.at - count : self.at]

    def number(self, form: str = "Q") -> int:
        value: int = struct.unpack("<" + form, self.bytes(struct.calcsize(form)))[0]
        return value

    def mark(self, expected: int, what: str) -> None:
        if self.number() != expected:
            raise _Malformed(f"expected {what} at byte {self.at - 8}")

    def text(self) -> str:
        return bytes(self.bytes(self.number())).decode("utf-8", "replace")

    def several(self, each: Callable[[], T]) -> list[T]:
        count = self.number()
        if count > len(self._data) - self.at:  # each takes a byte at least
            raise _Malformed(f"a list of {count} at byte {self.at - 8}")
        return [each() for _ in range(count)]

    def array(self) -> Array:
        self.mark(_ARRAY, "an array")
        self.bytes(16)  # reserved, and the device
        dimensions = self.number("i")
        kind, bits, lanes = struct.unpack("<BBH", self.bytes(4))
        if not 0 <= dimensions <= _DEEPEST or kind not in _KINDS or bits not in (8, 16, 32, 64) or lanes != 1:
            raise _Malformed(f"an array of a type that is not read, at byte {self.at}")
        shape = struct.unpack(f"<{dimensions}q", self.bytes(8 * dimensions))
        values = np.frombuffer(self.bytes(self.number("q")), f"<{_KINDS[kind]}{bits // 8}")
        if min(shape, default=0) < 0 or int(np.prod([float(n) for n in shape])) != len(values):
            raise _Malformed(f"an array of shape {shape} with {len(values)} values, before byte {self.at}")
        return values.reshape(shape)

    def integers(self) -> Array:
        values = self.array()
        if values.dtype.kind == "f" or values.ndim != 1:
            raise _Malformed(
                f"an array of {values.dtype} and shape {values.shape} where a list of integers is expected"
            )
        return values

    def tensors(self) -> Tensors:
        return dict(self.several(lambda: (self.text(), self.array())))


def read_graph(path: Path) -> DglGraph:
    """The only graph in a file, of one type.

    Raises:
        OfframpError: several graphs, several types, or a malformed file.
    """
    types = read_types(path)
    if (len(types.counts), len(types.ends)) != (1, 1):
        many = f"{len(types.counts)} types of vertices and {len(types.ends)} of edges"
        raise OfframpError(f"{path}: {many}, expected one of each")
    (count,), (ends,) = types.counts.values(), types.ends.values()
    (of_vertices,), (of_edges,) = types.vertex_data.values(), types.edge_data.values()
    return DglGraph(count, *ends, of_vertices, of_edges)


def read_types(path: Path) -> DglTypes:
    """The only graph in a file, of any number of types.

    Raises:
        OfframpError: several graphs, or a malformed file.
    """
    return _read(path, "graph of dgl.save_graphs", _types)


def read_tensors(path: Path) -> Tensors:
    """The tensors in a file that ``dgl.data.save_tensors`` wrote, by name.

    Raises:
        OfframpError: a malformed file.
    """

    def tensors(reader: _ByteReader) -> Tensors:
        reader.mark(_TENSORS, "tensors")
        reader.number()
        return reader.tensors()

    return _read(path, "tensors of DGL", tensors)


def open_dgl(path: Path) -> GraphSource | TypedSource:
    """A file of ``dgl.save_graphs`` as a graph.

    Raises:
        OfframpError: as :func:`read_types`.
    """
    graph = read_types(path)
    if (len(graph.counts), len(graph.ends)) == (1, 1):
        (count,), ((sources, targets),) = graph.counts.values(), graph.ends.values()
        fields, edges = by_pygs_names(*graph.vertex_data.values(), *graph.edge_data.values())
        return in_memory(path.stem, count, sources, targets, fields, edges)
    vertices = {name: by_pygs_names(fields, {})[0] for name, fields in graph.vertex_data.items()}
    columns = {
        key: {"edge_index": np.stack(graph.ends[key]).astype(np.int64), **by_pygs_names({}, fields)[1]}
        for key, fields in graph.edge_data.items()
    }
    return typed_in_memory(path.stem, graph.counts, vertices, columns)


def by_pygs_names(of_vertices: Tensors, of_edges: Tensors) -> tuple[Tensors, Tensors]:
    """``feat`` and ``label`` as ``x`` and ``y``, masks as booleans, fields of edges with ``edge_`` before them."""
    fields = {NAMES.get(name, name): values for name, values in of_vertices.items()}
    fields = {name: values.astype(np.bool_) if name.endswith("_mask") else values for name, values in fields.items()}
    return fields, {f"edge_{name}": values for name, values in of_edges.items()}


def _read(path: Path, what: str, parse: Callable[[_ByteReader], T]) -> T:
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # arrays keep it
        return parse(_ByteReader(memoryview(mapped)))
    except (OSError, ValueError, _Malformed) as error:
        raise OfframpError(f"{path}: expected a {what}: {error}") from None


def _types(reader: _ByteReader) -> DglTypes:
    reader.mark(_GRAPHS, "DGL's mark")
    version, kind, count = (reader.number() for _ in range(3))
    if (version, kind) != (_VERSION, _HETEROGENEOUS):
        raise _Malformed(f"format {version} of kind {kind}; formats before DGL 0.5 are not read")
    if count != 1:
        raise _Malformed(f"{count} graphs, expected one")
    reader.at = _HEADER
    reader.at = reader.number()
    reader.mark(_GRAPH, "a graph")
    kinds, _, from_kind, to_kind = _meta_graph(reader)
    relations = reader.several(lambda: _relation(reader))
    numbers = reader.several(lambda: reader.number("q"))
    of_vertices, of_edges = reader.several(reader.tensors), reader.several(reader.tensors)
    kind_names, names = reader.several(reader.text), reader.several(reader.text)
    if len(kind_names) != kinds or len(set(kind_names)) != kinds or not len(relations) == len(names) == len(from_kind):
        raise _Malformed(
            f"{len(kind_names)} names of {kinds} types of vertices, {len(names)} of {len(relations)} of edges"
        )
    counts: dict[str, int] = dict(zip(kind_names, numbers, strict=False)) if len(numbers) == kinds else {}
    ends: dict[EdgeType, tuple[Array, Array]] = {}
    edge_data: dict[EdgeType, Tensors] = {}
    for number, (rows, columns, sources, targets) in enumerate(relations):
        source, target = kind_names[from_kind[number]], kind_names[to_kind[number]]
        for name, size in ((source, rows), (target, columns)):
            if counts.setdefault(name, size) != size:
                raise _Malformed(f"edges at {size} vertices of the type {name!r}, which has {counts[name]}")
        key = source, names[number], target
        ends[key] = sources, targets
        edge_data[key] = of_edges[number] if number < len(of_edges) else {}
    if len(counts) != kinds or len(ends) != len(relations):
        raise _Malformed("types of vertices without a number, or edges of one type twice")
    vertex_data = {
        name: of_vertices[number] if number < len(of_vertices) else {} for number, name in enumerate(kind_names)
    }
    return DglTypes(counts, ends, vertex_data, edge_data)


def _meta_graph(reader: _ByteReader) -> tuple[int, int, Array, Array]:
    """The graph of types: numbers of types, and the types of vertices that each type of edges joins."""
    reader.mark(_TYPES, "the graph of types")
    rows, columns, sources, targets = _csr(reader)
    if any(len(each) and not 0 <= each.min() <= each.max() < min(rows, columns) for each in (sources, targets)):
        raise _Malformed("types of edges between types of vertices that do not exist")
    return rows, columns, sources, targets


def _relation(reader: _ByteReader) -> tuple[int, int, Array, Array]:
    """``(rows, columns, sources, targets)`` of the first of the forms that are there."""
    reader.mark(_EDGES, "edges")
    saved = reader.number("q")
    saved = saved & 0xFFFFFFFF if saved >> 32 else 1 << max(saved - 1, 0)
    reader.number("q")
    relations: list[tuple[int, int, Array, Array]] = []
    if saved & _COO:
        _meta_graph(reader)
        relations.append(_coo(reader))
    for form in (_CSR, _CSC):
        if saved & form:
            _meta_graph(reader)
            rows, columns, sources, targets = _csr(reader)
            relations.append((rows, columns, sources, targets) if form == _CSR else (columns, rows, targets, sources))
    if not relations:
        raise _Malformed("edges in no form that is read")
    rows, columns, sources, targets = relations[0]
    for ends, count in ((sources, rows), (targets, columns)):
        if len(ends) and not 0 <= ends.min() <= ends.max() < count:
            raise _Malformed(f"an edge at vertex {ends.max()} of {count}")
    return relations[0]


def _coo(reader: _ByteReader) -> tuple[int, int, Array, Array]:
    reader.mark(_ENDS, "ends of edges")
    columns, rows = reader.number("q"), reader.number("q")
    sources, targets, numbers = reader.integers(), reader.integers(), reader.integers()
    reader.bytes(2)  # whether they are sorted
    if sources.shape != targets.shape:
        raise _Malformed(f"sources of shape {sources.shape} and targets of shape {targets.shape}")
    return rows, columns, _by_number(sources, numbers), _by_number(targets, numbers)


def _csr(reader: _ByteReader) -> tuple[int, int, Array, Array]:
    reader.mark(_ROWS, "rows of edges")
    columns, rows = reader.number("q"), reader.number("q")
    indptr, indices, numbers = reader.integers(), reader.integers(), reader.integers()
    reader.bytes(1)  # whether they are sorted
    steps = np.diff(indptr) if indptr.shape == (rows + 1,) else np.array([-1])
    if (steps < 0).any() or indptr[0] or indptr[-1] != len(indices):
        raise _Malformed("rows of a matrix that are not ascending")
    return rows, columns, _by_number(rows_of(indptr.astype(np.int64)), numbers), _by_number(indices, numbers)


def _by_number(values: Array, numbers: Array) -> Array:
    """Values in the order of their edges' numbers; unchanged without numbers."""
    if not numbers.size:
        return values
    if numbers.shape != values.shape or not np.array_equal(np.sort(numbers), np.arange(len(values))):
        raise _Malformed("numbers of edges that are not a permutation")
    out = np.empty_like(values)
    out[numbers] = values
    return out
