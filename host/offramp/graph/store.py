# SPDX-License-Identifier: Apache-2.0
"""A partitioned graph in a folder: written once, of which each rank opens its part.

``manifest.json`` says what there is, with the CRC-32 of every file; ``owner.npy`` has the part of each vertex. The
folder of a part has ``ids.npy`` (its vertices, ascending), ``indptr.npy`` and ``sources.npy`` (the edges into them, by
target; sources in local numbers: own vertices, then the halo), ``edge_ids.npy``, ``halo_ids.npy`` (by owner), and
``vertex.NAME.npy`` and ``edge.NAME.npy``, which are mapped into memory.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from offramp.graph.csr import IntArray
from offramp.graph.source import GraphSource, forget
from offramp_base.documents import parse_json, read_text
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError
from offramp_base.progress import report

FORMAT: Final = "offramp.graph.store/1"
MANIFEST: Final = "manifest.json"
_ROWS: Final = 1 << 16
_EDGE_FILES: Final = ("indptr", "sources", "edge_ids", "ids", "halo_ids")
_PIECE: Final = 1 << 24


@dataclass(frozen=True)
class Manifest:
    """What a store holds.

    Attributes:
        format: of the store.
        name: of the graph.
        vertices, edges, parts: how many.
        method: by which it was cut.
        cut_edges: edges whose ends have different owners.
        halo: rows of others that the parts need, together.
        notes: what reading the graph did.
        files: CRC-32 of each file, by its path.
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


