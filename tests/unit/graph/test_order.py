# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph import kernels
from offramp.graph.blocks import CutBlock
from offramp.graph.csr import symmetric_csr
from offramp.graph.order import METHODS, order, order_ranks
from offramp_base.errors import OfframpError


def block(*edges):
    return CutBlock.of(np.array(edges))


RING8 = block(*[(i, i + 1) for i in range(1, 8)], (1, 8))
FIG8 = block((1, 3), (1, 5), (3, 5), (5, 7), (7, 9))


def test_six_vertex_example(g6_boundary):
    assert order(CutBlock.of(g6_boundary.cut_edges)).tolist() == [0, 2, 3, 4, 1, 5]
    assert order(block((0, 2), (0, 4), (2, 4))).tolist() == [0, 2, 4]
    assert order(block((1, 5), (3, 5))).tolist() == [5, 1, 3]


def test_ring():
    assert order(RING8).tolist() == [1, 2, 8, 3, 7, 4, 6, 5]


def test_figure_8_from_root_1():
    indptr, neighbours = FIG8.csr()
    seed = next(s for s in range(50) if order_ranks(indptr, neighbours, "gamr", s, "random")[0] == 0)
    assert order(FIG8, "gamr", seed, "random").tolist() == [1, 5, 3, 7, 9]
    assert order(FIG8).tolist() == [5, 1, 3, 7, 9]


def test_priority_then_first_enqueued_then_lowest_id():
    """From 0: 1 and 2 wait with degrees 2 and 3; 2 goes first, its child 5 has degree 2 but came after 1."""
    tree = block((0, 1), (0, 2), (0, 3), (0, 4), (1, 6), (2, 5), (2, 8), (5, 7))
    assert order(tree).tolist() == [0, 2, 1, 5, 3, 4, 8, 6, 7]


def test_disconnected_block_restarts_at_the_highest_degree():
    two = block((0, 1), (2, 3), (3, 4), (3, 5), (6, 7))
    assert order(two).tolist() == [3, 2, 4, 5, 0, 1, 6, 7]
    assert order(two, "bfs").tolist() == [3, 2, 4, 5, 0, 1, 6, 7]


def test_ablations():
    star = block((4, 1), (4, 2), (4, 3), (3, 5))
    assert order(star, "degree").tolist() == [4, 3, 1, 2, 5]
    assert order(star, "bfs").tolist() == [4, 1, 2, 3, 5]
    assert order(star, "gamr").tolist() == [4, 3, 1, 2, 5]
    assert order(star, "id").tolist() == [1, 2, 3, 4, 5]
    assert order(RING8, "random", 1).tolist() != order(RING8, "random", 2).tolist()


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(1, 20), st.integers(0, 999), st.sampled_from(METHODS), st.sampled_from(["max", "random"]))
def test_orders_are_permutations_and_follow_the_queue(n, seed, method, root):
    rng = np.random.default_rng(seed)
    indptr, neighbours = symmetric_csr(n, *rng.integers(0, n, (2, n)))
    ranks = order_ranks(indptr, neighbours, method, seed, root)
    assert sorted(ranks.tolist()) == list(range(n))
    assert np.array_equal(ranks, order_ranks(indptr, neighbours, method, seed, root))
    if method != "gamr":
        return
    # Oracle: a plain list, scanned for the first of the highest degree.
    degrees = np.diff(indptr)
    queue, seen, visited = [], set(), []
    while len(visited) < n:
        if not queue:
            start = int(ranks[0]) if not visited else max(set(range(n)) - seen, key=lambda v: (degrees[v], -v))
            queue, seen = [start], seen | {start}
        u = max(queue, key=lambda v: degrees[v])
        queue.remove(u)
        visited.append(u)
        for w in neighbours[indptr[u] : indptr[u + 1]].tolist():
            if w not in seen:
                seen.add(w)
                queue.append(w)
    assert ranks.tolist() == visited
    if root == "max":
        assert ranks[0] == degrees.argmax()


@pytest.mark.parametrize("method", ["gamr", "bfs"])
def test_python_runs_the_kernel_as_machine_code_does(monkeypatch, method):
    rng = np.random.default_rng(5)
    rows = symmetric_csr(150, *rng.integers(0, 150, (2, 200)))
    compiled = order_ranks(*rows, method)
    monkeypatch.setattr(kernels, "fast", lambda kernel: kernel)
    assert np.array_equal(order_ranks(*rows, method), compiled)
    assert np.array_equal(order_ranks(*(part.astype(np.int32) for part in rows), method), compiled)


@pytest.mark.parametrize(
    ("indptr", "neighbours"),
    [([0, 1, 2], [1, 2]), ([0, 1, 2], [1, -1]), ([0, 1, 3], [1, 0]), ([0, 3, 2], [1, 0]), ([1, 1, 2], [1, 0])],
)
def test_rows_of_no_graph_do_not_reach_machine_code(indptr, neighbours):
    with pytest.raises(OfframpError, match="order: expected rows of 2 ranks below 2"):
        order_ranks(np.array(indptr), np.array(neighbours))


@pytest.mark.parametrize(
    ("method", "root", "message"),
    [
        ("best", "max", "order 'best': expected one of gamr, degree, bfs, random, id"),
        ("gamr", "hub", "root 'hub': expected one of max, random"),
    ],
)
def test_golden_errors(method, root, message):
    with pytest.raises(OfframpError) as error:
        order(RING8, method, root=root)
    assert str(error.value) == message
