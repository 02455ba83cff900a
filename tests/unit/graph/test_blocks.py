# SPDX-License-Identifier: Apache-2.0
"""Properties hold for any partitioner (section 8.2). Blind to how good the blocks are, save the last test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.blocks import imbalance, plan_blocks
from offramp.graph.generate import generate
from offramp.graph.pack import pack
from offramp_base.errors import OfframpError


def assert_valid(blocks, edges, limit):
    """Section 8.2."""
    placed = [tuple(edge) for block in blocks for edge in block.edges.tolist()]
    assert sorted(placed) == sorted({(min(e), max(e)) for e in edges})
    for block in blocks:
        assert 2 <= len(block.vertices) <= limit
        assert np.array_equal(block.vertices, np.unique(block.edges))
        assert block.edges.tolist() == sorted(block.edges.tolist())


def boundary_size(edges):
    return len({v for edge in edges for v in edge})


@st.composite
def cut_graphs(draw):
    n = draw(st.integers(2, 30))
    ids = st.integers(0, n - 1)
    edges = draw(st.sets(st.tuples(ids, ids).filter(lambda e: e[0] < e[1]), min_size=1, max_size=3 * n))
    return sorted(edges), draw(st.integers(2, n + 2))


def by_coin(indptr, indices, k):
    return np.random.default_rng(k).integers(0, k, len(indptr) - 1)


def all_apart(indptr, indices, k):
    """A partitioner that never puts neighbours together on purpose."""
    return np.arange(len(indptr) - 1) % k


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=200)
@given(cut_graphs(), st.sampled_from([None, by_coin, all_apart]), st.integers(0, 9))
def test_every_cut_edge_once_within_the_limit(case, partitioner, seed):
    edges, limit = case
    blocks = plan_blocks(edges, limit, seed, partitioner)
    assert_valid(blocks, edges, limit)
    uploads, boundary = sum(len(b.vertices) for b in blocks), boundary_size(edges)
    assert uploads >= boundary
    if limit >= boundary:
        assert len(blocks) == 1
        assert uploads == boundary
    need = {}
    for block in blocks:
        indptr, neighbours = block.csr()
        assert len(neighbours) == 2 * len(block.edges)
        for v, count in zip(block.vertices.tolist(), np.diff(indptr).tolist(), strict=True):
            need[v] = need.get(v, 0) + count
    assert need == {v: sum(v in edge for edge in edges) for v in need}
    assert len(need) == boundary


def test_six_vertex_example(g6_boundary):
    halves = {6: np.array([0, 1, 0, 1, 0, 1])}
    blocks = plan_blocks(g6_boundary.cut_edges, 3, partitioner=lambda indptr, _indices, _k: halves[len(indptr) - 1])
    assert [block.vertices.tolist() for block in blocks] == [[0, 2, 4], [1, 3, 5], [0, 3], [1, 2]]
    assert [block.edges.tolist() for block in blocks] == [
        [[0, 2], [0, 4], [2, 4]],
        [[1, 5], [3, 5]],
        [[0, 3]],
        [[1, 2]],
    ]
    assert [block.level for block in blocks] == [0, 0, 1, 1]


def test_a_part_without_edges_vanishes():
    """Figure 10: thirteen vertices in four parts, the thirteenth alone in its own."""
    path = [(i, i + 1) for i in range(12)]
    asked = []

    def runs_of_four(indptr, indices, k):
        asked.append(k)
        return np.arange(len(indptr) - 1) // 4

    blocks = plan_blocks(path, 4, partitioner=runs_of_four)
    assert asked[0] == 4
    assert [b.vertices.tolist() for b in blocks][:3] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert_valid(blocks, path, 4)


def test_an_unbalanced_partitioner_is_asked_for_more_parts_then_replaced():
    path = [(i, i + 1) for i in range(9)]
    asked = []

    def one_part(indptr, indices, k):
        asked.append(k)
        return np.zeros(len(indptr) - 1, int)

    blocks = plan_blocks(path, 5, partitioner=one_part)
    assert asked[:9] == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert blocks[0].vertices.tolist() == [0, 1, 2, 3, 4]
    assert_valid(blocks, path, 5)


def test_without_progress_edges_are_walked_greedily():
    """K(3,3): the two sides apart leave no edge inside a part."""
    edges = [(u, v) for u in range(3) for v in range(3, 6)]
    blocks = plan_blocks(edges, 4, partitioner=lambda indptr, indices, k: np.arange(6) // 3)
    assert_valid(blocks, edges, 4)
    assert blocks[0].vertices.tolist() == [0, 3, 4, 5]


def test_limit_of_two_gives_a_block_for_each_edge():
    edges = [(0, 1), (0, 2), (1, 2)]
    assert [b.edges.tolist() for b in plan_blocks(edges, 2)] == [[[0, 1]], [[0, 2]], [[1, 2]]]


def test_edges_may_come_in_any_order_and_direction():
    assert plan_blocks([(5, 1), (3, 1), (1, 3)], 4)[0].edges.tolist() == [[1, 3], [1, 5]]
    assert plan_blocks([], 4) == []


@pytest.mark.full
def test_star_larger_than_memory_ends_after_the_deepest_level():
    edges = [(0, leaf) for leaf in range(1, 700)]
    blocks = plan_blocks(edges, 3)
    assert_valid(blocks, edges, 3)
    assert len(blocks) == 350


def test_dense_graph_and_seed():
    graph = generate("sbm:n=600,degree=40,gamma=2.2", "1/0/0", 1)
    rows = np.repeat(np.arange(600), graph.degrees)
    edges = np.stack([rows, graph.indices], axis=1)[rows < graph.indices]
    first, again = (plan_blocks(edges, 60, seed=4) for _ in range(2))
    assert_valid(first, list(map(tuple, edges.tolist())), 60)
    assert [b.edges.tolist() for b in first] == [b.edges.tolist() for b in again]
    uploads = sum(len(b.vertices) for b in first)
    random = plan_blocks(edges, 60, partitioner=by_coin)
    assert uploads < 0.9 * sum(len(b.vertices) for b in random)
    assert max(b.level for b in first) >= 5
    assert [b.level for b in first] == sorted(b.level for b in first)


@pytest.mark.parametrize(
    ("edges", "limit", "message"),
    [
        ([(0, 1)], 1, "limit 1: a block needs at least 2 vertices to hold an edge"),
        ([(0, 0)], 4, "cut_edges: expected pairs of different vertex ids of at least 0"),
        ([(-1, 0)], 4, "cut_edges: expected pairs of different vertex ids of at least 0"),
    ],
)
def test_golden_errors(edges, limit, message):
    with pytest.raises(OfframpError) as error:
        plan_blocks(edges, limit)
    assert str(error.value) == message


@settings(derandomize=True, deadline=None)
@given(st.lists(st.sets(st.integers(0, 12), min_size=1, max_size=6), max_size=12), st.integers(6, 10))
def test_pack_is_first_fit_decreasing(sets, limit):
    expected = []
    for index in sorted(range(len(sets)), key=lambda i: -len(sets[i])):
        for union, members in expected:
            if len(union | sets[index]) <= limit:
                union |= sets[index]
                members.append(index)
                break
        else:
            expected.append((set(sets[index]), [index]))
    assert pack([np.array(sorted(s)) for s in sets], limit) == [sorted(members) for _, members in expected]


def test_imbalance():
    owner = np.array([0, 0, 0, 1, 2, 2], np.int32)
    assert imbalance(np.array([0, 3, 4]), owner, 3) == 1.0
    assert imbalance(np.array([0, 1, 2, 3]), owner, 3) == pytest.approx(9 / 4)
