# SPDX-License-Identifier: Apache-2.0
"""Structural encodings for a graph transformer: distances and Laplacian eigenvectors (specification 0.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from offramp.graph.csr import IntArray, distinct, rows_of

DEGREES = 64
"""Rows of a table of degrees; larger degrees share the last one."""


def near_pairs(indptr: IntArray, indices: IntArray, limit: int, tokens: int) -> tuple[IntArray, IntArray]:
    """Keys (row * ``tokens`` + column), ascending, of all pairs at distance 1 to ``limit``, and the distances."""
    n = len(indptr) - 1
    step = csr_array((np.ones(len(indices), np.int32), indices, indptr), shape=(n, n))
    seen = np.arange(n) * (tokens + 1)
    keys, distances = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    frontier = step
    for distance in range(1, limit + 1):
        reached = distinct(rows_of(frontier.indptr.astype(np.int64)) * tokens + frontier.indices)
        new = np.setdiff1d(reached, seen, assume_unique=True)
        if not len(new):
            break
        seen = np.union1d(seen, new)
        keys.append(new)
        distances.append(np.full(len(new), distance))
        if distance < limit:
            rows, columns = np.divmod(new, tokens)
            frontier = csr_array((np.ones(len(new), np.int32), (rows, columns)), shape=(n, n)) @ step
    all_keys = np.concatenate(keys)
    order = np.argsort(all_keys, kind="stable")
    return all_keys[order], np.concatenate(distances)[order]


def laplacian_positions(indptr: IntArray, indices: IntArray, count: int, seed: int) -> npt.NDArray[np.float32]:
    """``(n, count)`` eigenvectors of the normalised Laplacian after the first, scaled to unit mean square.

    Signs are fixed (the largest entry is positive); a graph with fewer vertices has zeros in the last columns.
    """
    from scipy.sparse.linalg import eigsh

    n = len(indptr) - 1
    positions = np.zeros((n, count), np.float32)
    wanted = min(count + 1, n - 1)
    if wanted <= 1 or not len(indices):  # the first eigenvector says nothing
        return positions
    scale = 1 / np.sqrt(np.maximum(np.diff(indptr), 1))
    values = scale[rows_of(indptr)] * scale[indices]
    normalised = csr_array((values, indices, indptr), shape=(n, n))
    random = np.random.default_rng(seed)
    # Where equal eigenvalues end the search early, it starts again from a vector of ``rng``, the same on every rank.
    start = random.normal(size=n)
    eigenvalues, vectors = eigsh(normalised, wanted, which="LA", v0=start, tol=1e-4, rng=random)
    vectors = vectors[:, np.argsort(-eigenvalues)][:, 1:]
    largest = vectors[np.abs(vectors).argmax(0), np.arange(vectors.shape[1])]
    positions[:, : vectors.shape[1]] = vectors * np.where(largest < 0, -1, 1) * np.sqrt(n)
    return positions
