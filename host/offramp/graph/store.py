# SPDX-License-Identifier: Apache-2.0
"""A partitioned graph in a folder: written once; each rank opens its part.

``manifest.json`` says what there is, with the CRC-32 of every file; ``owner.npy`` has the part of each vertex. The
folder of a part has ``ids.npy`` (its vertices, ascending), ``indptr.npy`` and ``sources.npy`` (the edges into them, by
target; sources in local numbers: own vertices, then the halo), ``edge_ids.npy``, ``halo_ids.npy`` (by owner), and
``vertex.NAME.npy`` and ``edge.NAME.npy``, which are mapped into memory.

Of a graph of several types the manifest names the types. ``owner-I.npy`` are the parts of the vertices of type I; in
the folder of a part ``vertices-I`` has their ``ids``, ``halo_ids`` (sources of edges of any type) and fields, and
``edges-J`` has ``indptr``, ``sources``, ``edge_ids`` and fields of the edges of type J.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from offramp.graph.csr import IntArray
from offramp.graph.source import GraphSource, forget
from offramp.graph.typed import ITS_EDGES, ONE_TYPE, EdgeType, TypedSource, as_typed
from offramp_base.documents import parse_json, read_text
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError
from offramp_base.progress import report

FORMAT: Final = "offramp.graph.store/1"
TYPED: Final = "offramp.graph.store/2"
"""Format of a store of a graph of several types."""
MANIFEST: Final = "manifest.json"
_ROWS: Final = 1 << 16
_VERTEX_FILES: Final = ("ids", "halo_ids")
_EDGE_FILES: Final = ("indptr", "sources", "edge_ids")
_PIECE: Final = 1 << 24


@dataclass(frozen=True)
class Manifest:
    """The contents of a store, as its manifest lists them.

    Attributes:
        format: format of the store.
        name: name of the graph.
        vertices, edges, parts: number of each.
        method: method of partitioning.
        cut_edges: edges whose ends have different owners.
        halo: rows of others that the parts need, together.
        notes: notes on reading the graph.
        files: CRC-32 of each file, by its path.
        vertex_types: vertices of each type; empty where there is one.
        edge_types: types of sources, names, types of targets, and how many edges; empty where there is one.
    """

    format: str
    name: str
    vertices: int
    edges: int
    parts: int
    method: str
    cut_edges: int
    halo: int
    notes: dict[str, Any]
    files: dict[str, int]
    vertex_types: dict[str, int] = field(default_factory=dict)
    edge_types: list[tuple[str, str, str, int]] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Vertices of each type, also where there is one."""
        return self.vertex_types or {ONE_TYPE: self.vertices}

    @property
    def relations(self) -> list[EdgeType]:
        """Types of edges, also where there is one."""
        return [(s, name, t) for s, name, t, _ in self.edge_types] or [ITS_EDGES]

    def owner_file(self, name: str) -> str:
        """Path of the parts of a type's vertices."""
        return f"owner-{list(self.vertex_types).index(name)}.npy" if self.vertex_types else "owner.npy"

    def vertex_folder(self, part: int, name: str) -> str:
        """Path of a part's vertices of a type, with a slash at its end."""
        return f"part-{part}/" + (f"vertices-{list(self.vertex_types).index(name)}/" if self.vertex_types else "")

    def edge_folder(self, part: int, key: EdgeType) -> str:
        """Path of a part's edges of a type, with a slash at its end."""
        return f"part-{part}/" + (f"edges-{self.relations.index(key)}/" if self.edge_types else "")