def write_store(source: GraphSource, owner: npt.NDArray[np.integer], parts: int, folder: Path, method: str) -> Manifest:
    """Write a partitioned store; the manifest comes last, so that a folder without one is no store.

    Memory: 5 bytes for each vertex, and 40 for each edge of the largest part.

    Raises:
        OfframpError: the folder is not empty, or cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise OfframpError(f"{folder}: expected an empty folder, or none")
    folder.mkdir(parents=True, exist_ok=True)
    owners: npt.NDArray[np.int32] = np.ascontiguousarray(owner, np.int32)
    try:
        np.save(folder / "owner.npy", owners)
        counts = _spool(source, owners, parts, folder)
        cut = halo = 0
        for part in range(parts):
            report("parts", part, parts)
            there = _write_part(source, owners, part, counts[part], folder)
            cut, halo = cut + there[0], halo + there[1]
            report("parts", part + 1, parts)
        files = {str(each.relative_to(folder)): checksum(each) for each in sorted(folder.rglob("*.npy"))}
        shape = source.vertices, source.edges, parts
        manifest = Manifest(FORMAT, source.name, *shape, method, cut, halo, _plain(source.notes), files)
        write_text(folder / MANIFEST, json.dumps(asdict(manifest), indent=1) + "\n")
    except OSError as error:
        raise OfframpError(f"{folder}: cannot be written: {error.strerror}") from None
    return manifest


def _plain(notes: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in notes.items() if isinstance(value, bool | int | float | str)}


def _spool(source: GraphSource, owner: npt.NDArray[np.int32], parts: int, folder: Path) -> list[int]:
    """Edges by the owners of their targets: (source, target, number) in a file for each part."""
    counts, start = [0] * parts, 0
    files = [(folder / f"spool-{part}").open("wb") for part in range(parts)]
    try:
        for u, v in source.chunks():
            to = owner[v]
            numbers = np.arange(start, start + len(u))
            for part in np.unique(to).tolist():
                mine = to == part
                files[part].write(np.stack([u[mine], v[mine], numbers[mine]], axis=1).tobytes())
                counts[part] += int(mine.sum())
            start += len(u)
            report("edges by owner", start, source.edges)
    finally:
        for file in files:
            file.close()
    return counts


def _write_part(
    source: GraphSource, owner: npt.NDArray[np.int32], part: int, edges: int, folder: Path
) -> tuple[int, int]:
    """The files of one part; returns its cut edges and the size of its halo."""
    into = folder / f"part-{part}"
    into.mkdir()
    spool = folder / f"spool-{part}"
    table = np.fromfile(spool, np.int64).reshape(edges, 3)
    spool.unlink()
    order = np.argsort(table[:, 1], kind="stable")
    ids = np.flatnonzero(owner == part).astype(np.int64)
    rows = np.searchsorted(ids, table[order, 1])
    sources, numbers = table[order, 0], table[order, 2]
    del table, order
    remote = owner[sources] != part
    halo = np.unique(sources[remote])
    by_id = halo
    by_owner = np.argsort(owner[halo], kind="stable")
    halo = halo[by_owner]
    place = np.empty(len(halo), np.int64)
    place[by_owner] = np.arange(len(halo))
    local = np.empty(edges, np.int64)
    local[~remote] = np.searchsorted(ids, sources[~remote])
    local[remote] = len(ids) + place[np.searchsorted(by_id, sources[remote])]
    np.save(into / "ids.npy", ids)
    np.save(into / "halo_ids.npy", halo)
    np.save(into / "indptr.npy", np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(ids)))]))
    np.save(into / "sources.npy", local)
    np.save(into / "edge_ids.npy", numbers)
    for prefix, fields, chosen in (("vertex", source.vertex_fields, ids), ("edge", source.edge_fields, numbers)):
        for name, values in fields.items():
            _copy_rows(values, chosen, into / f"{prefix}.{name}.npy")
    return int(remote.sum()), len(halo)


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
    """What a store holds.

    Raises:
        OfframpError: no store, or of another version.
    """
    if not (folder / MANIFEST).is_file():
        raise OfframpError(f"{folder}: expected a store of offramp graph partition; it has no {MANIFEST}")
    content = parse_json(read_text(folder / MANIFEST))
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise OfframpError(f"{folder / MANIFEST}: expected format {FORMAT}")
    try:
        manifest = Manifest(**content)
        whole = all(isinstance(n, int) and n >= 0 for n in (manifest.vertices, manifest.edges, manifest.parts))
        whole = whole and all(isinstance(c, int) for c in manifest.files.values())
    except (TypeError, AttributeError):
        whole = False
    if not whole:
        raise OfframpError(f"{folder / MANIFEST}: damaged")
    return manifest


@dataclass(frozen=True)
class StoredPart:
    """One part of a store; arrays are mapped from files.

    Attributes:
        manifest: of the store.
        owner: ``(N,)`` part of each vertex of the whole graph.
        ids, halo_ids: vertices of the whole graph.
        indptr: ``(n + 1,)`` edges of each own vertex.
        sources: ``(E,)`` local numbers.
        edge_ids: ``(E,)`` edges of the whole graph.
        vertex_fields, edge_fields: arrays by name.
    """

    manifest: Manifest
    owner: npt.NDArray[np.int32]
    ids: IntArray
    halo_ids: IntArray
    indptr: IntArray
    sources: IntArray
    edge_ids: IntArray
    vertex_fields: dict[str, Any]
    edge_fields: dict[str, Any]


def read_part(folder: Path, part: int, parts: int, *, verify: bool = True) -> StoredPart:
    """One of ``parts`` parts.

    Args:
        folder: of the store.
        part: which.
        parts: that whoever reads expects.
        verify: compare the checksums of everything that is opened; features are read once for that.

    Raises:
        OfframpError: another number of parts, or a file that is missing or damaged.
    """
    manifest = read_manifest(folder)
    if manifest.parts != parts:
        raise OfframpError(f"{folder}: has {manifest.parts} parts, expected one for each of {parts} ranks")
    inside = f"part-{part}/"
    names = ["owner.npy", *(name for name in manifest.files if name.startswith(inside))]
    missing = [name for name in _EDGE_FILES if f"{inside}{name}.npy" not in names]
    if missing:
        raise OfframpError(f"{folder / MANIFEST}: names no {inside}{missing[0]}.npy")
    arrays = {name.removeprefix(inside).removesuffix(".npy"): _open(folder, name, manifest, verify) for name in names}
    fields: dict[str, dict[str, Any]] = {"vertex": {}, "edge": {}}
    for name, values in arrays.items():
        prefix, dot, short = name.partition(".")
        if dot and prefix in fields:
            fields[prefix][short] = values
    csr = {name: arrays[name] for name in ("owner", *_EDGE_FILES)}
    found = StoredPart(manifest, **csr, vertex_fields=fields["vertex"], edge_fields=fields["edge"])
    _check(folder / inside, found)
    return found


def _open(folder: Path, name: str, manifest: Manifest, verify: bool) -> Any:
    path = folder / name
    try:
        if verify and checksum(path) != manifest.files[name]:
            raise OfframpError(f"{path}: damaged: its checksum is not the manifest's")
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, KeyError) as error:
        raise OfframpError(f"{path}: missing or damaged: {error}") from None


def _check(where: Path, part: StoredPart) -> None:
    n, edges = len(part.ids), len(part.sources)
    wrong = (
        part.owner.shape != (part.manifest.vertices,)
        or part.indptr.shape != (n + 1,)
        or int(part.indptr[-1]) != edges
        or part.edge_ids.shape != (edges,)
        or any(len(values) != n for values in part.vertex_fields.values())
        or any(len(values) != edges for values in part.edge_fields.values())
    )
    if wrong or (edges and not 0 <= part.sources.min() <= part.sources.max() < n + len(part.halo_ids)):
        raise OfframpError(f"{where}: its files do not fit together")
