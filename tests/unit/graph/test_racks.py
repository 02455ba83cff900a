# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.data import build_graph
from offramp.graph.generate import generate
from offramp.graph.kahypar import available
from offramp.graph.partition import methods, partition
from offramp.graph.racks import cross_rack, rack_of
from offramp_base.errors import OfframpError


def brute_force(graph, owner, workers: int, racks: int) -> int:
    rack = [int(worker) * racks // workers for worker in owner]
    pairs = set()
    for v in range(graph.vertices):
        for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist():
            if rack[u] != rack[v]:
                pairs.add((v, rack[u]))
    return len(pairs)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    st.integers(0, 10**6), st.integers(12, 60), st.sampled_from([(4, 2), (6, 3), (6, 2), (4, 4), (4, 1)]),
    st.sampled_from([m for m in methods() if m not in ("auto", "kahypar")]),
)  # fmt: skip
def test_never_more_between_racks_than_metis(seed: int, n: int, shape: tuple[int, int], method: str) -> None:
    workers, racks = shape
    pairs = np.random.default_rng(seed).integers(0, n, (2, 3 * n))
    graph = build_graph("random", n, (pairs[0], pairs[1]))
    owner = partition(graph, workers, method, seed, racks)
    assert np.array_equal(np.unique(owner), np.arange(workers))
    between = cross_rack(graph, owner, workers, racks)
    assert between == brute_force(graph, owner, workers, racks)
    if method.startswith("metis") and 1 < racks < workers:
        assert between <= cross_rack(graph, partition(graph, workers, "metis", seed), workers, racks)


@pytest.mark.full
@pytest.mark.skipif(not available(), reason="the package mtkahypar is missing")
def test_connectivity_keeps_communities_in_a_rack() -> None:
    graph = generate("sbm:n=800,k=8,degree=12,homophily=0.7", "1/0/0", seed=2)
    between = {
        method: cross_rack(graph, partition(graph, 8, method, 0, racks), 8, 4)
        for method, racks in (("kahypar", 4), ("metis", 1))
    }
    assert between["kahypar"] < 0.95 * between["metis"]


def test_racks_hold_consecutive_workers() -> None:
    assert rack_of(6, 3).tolist() == [0, 0, 1, 1, 2, 2]
    graph = generate("sbm:n=60,k=2,degree=6", "1/0/0", seed=0)
    assert np.array_equal(np.unique(partition(graph, 6, "metis", 0, 4)), np.arange(6))
    for racks in (0, 7):
        with pytest.raises(OfframpError, match=f"racks {racks}: expected 1 to 6, the number of workers"):
            partition(graph, 6, "metis", 0, racks)
