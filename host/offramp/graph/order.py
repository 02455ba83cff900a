# SPDX-License-Identifier: Apache-2.0
"""Graph-aware multicast reordering: in which order a block is uploaded (paper section 3.2)."""

from __future__ import annotations

import numpy as np

from offramp.graph import kernels
from offramp.graph.blocks import CutBlock
from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError

METHODS = ("gamr", "degree", "bfs", "random", "id")
ROOTS = ("max", "random")


def order(block: CutBlock, method: str = "gamr", seed: int = 0, root: str = "max") -> IntArray:
    """``(k,)`` vertex ids of ``block`` in upload order; see :func:`order_ranks`."""
    return block.vertices[order_ranks(*block.csr(), method, seed, root)]


def order_ranks(
    indptr: IntArray, neighbours: IntArray, method: str = "gamr", seed: int = 0, root: str = "max"
) -> IntArray:
    """``(k,)`` ranks of a block graph's vertices in upload order.

    ``gamr`` is the priority BFS: the enqueued vertex of highest degree goes next, ties to the one enqueued
    first, neighbours are enqueued by ascending id, and a queue that runs empty restarts at the unvisited
    vertex of highest degree, lowest id (specification section 7.1). ``bfs`` is its plain form, ``degree``
    sorts by falling degree. ``root``: start at the highest degree (``max``) or at a seeded one (``random``).

    Raises:
        OfframpError: unknown ``method`` or ``root``, or rows that are not those of a graph.
    """
    if method not in METHODS:
        raise OfframpError(f"order {method!r}: expected one of {', '.join(METHODS)}")
    if root not in ROOTS:
        raise OfframpError(f"root {root!r}: expected one of {', '.join(ROOTS)}")
    degrees = np.diff(indptr)
    n = len(degrees)
    _check_rows(indptr, neighbours, degrees)
    rng = np.random.default_rng(seed)
    if method == "id":
        return np.arange(n)
    if method == "random":
        return rng.permutation(n)
    by_degree = np.argsort(-degrees, kind="stable")
    if method == "degree":
        return by_degree
    first = [rng.integers(n)] if root == "random" and n else []
    roots = np.concatenate([np.array(first, np.int64), by_degree])
    priority = degrees.max(initial=0) - degrees if method == "gamr" else np.zeros(n, np.int64)
    waiting = np.ones(n, np.int64)
    enqueued, visited = np.empty(n, np.int64), np.empty(n, np.int64)
    heap = np.empty(n + 1, np.int64)
    walk = kernels.fast(kernels.upload_order)
    rows = (np.ascontiguousarray(array, np.int64) for array in (indptr, neighbours))
    walk(*rows, priority, roots, waiting, enqueued, heap, visited, len(roots), n)
    return visited


def _check_rows(indptr: IntArray, neighbours: IntArray, degrees: IntArray) -> None:
    """Refuse what machine code, which does not look at bounds, could not walk over."""
    n = len(degrees)
    whole = indptr[0] == 0 and indptr[-1] == len(neighbours) and degrees.min(initial=0) >= 0
    if not whole or neighbours.min(initial=0) < 0 or neighbours.max(initial=-1) >= n:
        raise OfframpError(f"order: expected rows of {len(neighbours)} ranks below {n}")
