# SPDX-License-Identifier: Apache-2.0
"""Blocks along G3's bins: every cut edge once, within the limit, in the order in which vertices are computed."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.bin_blocks import bin_blocks
from offramp.graph.bins import priority_order
from offramp.graph.boundary import Boundary
from offramp.graph.data import build_graph
from offramp.switchgnn.plan import AGGREGATOR_BYTES, make_plan


def cut_of(seed: int, n: int, workers: int) -> Boundary:
    rng = np.random.default_rng(seed)
    graph = build_graph("random", n, tuple(rng.integers(0, n, (2, 3 * n))))
    return Boundary(graph, rng.integers(0, workers, n), workers)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**31), n=st.integers(2, 60), workers=st.integers(1, 5), limit=st.integers(2, 40))
def test_every_edge_once_within_the_limit_and_in_order(seed: int, n: int, workers: int, limit: int) -> None:
    boundary = cut_of(seed, n, workers)
    blocks = bin_blocks(boundary, limit)
    edges = np.concatenate([block.edges for block in blocks]) if blocks else np.zeros((0, 2), np.int64)
    assert np.array_equal(np.unique(edges, axis=0), boundary.cut_edges)
    assert len(edges) == boundary.C
    assert all(len(block.vertices) <= limit for block in blocks)
    places = dict(zip(boundary.vertices.tolist(), boundary.priority.tolist(), strict=True))
    ready = [[max(places[u], places[v]) for u, v in block.edges.tolist()] for block in blocks]
    assert all(max(before) <= min(after) for before, after in itertools.pairwise(ready))


def test_places_are_those_of_the_priority_lists() -> None:
    """Golden A of g3.md section 6: 1 2 0, then 3 5 4, then 6 7; boundary vertices come first."""
    edges = np.array([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5), (5, 6), (6, 7), (2, 6), (1, 7)])
    graph = build_graph("golden A", 8, (edges[:, 0], edges[:, 1]))
    boundary = Boundary(graph, [0, 0, 0, 1, 1, 1, 2, 2], 3)
    assert dict(zip(boundary.vertices.tolist(), boundary.priority.tolist(), strict=True)) == {
        1: 0, 2: 1, 3: 0, 5: 1, 6: 0, 7: 1,
    }  # fmt: skip
    assert [block.edges.tolist() for block in bin_blocks(boundary, 3)] == [[[1, 7]], [[2, 3], [2, 6]], [[5, 6]]]


@pytest.mark.parametrize("memory", [8, 20, 200])
def test_passes_are_those_of_the_papers_blocks_and_memory_is_kept(memory: int) -> None:
    boundary = cut_of(3, 200, 4)
    paper, binned = (make_plan(boundary, 2, memory * AGGREGATOR_BYTES, binned=way) for way in (False, True))
    assert binned.passes == paper.passes == 2 * 2 * boundary.C
    assert max(paper.aggregators_peak, binned.aggregators_peak) <= memory
    order = [priority_order(boundary._graph, boundary.owner == w).tolist() for w in range(4)]
    assert sorted(functools.reduce(operator.iadd, order, [])) == list(range(200))
