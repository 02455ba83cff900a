# SPDX-License-Identifier: Apache-2.0
"""OGB's node property data sets as downloaded, in text or (``ogbn-papers100M``) binary, of one type or several.

The files are those that OGB's own readers expect: ``raw/*.csv.gz``, or ``raw/data.npz`` with ``edge_index``,
``num_nodes_list``, ``node_*`` and ``edge_*`` and ``raw/node-label.npz``; and ``split/RULE/*.csv.gz``.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.graph.source import GraphSource, in_memory
from offramp.graph.typed import EdgeType, TypedSource, typed_in_memory
from offramp_base.archive import Archive, open_archive
from offramp_base.errors import OfframpError

_BETWEEN: Final = "___"
_PARTS: Final = {"valid": "val"}
_FIELDS: Final = {"node_feat": "x", "edge_feat": "edge_attr"}
_TEXT: Final = Path("raw/edge.csv.gz")
_BINARY: Final = Path("raw/data.npz")
_TYPES: Final = Path("raw/triplet-list.csv.gz")


def is_ogb(path: Path) -> bool:
    """Whether a folder has OGB's raw files of a graph of one type."""
    return (path / _TEXT).exists() or (path / _BINARY).exists()


def is_typed_ogb(path: Path) -> bool:
    """Whether a folder has OGB's raw files of a graph of several types."""
    return (path / _TYPES).exists()


def open_ogb(path: Path) -> GraphSource:
    """A data set of one type; arrays of binary files are mapped, as they may be larger than memory.

    Raises:
        OfframpError: a file that is missing or malformed, or no room for what a compressed file holds.
    """
    if (path / _BINARY).exists():
        return _binary(path)
    edges = _table(path / _TEXT, "int64", 2)
    count = int(_table(path / "raw/num-node-list.csv.gz", "int64").sum())
    fields: dict[str, Any] = {}
    for name, field, dtype in (("node-feat", "x", "float32"), ("node_year", "year", "int64")):
        if (path / f"raw/{name}.csv.gz").exists():
            fields[field] = _table(path / f"raw/{name}.csv.gz", dtype)
    if (path / "raw/node-label.csv.gz").exists():
        fields["y"] = _labels(_table(path / "raw/node-label.csv.gz", "float64"))
    fields |= _masks(sorted((path / "split").glob("*/*.csv.gz")), count)
    features = path / "raw/edge-feat.csv.gz"
    of_edges = {"edge_attr": _table(features, "float32")} if features.exists() else {}
    return in_memory(path.name, count, edges[:, 0], edges[:, 1], fields, of_edges)


def _binary(path: Path) -> GraphSource:
    file = path / _BINARY
    with open_archive(file) as archive:
        index = archive.mapped("edge_index", "iu", 2)
        if len(index) != 2:
            raise OfframpError(f"{file}: edge_index: expected shape (2, edges), got {index.shape}")
        count = int(archive.integers("num_nodes_list").sum())
        named = {name: _mapped(archive, name) for name in archive if name.startswith(("node_", "edge_"))}
    del named["edge_index"]
    fields = {_FIELDS.get(k, k.removeprefix("node_")): rows for k, rows in named.items() if k.startswith("node_")}
    of_edges = {_FIELDS.get(k, k): rows for k, rows in named.items() if k.startswith("edge_")}
    labels = path / "raw/node-label.npz"
    if labels.exists():
        with open_archive(labels) as archive:
            fields["y"] = _labels(archive.read("node_label", "iuf", 2))
    fields |= _masks(sorted((path / "split").glob("*/*.csv.gz")), count)
    return in_memory(path.name, count, index[0], index[1], fields, of_edges)


def _mapped(archive: Archive, name: str) -> npt.NDArray[Any]:
    """Rows of vertices or edges of any number of columns."""
    return archive.mapped(name, "iufb", len(archive.header(name)[0]))


