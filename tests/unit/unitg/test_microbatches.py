# SPDX-License-Identifier: Apache-2.0
"""U3: every vertex in one microbatch, sizes within one, fewer edges cut than at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.data import Graph, build_graph
from offramp.graph.generate import generate
from offramp.unitg import microbatches
from offramp.unitg.microbatches import (
    affinity_order,
    affinity_split,
    cut_edges,
    make_microbatches,
    random_split,
)
from offramp_base.errors import OfframpError


def random_graph(n: int, edges: int, seed: int) -> Graph:
    ends = np.random.default_rng(seed).integers(0, n, (2, edges))
    return build_graph("random", n, (ends[0], ends[1]), seed=seed)


def assert_a_partition(split: list[np.ndarray], n: int) -> None:
    assert sorted(np.concatenate(split).tolist()) == list(range(n))
    sizes = [len(part) for part in split]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("searched", [False, True])
@settings(derandomize=True, deadline=None, max_examples=60)
@given(n=st.integers(1, 60), edges=st.integers(0, 150), count=st.integers(1, 9), seed=st.integers(0, 9))
def test_any_graph(searched: bool, n: int, edges: int, count: int, seed: int) -> None:
    graph = random_graph(n, edges, seed)
    count = min(count, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(microbatches, "available", lambda: not searched)
        split = affinity_split(graph, count, seed)
    assert_a_partition(split, n)
    at_random = np.mean([cut_edges(graph, random_split(n, count, s)) for s in range(50)])
    assert cut_edges(graph, split) <= at_random + 1 + 0.02 * graph.edges


@pytest.mark.parametrize("count", [2, 3, 4, 8, 16])
def test_communities_stay_together(count: int) -> None:
    graph = generate("sbm:n=1200,k=16,homophily=0.9", None, 1)
    split = affinity_split(graph, count, 0)
    assert_a_partition(split, graph.vertices)
    least = min(cut_edges(graph, random_split(graph.vertices, count, seed)) for seed in range(5))
    assert cut_edges(graph, split) < 0.75 * least


def test_pieces_are_the_graph_without_the_cut() -> None:
    graph = generate("sbm:n=300,k=4", None, 2)
    split = affinity_split(graph, 3, 0)
    pieces = make_microbatches(graph, split)
    assert sum(int(piece.degree.sum()) // 2 for piece in pieces) == graph.edges - cut_edges(graph, split)
    for piece in pieces:
        dense = piece.adjacency.toarray()
        assert (dense.diagonal() == 1).all()
        for place, vertex in enumerate(piece.ids.tolist()):
            row = graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]
            assert set(piece.ids[dense[place] == 1].tolist()) == (set(row.tolist()) & set(piece.ids.tolist())) | {
                vertex
            }


def test_order_is_a_permutation_that_keeps_clusters_together() -> None:
    graph = generate("sbm:n=1500,k=6,homophily=0.95,degree=10", None, 3)
    order = affinity_order(graph, 0)
    assert sorted(order.tolist()) == list(range(1500))
    place = np.empty(1500, int)
    place[order] = np.arange(1500)
    shuffled = np.random.default_rng(0).permutation(1500)
    heads = np.repeat(np.arange(1500), np.diff(graph.indptr))

    def spread(of: np.ndarray) -> float:
        return float(np.median(np.abs(of[heads] - of[graph.indices])))

    assert spread(place) < spread(shuffled) / 2


@pytest.mark.parametrize("count", [0, -1, 5])
def test_bad_counts(count: int) -> None:
    with pytest.raises(OfframpError, match=f"^microbatches {count}: expected 1 to 4, the number of vertices$"):
        affinity_split(random_graph(4, 4, 0), count)
