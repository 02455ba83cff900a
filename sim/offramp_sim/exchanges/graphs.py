# SPDX-License-Identifier: Apache-2.0
"""Random graphs on equal workers, by the remote neighbours of a vertex or by its copies."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.sparse import csr_array

from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp_base.errors import OfframpError

_NEAR: Final = 0.01
"""Relative distance from the wanted copies that is near enough."""
_STEPS: Final = 30


def boundary_of(workers: int, each: int, degree: float, seed: int) -> Boundary:
    """A random graph, ``each`` vertices a worker, with ``degree`` remote neighbours of a vertex in the mean."""
    rng = np.random.default_rng(seed)
    vertices = workers * each
    u = np.repeat(np.arange(vertices), int(-(-degree // 2)))[: int(vertices * degree // 2)]
    away = rng.integers(1, workers, len(u))
    v = (u % workers + away) % workers + workers * rng.integers(0, each, len(u))
    indptr, indices = symmetric_csr(vertices, u, v)
    graph = csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(vertices, vertices))
    return Boundary(graph, np.arange(vertices) % workers, workers)


def boundary_with(workers: int, each: int, copies: float, seed: int) -> Boundary:
    """A random graph in which ``copies`` other workers need a boundary vertex in the mean.

    Raises:
        OfframpError: no number of neighbours gives that many copies.
    """
    low, high = 0.5, float(each)
    for _ in range(_STEPS):
        degree = (low * high) ** 0.5
        boundary = boundary_of(workers, each, degree, seed)
        ratio = boundary.R / boundary.B
        if abs(ratio / copies - 1) < _NEAR:
            return boundary
        low, high = (degree, high) if ratio < copies else (low, degree)
    raise OfframpError(f"copies {copies:g}: expected above 1 and below {workers - 1}, with {each} vertices per worker")
