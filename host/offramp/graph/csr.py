# SPDX-License-Identifier: Apache-2.0
"""Compressed sparse rows: the one form in which adjacency is kept."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

IntArray = npt.NDArray[np.int64]


class Adjacency(Protocol):
    """Anything with CSR arrays: a :class:`~offramp.graph.data.Graph`, a ``scipy.sparse.csr_array``."""

    @property
    def indptr(self) -> IntArray:
        """``(n + 1,)`` start of each row's entries, and their number."""

    @property
    def indices(self) -> IntArray:
        """``(entries,)`` columns, row after row."""


def symmetric_csr(vertices: int, u: npt.ArrayLike, v: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """``(indptr, indices)`` of the undirected simple graph with edges ``u[i]``-``v[i]``.

    Both directions are stored, rows are sorted, self-loops and duplicates are dropped. Ids must lie in
    ``[0, vertices)``.
    """
    u, v = np.asarray(u, np.int64), np.asarray(v, np.int64)
    key = np.minimum(u, v) * vertices + np.maximum(u, v)
    key = distinct(key[u != v])
    return _csr_of_ends(vertices, *np.divmod(key, vertices))


def distinct(values: IntArray) -> IntArray:
    """Sorted distinct ``values``, which are used up: sorted in place, which is faster than ``np.unique``."""
    values.sort()
    new = np.empty(len(values), np.bool_)
    new[:1] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new]


def distinct_below(values: npt.NDArray[np.integer], limit: int) -> IntArray:
    """Sorted distinct ``values`` from 0 to ``limit - 1``: by a table where that is not far larger than the values."""
    if limit > 8 * len(values):
        return distinct(values.astype(np.int64))
    seen = np.zeros(limit, np.bool_)
    seen[values] = True
    return np.flatnonzero(seen)


def ranks_of(values: npt.NDArray[np.integer], ascending: IntArray) -> IntArray:
    """Rank of each of ``values`` in ``ascending``, which holds them all: by a table where that is no larger."""
    largest = int(ascending[-1]) if len(ascending) else -1
    if largest > 8 * values.size:
        return np.searchsorted(ascending, values)
    table = np.empty(largest + 1, np.int64)
    table[ascending] = np.arange(len(ascending))
    ranks: IntArray = table[values]
    return ranks


def csr_of_sorted(vertices: int, edges: IntArray) -> tuple[IntArray, IntArray]:
    """Like :func:`symmetric_csr` for ``(e, 2)`` different edges ``u < v``, sorted: in linear time."""
    return _csr_of_ends(vertices, *np.ascontiguousarray(edges.T))


def _csr_of_ends(vertices: int, u: IntArray, v: IntArray) -> tuple[IntArray, IntArray]:
    upper = np.concatenate([[0], np.cumsum(np.bincount(u, minlength=vertices))])
    halves = csr_array((np.ones(len(v), np.bool_), v, upper), shape=(vertices, vertices))
    lower = halves.tocsc()  # rows of the transposed matrix: neighbours below, ascending
    below, above = np.diff(lower.indptr), np.diff(upper)
    indptr = np.concatenate([[0], np.cumsum(below + above)])
    indices = np.empty(2 * len(v), np.int64)
    place = np.arange(len(v))
    indices[place + np.repeat(indptr[:-1] - lower.indptr[:-1], below)] = lower.indices
    indices[place + np.repeat(indptr[:-1] + below - upper[:-1], above)] = v
    return indptr, indices


def is_symmetric(indptr: IntArray, indices: IntArray) -> bool:
    """Whether both directions of every entry are there and rows are sorted."""
    n = len(indptr) - 1
    matrix = csr_array((np.ones(len(indices), np.bool_), indices, indptr), shape=(n, n))
    other = matrix.tocsc()
    return bool(np.array_equal(other.indptr, indptr) and np.array_equal(other.indices, indices))


def rows_of(indptr: IntArray) -> IntArray:
    """``(nnz,)`` row of each stored entry."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def counts_of(indptr: IntArray, flags: npt.NDArray[np.bool_]) -> IntArray:
    """``(rows,)`` number of each row's entries whose flag is set."""
    counts, filled = np.zeros(len(indptr) - 1, np.int64), np.diff(indptr) > 0
    if len(flags):
        counts[filled] = np.add.reduceat(flags, indptr[:-1][filled], dtype=np.int64)
    return counts


def ends_of(indptr: IntArray, indices: IntArray, inside: npt.NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Rank of the row, among the rows of a mask, and column of each entry of these rows."""
    lengths = np.diff(indptr)
    return np.repeat(np.arange(int(inside.sum())), lengths[inside]), indices[np.repeat(inside, lengths)]


def transposed(indptr: IntArray, indices: IntArray) -> tuple[IntArray, IntArray]:
    """CSR of the transposed square matrix, rows ascending."""
    n = len(indptr) - 1
    by_column = np.argsort(indices, kind="stable")
    return np.concatenate([[0], np.cumsum(np.bincount(indices, minlength=n))]), rows_of(indptr)[by_column]


def entries_of(indptr: IntArray, members: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of the entries of the rows ``members``, row by row, and the length of each row."""
    counts = np.diff(indptr)[members]
    ends = np.cumsum(counts)
    entries = np.arange(ends[-1] if len(ends) else 0) + np.repeat(indptr[members] - (ends - counts), counts)
    return entries, counts


def induced(indptr: IntArray, indices: IntArray, members: IntArray) -> tuple[IntArray, IntArray]:
    """CSR over ranks of the subgraph that sorted ``members`` induce."""
    rank = np.full(len(indptr) - 1, -1, np.int64)
    rank[members] = np.arange(len(members))
    entries, counts = entries_of(indptr, members)
    columns = rank[indices[entries]]
    inside = columns >= 0
    rows = np.repeat(np.arange(len(members)), counts)[inside]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(members)))])
    return starts, columns[inside]
