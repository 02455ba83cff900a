# SPDX-License-Identifier: Apache-2.0
"""Samples of edges: symmetric, about as many as asked for, and good enough to partition by."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.graph import partition as partitioning
from offramp.graph.boundary import Boundary
from offramp.graph.csr import is_symmetric, rows_of
from offramp.graph.load import load
from offramp.graph.partition import partition
from offramp.graph.sampled import sampled

GRAPH = "sbm:n=3000,k=12,degree=120,gamma=2.5,homophily=0.8,features=1"


def test_a_small_graph_is_left_alone() -> None:
    graph = load("digits", 0)
    indptr, indices = sampled(graph.indptr, graph.indices, len(graph.indices))
    assert indptr is graph.indptr
    assert indices is graph.indices


@pytest.mark.full
@pytest.mark.parametrize("at_once", [1, 100, 1 << 19])
def test_edges_are_kept_or_not_in_both_directions(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    graph = load(GRAPH, 1)
    whole = len(graph.indices)
    expected = sampled(graph.indptr, graph.indices, whole // 5, 3)
    monkeypatch.setattr("offramp.graph.sampled._AT_ONCE", at_once)
    indptr, indices = sampled(graph.indptr, graph.indices, whole // 5, 3)
    assert np.array_equal(indptr, expected[0])
    assert np.array_equal(indices, expected[1])
    assert is_symmetric(indptr, indices)
    assert len(indices) == pytest.approx(whole / 5, rel=0.05)
    edges = set(zip(rows_of(graph.indptr).tolist(), graph.indices.tolist(), strict=True))
    assert edges > set(zip(rows_of(indptr).tolist(), indices.tolist(), strict=True))
    assert not np.array_equal(sampled(graph.indptr, graph.indices, whole // 5, 4)[1], indices)


@pytest.mark.parametrize("method", ["metis", "metis-volume"])
def test_metis_does_as_well_by_a_third_of_the_edges(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    graph = load(GRAPH, 0)
    whole = Boundary(graph, partition(graph, 12, method, 0), 12)
    monkeypatch.setattr(partitioning, "METIS_ENTRIES", len(graph.indices) // 3)
    part = Boundary(graph, partition(graph, 12, method, 0), 12)
    assert part.C < 1.05 * whole.C
    assert part.R < 1.05 * whole.R
