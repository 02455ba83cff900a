# SPDX-License-Identifier: Apache-2.0
"""Mt-KaHyPar, whose connectivity objective is the multicast volume R itself."""

from __future__ import annotations

import functools
import importlib.util
import os
from typing import Any

import numpy as np

from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError
from offramp_base.extras import needs

IMBALANCE = 0.03


def available() -> bool:
    """Whether the package mtkahypar is installed."""
    return importlib.util.find_spec("mtkahypar") is not None


@functools.cache
def _start() -> Any:
    """Mt-KaHyPar keeps its threads and memory for the whole process: start it once."""
    import mtkahypar

    return mtkahypar.initialize(os.cpu_count() or 1, False)


def kahypar_parts(indptr: IntArray, indices: IntArray, parts: int, seed: int = 0) -> tuple[IntArray, int]:
    """``(n,)`` part of each vertex, and the connectivity (λ-1) that Mt-KaHyPar reached.

    The hypergraph has one net for each vertex, holding it and its neighbours: a net that touches λ parts
    costs λ-1, the number of other workers that need the vertex, so the objective equals
    R = Σ r(v) (specification section 1). Deterministic for a seed.

    Raises:
        OfframpError: mtkahypar is not installed.
    """
    if not available():
        raise OfframpError(f"method kahypar {needs('mtkahypar')}")
    import mtkahypar

    start = _start()
    n = len(indptr) - 1
    # Its deterministic preset ignores its own seed: the seed renumbers the vertices instead.
    renumbered = np.random.default_rng(seed).permutation(n)
    flat, bounds, ids = renumbered[indices].tolist(), indptr.tolist(), renumbered.tolist()
    nets = [[ids[v], *flat[bounds[v] : bounds[v + 1]]] for v in range(n)]
    context = start.context_from_preset(mtkahypar.PresetType.DETERMINISTIC)
    context.set_partitioning_parameters(parts, IMBALANCE, mtkahypar.Objective.KM1)
    context.logging = False
    partitioned = start.create_hypergraph(context, n, n, nets).partition(context)
    return np.array(partitioned.get_partition(), np.int64)[renumbered], int(partitioned.km1())
