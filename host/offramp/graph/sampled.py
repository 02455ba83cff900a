# SPDX-License-Identifier: Apache-2.0
"""A sample of a graph's edges, for partitioners whose time and memory grow with the number of edges."""

from __future__ import annotations

from typing import Final

import numpy as np

from offramp.graph.csr import IntArray
from offramp.splitmix import mix

_AT_ONCE: Final = 1 << 19
"""Entries that are hashed at once: the arrays in between stay in the cache."""


def sampled(indptr: IntArray, indices: IntArray, most: int, seed: int = 0) -> tuple[IntArray, IntArray]:
    """The CSR arrays themselves if they have at most ``most`` entries, else a graph of about as many.

    Every edge is kept with the same probability, both directions or neither, as the hash of its ends and the seed says.
    """
    entries = len(indices)
    if entries <= most:
        return indptr, indices
    n = len(indptr) - 1
    threshold = np.uint64(most / entries * 2.0**64)
    kept, counts = [], np.zeros(n, np.int64)
    start = 0
    while start < n:
        stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + _AT_ONCE, "right")) - 1)
        columns = indices[indptr[start] : indptr[stop]]
        rows = np.repeat(np.arange(start, stop), np.diff(indptr[start : stop + 1]))
        edge = (np.minimum(rows, columns) * n + np.maximum(rows, columns)).astype(np.uint64)
        chosen = mix(edge + mix(np.array([seed], np.uint64))) < threshold
        kept.append(columns[chosen])
        counts[start:stop] = np.bincount(rows[chosen] - start, minlength=stop - start)
        start = stop
    return np.concatenate([[0], np.cumsum(counts)]), np.concatenate(kept)