def write_store(
    source: GraphSource | TypedSource, owner: npt.NDArray[np.integer], parts: int, folder: Path, method: str
) -> Manifest:
    """Write a partitioned store; the manifest comes last, so that a folder without one is not a store.

    Memory: 5 bytes for each vertex, and 40 for each edge of the largest part.

    Args:
        source: the graph.
        owner: ``(vertices,)`` part of each vertex; of several types those of one after those of the other.
        parts: number of parts.
        folder: empty, or not there yet.
        method: method for the manifest.

    Raises:
        OfframpError: the folder is not empty, or cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise OfframpError(f"{folder}: expected an empty folder, or none")
    folder.mkdir(parents=True, exist_ok=True)
    graph = as_typed(source)
    owners = graph.by_type(np.ascontiguousarray(owner, np.int32))
    edges = sum(relation.edges for relation in graph.relations.values())
    shape = sum(graph.counts.values()), edges, parts
    manifest = Manifest(FORMAT, graph.name, *shape, method, 0, 0, _plain(graph.notes), {})
    if isinstance(source, TypedSource):
        names = [(*key, relation.edges) for key, relation in graph.relations.items()]
        manifest = replace(manifest, format=TYPED, vertex_types=graph.counts, edge_types=names)
    try:
        for name, of in owners.items():
            np.save(folder / manifest.owner_file(name), of)
        counts = {key: _spool(graph, key, owners, parts, folder) for key in graph.relations}
        cut = halo = 0
        for part in range(parts):
            report("parts", part, parts)
            there = _PartWriter(graph, owners, manifest, part, folder).write({k: of[part] for k, of in counts.items()})
            cut, halo = cut + there[0], halo + there[1]
            report("parts", part + 1, parts)
        files = {str(each.relative_to(folder)): checksum(each) for each in sorted(folder.rglob("*.npy"))}
        manifest = replace(manifest, cut_edges=cut, halo=halo, files=files)
        write_text(folder / MANIFEST, json.dumps(_as_json(manifest), indent=1) + "\n")
    except OSError as error:
        raise OfframpError(f"{folder}: cannot be written: {error.strerror}") from None
    return manifest


def _as_json(manifest: Manifest) -> dict[str, Any]:
    """The manifest as JSON, without types where there is one of each."""
    return {name: value for name, value in asdict(manifest).items() if value or not name.endswith("_types")}


def _plain(notes: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in notes.items() if isinstance(value, bool | int | float | str)}


def _spool_file(folder: Path, graph: TypedSource, key: EdgeType, part: int) -> Path:
    return folder / f"spool-{list(graph.relations).index(key)}-{part}"


def _spool(
    graph: TypedSource, key: EdgeType, owners: dict[str, npt.NDArray[np.int32]], parts: int, folder: Path
) -> list[int]:
    """Edges of a type by the owners of their targets: (source, target, number) in a file for each part."""
    counts, start, owner = [0] * parts, 0, owners[key[2]]
    files = [_spool_file(folder, graph, key, part).open("wb") for part in range(parts)]
    try:
        for u, v in graph.relations[key].chunks():
            to = owner[v]
            numbers = np.arange(start, start + len(u))
            for part in np.unique(to).tolist():
                mine = to == part
                files[part].write(np.stack([u[mine], v[mine], numbers[mine]], axis=1).tobytes())
                counts[part] += int(mine.sum())
            start += len(u)
            report("edges by owner", start, graph.relations[key].edges)
    finally:
        for file in files:
            file.close()
    return counts


class _PartWriter:
    """The files of one part: edges of each type, then vertices with the halo of all their edges."""

    def __init__(
        self,
        graph: TypedSource,
        owners: dict[str, npt.NDArray[np.int32]],
        manifest: Manifest,
        part: int,
        folder: Path,
    ) -> None:
        self._graph, self._owners, self._manifest = graph, owners, manifest
        self._part, self._folder = part, folder
        self._ids = {name: np.flatnonzero(of == part).astype(np.int64) for name, of in owners.items()}

    def write(self, edges: dict[EdgeType, int]) -> tuple[int, int]:
        """Args: edges: of the part, by type. Returns its cut edges and the size of its halo."""
        sources = {key: self._write_edges(key, count) for key, count in edges.items()}
        cut = halo = 0
        for name in self._graph.counts:
            there = self._write_vertices(name, {key: of for key, of in sources.items() if key[0] == name})
            cut, halo = cut + there[0], halo + there[1]
        return cut, halo

    def _write_edges(self, key: EdgeType, count: int) -> IntArray:
        """All of the edges but their sources' local numbers; the sources in the whole graph."""
        into = self._folder / self._manifest.edge_folder(self._part, key)
        into.mkdir(parents=True, exist_ok=True)
        spool = _spool_file(self._folder, self._graph, key, self._part)
        table = np.fromfile(spool, np.int64).reshape(count, 3)
        spool.unlink()
        order = np.argsort(table[:, 1], kind="stable")
        ids = self._ids[key[2]]
        rows = np.searchsorted(ids, table[order, 1])
        numbers = table[order, 2]
        sources: IntArray = table[order, 0]
        del table, order
        np.save(into / "indptr.npy", np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(ids)))]))
        np.save(into / "edge_ids.npy", numbers)
        for name, values in self._graph.relations[key].fields.items():
            _copy_rows(values, numbers, into / f"edge.{name}.npy")
        return sources

    def _write_vertices(self, name: str, sources: dict[EdgeType, IntArray]) -> tuple[int, int]:
        """Vertices of a type, and local numbers of the sources that are of it."""
        into = self._folder / self._manifest.vertex_folder(self._part, name)
        into.mkdir(parents=True, exist_ok=True)
        ids, owner = self._ids[name], self._owners[name]
        remote = {key: owner[of] != self._part for key, of in sources.items()}
        none = np.zeros(0, np.int64)
        by_id = np.unique(np.concatenate([none, *(of[remote[key]] for key, of in sources.items())]))
        by_owner = np.argsort(owner[by_id], kind="stable")
        place = np.empty(len(by_id), np.int64)
        place[by_owner] = np.arange(len(by_id))
        for key, of in sources.items():
            local = np.empty(len(of), np.int64)
            far = remote[key]
            local[~far] = np.searchsorted(ids, of[~far])
            local[far] = len(ids) + place[np.searchsorted(by_id, of[far])]
            np.save(self._folder / self._manifest.edge_folder(self._part, key) / "sources.npy", local)
        np.save(into / "ids.npy", ids)
        np.save(into / "halo_ids.npy", by_id[by_owner])
        for field_name, values in self._graph.vertex_fields.get(name, {}).items():
            _copy_rows(values, ids, into / f"vertex.{field_name}.npy")
        return sum(int(far.sum()) for far in remote.values()), len(by_id)


