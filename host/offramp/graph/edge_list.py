# SPDX-License-Identifier: Apache-2.0
"""Graphs as text: one edge a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.graph.data import Graph, build_graph
from offramp_base.archive import read_array
from offramp_base.documents import read_text
from offramp_base.errors import OfframpError, first_line

SUFFIXES = (".txt", ".csv", ".tsv", ".edges", ".el", ".mtx")
_COMMENTS = ("#", "%")
_HEADING = 200
"""Bytes of a heading that are looked at."""


def read_edge_list(
    path: Path, split: str | None, seed: int, features: Path | None = None, labels: Path | None = None
) -> Graph:
    """A graph from lines ``u v`` (``u,v`` in ``.csv``); further columns, ``#`` and ``%`` lines are ignored.

    An ``.mtx`` file is one of Matrix Market's square coordinate matrices, whose values are ignored: vertex 0 is row 1.
    With ``features`` (``.npy``, or text with one row per vertex) or ``labels`` (likewise, one integer per vertex)
    ids are row numbers; without either, ids may have gaps and are renumbered in ascending order.

    Raises:
        OfframpError: a line that is not an edge (file, line number), or arrays that do not fit.
    """
    delimiter = "," if path.suffix == ".csv" else None
    pairs = _entries(path) if path.suffix == ".mtx" else _integers(path, delimiter, columns=2)
    if len(pairs) and pairs.min() < 0:
        raise OfframpError(f"{path}: expected vertex ids of at least 0")
    feature_rows = None if features is None else _matrix(features)
    label_rows = None if labels is None else _labels(labels)
    rows = [len(part) for part in (feature_rows, label_rows) if part is not None]
    if rows:
        n = rows[0]
        u, v = pairs[:, 0], pairs[:, 1]
    else:
        ids, ends = np.unique(pairs, return_inverse=True)
        n = len(ids)
        u, v = ends.reshape(-1, 2).T
    graph = build_graph(
        str(path),  # so that an error names the file
        n,
        (u, v),
        features=feature_rows,
        labels=label_rows,
        split=split or "planetoid",
        seed=seed,
    )
    graph.name = path.stem
    return graph


def _entries(path: Path) -> IntArray:
    """``(entries, 2)`` of a matrix, counted from 0."""
    try:
        with path.open("rb") as file:
            words = file.readline(_HEADING).lower().split()
    except OSError as error:
        raise OfframpError(f"{path}: {error.strerror}") from None
    if words[:3] != [b"%%matrixmarket", b"matrix", b"coordinate"]:
        raise OfframpError(f"{path}:1: expected %%MatrixMarket matrix coordinate")
    (rows, columns), *_ = pairs = _integers(path, None, columns=2)
    if rows != columns:
        raise OfframpError(f"{path}: expected as many rows as columns, got {rows} and {columns}")
    if len(pairs) == 1:
        raise OfframpError(f"{path}: expected at least one entry")
    if pairs[1:].min() < 1 or pairs[1:].max() > rows:
        raise OfframpError(f"{path}: expected indices of 1 to {rows}")
    return pairs[1:] - 1


def _integers(path: Path, delimiter: str | None, columns: int) -> IntArray:
    """``(lines, columns)`` of a text file, whose first line may be a heading."""
    lines = _lines(path)
    # A list of str goes through NumPy's C reader; line by line is left to the search for the culprit.
    wanted = [line for _, line in lines]
    if wanted and delimiter is not None and not wanted[0].split(delimiter)[0].strip().lstrip("-").isdigit():
        lines, wanted = lines[1:], wanted[1:]
    if not wanted:
        raise OfframpError(f"{path}: expected at least one line")
    try:
        return np.loadtxt(wanted, np.int64, delimiter=delimiter, usecols=range(columns), ndmin=2, comments=None)
    except (ValueError, OverflowError, IndexError):
        raise _culprit(path, lines, delimiter, columns) from None


def _culprit(path: Path, lines: list[tuple[int, str]], delimiter: str | None, columns: int) -> OfframpError:
    wanted = "one integer" if columns == 1 else f"{columns} integers"
    for number, line in lines:
        try:
            values = [int(part) for part in line.split(delimiter)[:columns]]
        except ValueError:
            values = []
        if len(values) < columns or not all(-(2**63) <= value < 2**63 for value in values):
            return OfframpError(f"{path}:{number}: expected {wanted}, got {line.strip()[:40]!r}")
    return OfframpError(f"{path}: expected {wanted} a line")


def _lines(path: Path) -> list[tuple[int, str]]:
    """Numbered lines that are neither empty nor comments."""
    try:
        text = read_text(path, None)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    return [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith(_COMMENTS)
    ]


def _matrix(path: Path) -> npt.NDArray[Any]:
    """``(n, F)`` numbers from ``.npy`` or text."""
    if path.suffix == ".npy":
        array = read_array(path)
    else:
        delimiter = "," if path.suffix == ".csv" else None
        try:
            array = np.loadtxt([line for _, line in _lines(path)], np.float32, delimiter=delimiter, ndmin=2)
        except ValueError as error:
            raise OfframpError(f"{path}: {first_line(error)}") from None
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise OfframpError(f"{path}: expected a matrix of numbers, one row per vertex")
    return array


def _labels(path: Path) -> npt.NDArray[Any]:
    """``(n,)`` integers from ``.npy`` or text."""
    if path.suffix != ".npy":
        return _integers(path, None, columns=1)[:, 0]
    return read_array(path)
