# SPDX-License-Identifier: Apache-2.0
"""Graphs of the MUSAE collection as SNAP distributes them (Rozemberczki, Allen and Sarkar, 2021).

A folder holds three files, whose names begin with the graph's: ``_edges.csv`` with two ids a line, ``_features.json``
with each vertex's non-zero columns, and ``_target.csv`` with a column ``id`` and the class in its last column. SNAP's
``facebook_large.zip``, ``git_web_ml.zip`` and ``lastfm_asia.zip`` are such folders.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from offramp.graph.csr import IntArray
from offramp.graph.data import Graph, build_graph
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError

_EDGES = "_edges.csv"
_MOST_COLUMNS = 1 << 24
"""Features' columns are numbered; a number beyond this is not a number of a word or a page."""


def is_musae(folder: Path) -> bool:
    """Whether a folder holds edges and classes of one graph by the names of this collection."""
    return any(_beside(edges, "_target.csv") is not None for edges in folder.glob(f"*{_EDGES}"))


def read_musae(folder: Path, split: str | None, seed: int) -> Graph:
    """The graph in such a folder; classes are numbered in alphabetical order.

    Raises:
        OfframpError: more than one graph, a missing file, or a line that does not fit (file, line number).
    """
    edges = sorted(folder.glob(f"*{_EDGES}"))
    if len(edges) > 1:
        raise OfframpError(f"{folder}: expected the edges of one graph, got {', '.join(path.name for path in edges)}")
    target = _beside(edges[0], "_target.csv") if edges else None
    if target is None:
        raise OfframpError(f"{folder}: expected NAME_edges.csv and NAME_target.csv")
    classes = _classes(target)
    features = _beside(edges[0], "_features.json")
    pairs = _pairs(edges[0])
    graph = build_graph(
        str(edges[0]),  # so that an error names the file
        len(classes),
        (pairs[:, 0], pairs[:, 1]),
        features=None if features is None else _features(features, len(classes)),
        labels=np.unique(np.array(classes), return_inverse=True)[1],
        split=split or "planetoid",
        seed=seed,
    )
    graph.name = edges[0].name.removesuffix(_EDGES)
    return graph


def _beside(edges: Path, suffix: str) -> Path | None:
    path = edges.with_name(edges.name.removesuffix(_EDGES) + suffix)
    return path if path.is_file() else None


def _rows(path: Path) -> list[list[str]]:
    """Lines behind the header, each with the header's number of columns."""
    try:
        rows = list(csv.reader(read_text(path, None).splitlines(), strict=True))
    except (OfframpError, csv.Error) as error:
        raise OfframpError(f"{path}: {error}") from None
    if not rows:
        raise OfframpError(f"{path}: expected a line with names of columns")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]) or len(row) < 2:
            raise OfframpError(f"{path}:{number}: {len(row)} columns, expected {max(2, len(rows[0]))}")
    return rows


def _number(path: Path, line: int, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise OfframpError(f"{path}:{line}: expected the number of a vertex, got {text[:40]!r}")
    return int(text)


def _pairs(path: Path) -> IntArray:
    rows = _rows(path)[1:]
    ends = [(_number(path, line, row[0]), _number(path, line, row[1])) for line, row in enumerate(rows, 2)]
    return np.array(ends, np.int64).reshape(-1, 2)


def _classes(path: Path) -> list[str]:
    """The class of each vertex."""
    header, *rows = _rows(path)
    if "id" not in header:
        raise OfframpError(f"{path}:1: expected a column id")
    column = header.index("id")
    class_of: dict[int, str] = {}
    for line, row in enumerate(rows, 2):
        vertex = _number(path, line, row[column])
        if vertex in class_of:
            raise OfframpError(f"{path}:{line}: vertex {vertex} is given twice")
        class_of[vertex] = row[-1]
    missing = next((vertex for vertex in range(len(class_of)) if vertex not in class_of), None)
    if missing is not None:
        raise OfframpError(f"{path}: vertex {missing} of {len(class_of)} is missing")
    return [class_of[vertex] for vertex in range(len(class_of))]


def _features(path: Path, vertices: int) -> Any:
    """``(vertices, columns)`` ones and zeros."""
    try:
        document = parse_json(read_text(path, None))
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    if not isinstance(document, dict):
        raise OfframpError(f"{path}: expected an object of lists by vertex")
    lists: list[list[int]] = []
    for vertex in range(vertices):
        columns = document.get(str(vertex))
        if not isinstance(columns, list) or not all(type(c) is int and 0 <= c < _MOST_COLUMNS for c in columns):
            raise OfframpError(f"{path}: vertex {vertex}: expected a list of columns from 0 to {_MOST_COLUMNS - 1}")
        lists.append(sorted(set(columns)))
    indices = np.array([c for columns in lists for c in columns], np.int64)
    indptr = np.concatenate([[0], np.cumsum([len(columns) for columns in lists])])
    shape = (vertices, int(indices.max(initial=0)) + 1)
    return csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=shape)