def _copy_rows(values: Any, rows: IntArray, path: Path) -> None:
    """Rows of an array, sparse or mapped from a file, some at a time."""
    shape = (len(rows), *values.shape[1:])
    header = {"descr": np.lib.format.dtype_to_descr(values.dtype), "fortran_order": False, "shape": shape}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(rows), _ROWS):
            some = values[rows[start : start + _ROWS]]
            file.write(np.ascontiguousarray(some.toarray() if issparse(some) else some).tobytes())
            forget(values)


def checksum(path: Path) -> int:
    """CRC-32 of a file."""
    total = 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            total = zlib.crc32(piece, total)
    return total


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a graph store.

    Raises:
        OfframpError: no store, or of another version.
    """
    if not (folder / MANIFEST).is_file():
        raise OfframpError(f"{folder}: expected a store of offramp graph partition; it has no {MANIFEST}")
    content = parse_json(read_text(folder / MANIFEST))
    if not isinstance(content, dict) or content.get("format") not in (FORMAT, TYPED):
        raise OfframpError(f"{folder / MANIFEST}: expected format {FORMAT} or {TYPED}")
    try:
        manifest = Manifest(**content)
        numbers = manifest.vertices, manifest.edges, manifest.parts, *manifest.vertex_types.values()
        whole = all(isinstance(n, int) and n >= 0 for n in numbers)
        whole = whole and all(isinstance(c, int) for c in manifest.files.values())
        whole = whole and bool(manifest.vertex_types) == (manifest.format == TYPED)
        ends = {end for s, _, t, _ in manifest.edge_types for end in (s, t)}
        whole = whole and sum(manifest.counts.values()) == manifest.vertices and ends <= manifest.vertex_types.keys()
    except (TypeError, AttributeError, ValueError):
        whole = False
    if not whole:
        raise OfframpError(f"{folder / MANIFEST}: damaged")
    return manifest


@dataclass(frozen=True)
class StoredVertices:
    """A part's vertices of a type; arrays are mapped from files.

    Attributes:
        owner: ``(N,)`` part of each vertex of the whole graph.
        ids, halo_ids: vertices of the whole graph.
        fields: arrays with one row for each own vertex, by name.
    """

    owner: npt.NDArray[np.int32]
    ids: IntArray
    halo_ids: IntArray
    fields: dict[str, Any]


@dataclass(frozen=True)
class StoredEdges:
    """A part's edges of a type, by target; arrays are mapped from files.

    Attributes:
        indptr: ``(n + 1,)`` edges of each own vertex.
        sources: ``(E,)`` local numbers: own vertices, then the halo.
        edge_ids: ``(E,)`` edges of the whole graph.
        fields: arrays with one row for each edge, by name.
    """

    indptr: IntArray
    sources: IntArray
    edge_ids: IntArray
    fields: dict[str, Any]


@dataclass(frozen=True)
class StoredPart:
    """One part of a store.

    Attributes:
        manifest: manifest of the store.
        vertices, edges: vertices and edges by type.
    """

    manifest: Manifest
    vertices: dict[str, StoredVertices]
    edges: dict[EdgeType, StoredEdges]


def read_part(folder: Path, part: int, parts: int, *, verify: bool = True) -> StoredPart:
    """One of ``parts`` parts.

    Args:
        folder: folder of the store.
        part: which.
        parts: number of parts that the reader expects.
        verify: compare the checksums of everything that is opened; features are read once for that.

    Raises:
        OfframpError: another number of parts, or a file that is missing or damaged.
    """
    manifest = read_manifest(folder)
    if manifest.parts != parts:
        raise OfframpError(f"{folder}: has {manifest.parts} parts, expected one for each of {parts} ranks")

    def opened(inside: str, needed: tuple[str, ...], prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arrays of a folder that are there in any case, and its fields."""
        missing = [name for name in needed if f"{inside}{name}.npy" not in manifest.files]
        if missing:
            raise OfframpError(f"{folder / MANIFEST}: names no {inside}{missing[0]}.npy")
        beginning = f"{inside}{prefix}."
        names = [n.removeprefix(beginning).removesuffix(".npy") for n in manifest.files if n.startswith(beginning)]
        fields = {name: _open(folder, f"{beginning}{name}.npy", manifest, verify) for name in names}
        return {name: _open(folder, f"{inside}{name}.npy", manifest, verify) for name in needed}, fields

    vertices, edges = {}, {}
    for name in manifest.counts:
        arrays, fields = opened(manifest.vertex_folder(part, name), _VERTEX_FILES, "vertex")
        owner = _open(folder, manifest.owner_file(name), manifest, verify)
        vertices[name] = StoredVertices(owner, **arrays, fields=fields)
    for key in manifest.relations:
        arrays, fields = opened(manifest.edge_folder(part, key), _EDGE_FILES, "edge")
        edges[key] = StoredEdges(**arrays, fields=fields)
    stored = StoredPart(manifest, vertices, edges)
    _check(folder / f"part-{part}", stored)
    return stored


def _open(folder: Path, name: str, manifest: Manifest, verify: bool) -> Any:
    path = folder / name
    try:
        if verify and checksum(path) != manifest.files[name]:
            raise OfframpError(f"{path}: damaged: its checksum is not the manifest's")
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, KeyError) as error:
        raise OfframpError(f"{path}: missing or damaged: {error}") from None


def _check(where: Path, part: StoredPart) -> None:
    fit = all(
        of.owner.shape == (part.manifest.counts[name],) and all(len(each) == len(of.ids) for each in of.fields.values())
        for name, of in part.vertices.items()
    )
    for key, of in part.edges.items():
        source, target, edges = part.vertices[key[0]], part.vertices[key[2]], len(of.sources)
        fit = fit and (
            of.indptr.shape == (len(target.ids) + 1,)
            and int(of.indptr[-1]) == edges
            and of.edge_ids.shape == (edges,)
            and all(len(each) == edges for each in of.fields.values())
            and (not edges or 0 <= of.sources.min() <= of.sources.max() < len(source.ids) + len(source.halo_ids))
        )
    if not fit:
        raise OfframpError(f"{where}: its files do not fit together")