def open_typed_ogb(path: Path) -> TypedSource:
    """A data set of several types (``ogbn-mag``).

    Raises:
        OfframpError: a file that is missing or malformed.
    """
    raw = path / "raw"
    sizes = _words(raw / "num-node-dict.csv.gz")
    if len(sizes) < 2 or len(sizes[0]) != len(sizes[1]) or not all(size.isdecimal() for size in sizes[1]):
        raise OfframpError(f"{raw}/num-node-dict.csv.gz: expected a row of types, and one of their vertices")
    counts = {name: int(size) for name, size in zip(*sizes[:2], strict=True)}
    vertices: dict[str, dict[str, Any]] = {name: {} for name in counts}
    for name, fields in vertices.items():
        for file, field, dtype in (("feat", "x", "float32"), ("label", "y", "float64"), ("year", "year", "int64")):
            table = raw / f"node-{file}" / name / f"node-{file}.csv.gz"
            if not table.exists():
                table = raw / f"node_{file}" / name / f"node_{file}.csv.gz"
            if table.exists():
                fields[field] = _table(table, dtype)
        if "y" in fields:
            fields["y"] = _labels(fields["y"])
        fields |= _masks(sorted((path / "split").glob(f"*/{name}/*.csv.gz")), counts[name])
    edges: dict[EdgeType, dict[str, Any]] = {}
    for words in _words(path / _TYPES):
        if len(words) != 3:
            raise OfframpError(f"{path / _TYPES}: expected rows of 3 words, got {','.join(words)!r:.60}")
        source, relation, target = words
        folder = raw / "relations" / _BETWEEN.join((source, relation, target))
        columns: dict[str, Any] = {"edge_index": _table(folder / "edge.csv.gz", "int64", 2).T}
        if (folder / "edge-feat.csv.gz").exists():
            columns["edge_attr"] = _table(folder / "edge-feat.csv.gz", "float32")
        edges[source, relation, target] = columns
    return typed_in_memory(path.name, counts, vertices, edges)


def _labels(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One column is classes, -1 where there is none; several are several to a vertex."""
    return np.nan_to_num(table, nan=-1).astype(np.int64).squeeze(1) if table.shape[1] == 1 else table


def _masks(files: Sequence[Path], count: int) -> dict[str, npt.NDArray[np.bool_]]:
    """The parts of a split as masks, by PyG's names.

    Raises:
        OfframpError: a vertex that is not there.
    """
    masks = {}
    for file in files:
        rows = _table(file, "int64").ravel()
        if rows.size and not 0 <= rows.min() <= rows.max() < count:
            raise OfframpError(f"{file}: expected vertices from 0 to {count - 1}, got {rows.min()} to {rows.max()}")
        name = file.name.partition(".")[0]
        mask = np.zeros(count, np.bool_)
        mask[rows] = True
        masks[f"{_PARTS.get(name, name)}_mask"] = mask
    return masks


def _table(path: Path, dtype: str, columns: int | None = None) -> npt.NDArray[Any]:
    try:
        with gzip.open(path, "rt") as file:
            table = np.loadtxt(file, dtype=dtype, delimiter=",", ndmin=2)
    except (OSError, ValueError, EOFError) as error:
        raise OfframpError(f"{path}: expected a table of numbers: {error}") from None
    if columns is not None and table.size and table.shape[1] != columns:
        raise OfframpError(f"{path}: expected {columns} columns, got {table.shape[1]}")
    return table if table.size else table.reshape(0, columns or 1)


def _words(path: Path) -> list[list[str]]:
    """Rows of words between commas."""
    try:
        with gzip.open(path, "rt") as file:
            rows = [line.strip().split(",") for line in file if line.strip()]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise OfframpError(f"{path}: expected a table of words: {error}") from None
    for word in (word for row in rows for word in row if "/" in word):  # they become names of folders
        raise OfframpError(f"{path}: expected words without /, got {word!r:.60}")
    return rows
