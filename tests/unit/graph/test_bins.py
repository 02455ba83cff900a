# SPDX-License-Identifier: Apache-2.0
"""Priority orders, limits and bins of G3 (specification section 6): goldens, properties, machine code by Python."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offramp.graph import kernels
from offramp.graph.bins import (
    BinLimit,
    breadth_first,
    memory_limit,
    pack_bins,
    priority_order,
    ready_bins,
    target_limits,
)
from offramp.graph.builtin import builtin
from offramp.graph.csr import symmetric_csr
from offramp.graph.data import Graph
from offramp.graph.generate import generate
from offramp_base.errors import OfframpError

A = symmetric_csr(
    8, *np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [3, 5], [4, 5], [5, 6], [6, 7], [2, 6], [1, 7]]).T
)
OWNER = np.array([0, 0, 0, 1, 1, 1, 2, 2])


class Csr:
    def __init__(self, indptr, indices):
        self.indptr, self.indices = indptr, indices


GRAPH_A = Csr(*A)


@pytest.fixture(params=["compiled", "interpreted"])
def engine(request, monkeypatch):
    if request.param == "interpreted":
        monkeypatch.setattr(kernels, "fast", lambda kernel: kernel)


def lists(bins):
    return [each.tolist() for each in bins]


def orders():
    return [priority_order(GRAPH_A, worker == OWNER) for worker in range(3)]


def test_golden_orders(engine):
    assert lists(orders()) == [[1, 2, 0], [3, 5, 4], [6, 7]]


@pytest.mark.parametrize(
    ("limit", "bins"),
    [
        (BinLimit(2), [[[1, 2], [0]], [[3, 5], [4]], [[6, 7]]]),
        (BinLimit(5, row=1, target=0), [[[1], [2, 0]], [[3, 5, 4]], [[6, 7]]]),
        (BinLimit(3, row=1, target=0), [[[1], [2], [0]], [[3], [5], [4]], [[6], [7]]]),
    ],
)
def test_golden_bins(engine, limit, bins):
    assert [lists(pack_bins(GRAPH_A, order, limit)) for order in orders()] == bins


def test_golden_karate(engine):
    pytest.importorskip("networkx")
    order = priority_order(builtin("karate", "1/0/0", 0), np.arange(34) < 17)
    assert order.tolist() == [0, 1, 2, 8, 13, 9, 14, 15, 3, 4, 5, 6, 7, 10, 11, 12, 16]


def test_limits():
    assert memory_limit(8_000, 100, 16) == BinLimit(4_000, row=400, target=64)
    assert target_limits(1000, [100, 16, 16, 47]) == [1000, 3625, 1841]
    assert target_limits(1000, [100, 16, 16, 47], memory=200_000) == [215, 781, 396]
    assert target_limits(1, [1000, 10, 1000], memory=100) == [1, 1]
    # the memory rule of the specification
    assert target_limits(10**9, [64, 32], memory=10**6) == [10**6 // 2 // (96 * 4)]


@given(
    n=st.integers(1, 40),
    workers=st.integers(1, 3),
    row=st.integers(0, 3),
    target=st.integers(0, 3),
    entry=st.integers(0, 2),
    most=st.integers(1, 60),
    by_count=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_every_vertex_once_in_order_within_the_limit(n, workers, row, target, entry, most, by_count, seed):
    rng = np.random.default_rng(seed)
    graph = Csr(*symmetric_csr(n, *rng.integers(0, n, (2, int(n * rng.uniform(0, 4))))))
    inside = rng.integers(0, workers, n) == 0
    order = priority_order(graph, inside, by_count=by_count)
    assert sorted(order.tolist()) == np.flatnonzero(inside).tolist()
    near = [graph.indices[a:b] for a, b in pairwise(graph.indptr)]
    remote = np.array([int((~inside[near[v]]).sum()) for v in order])
    assert (np.diff((remote > 0).astype(int)) <= 0).all()
    if by_count:
        assert (np.diff(remote) <= 0).all()
    limit = BinLimit(most, row=row, target=target, entry=entry)
    bins = pack_bins(graph, order, limit)
    assert [v for each in bins for v in each.tolist()] == order.tolist()

    def cost(members: list[int]) -> int:
        loaded = set(members).union(*(near[v].tolist() for v in members))
        return row * len(loaded) + target * len(members) + entry * sum(1 + len(near[v]) for v in members)

    takes = [cost(each.tolist()) for each in bins]
    assert all(taken <= most or len(each) == 1 for taken, each in zip(takes, bins, strict=True))
    for first, second in pairwise(bins):  # no bin has room for the next vertex
        assert cost([*first.tolist(), int(second[0])]) > most
    full, rest = ready_bins(graph, order, limit, outstanding=True)
    assert lists(full) + ([rest.tolist()] if len(rest) else []) == lists(bins)
    assert not len(rest) or takes[-1] < most


def test_machine_code_and_python_are_equal(monkeypatch):
    graph = generate("rmat:scale=8,degree=8", "1/0/0", 3)
    inside = np.arange(256) % 3 == 0
    limit = BinLimit(100, row=2, target=3, entry=1)

    def packed():
        order = priority_order(graph, inside)
        return breadth_first(graph).tolist(), order.tolist(), lists(pack_bins(graph, order, limit))

    compiled = packed()
    monkeypatch.setattr(kernels, "fast", lambda kernel: kernel)
    assert packed() == compiled


def test_a_walk_visits_components_from_their_lowest_vertex():
    graph = Csr(*symmetric_csr(7, [5, 5, 0, 0, 3], [1, 6, 4, 2, 2]))
    assert breadth_first(graph).tolist() == [0, 2, 4, 3, 1, 5, 6]
    assert breadth_first(graph, [True, False, False, True, False, True, True]).tolist() == [0, 3, 5, 6]


def test_rows_of_own_vertices_only():
    """A worker's local graph: rows for its three vertices, whose neighbours 3 and 4 are remote."""
    graph = Csr(np.array([0, 1, 3, 5]), np.array([1, 0, 3, 3, 4]))
    assert priority_order(graph, [True] * 3).tolist() == [1, 2, 0]
    assert priority_order(graph, [True] * 3, by_count=True).tolist() == [2, 1, 0]
    assert lists(pack_bins(graph, [1, 2, 0], BinLimit(5, row=1, target=0))) == [[1, 2, 0]]
    assert lists(pack_bins(graph, [1, 2, 0], BinLimit(4, row=1, target=0))) == [[1], [2], [0]]
    with pytest.raises(OfframpError, match="bins: expected vertices from 0 to 2"):
        pack_bins(graph, [3], BinLimit(1))
    with pytest.raises(OfframpError, match="inside: expected a mask of 3 vertices"):
        priority_order(graph, [True] * 5)


def test_one_bin_where_all_fits_and_none_where_nobody_is():
    graph = generate("ba:n=50,m=2", "1/0/0", 0)
    assert isinstance(graph, Graph)
    assert lists(pack_bins(graph, np.arange(50), BinLimit(50))) == [list(range(50))]
    assert pack_bins(graph, [], BinLimit(1)) == []
    assert lists(pack_bins(graph, [4, 2], BinLimit(1))) == [[4], [2]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BinLimit(0), "bin limit: most 0: expected at least 1"),
        (lambda: BinLimit(1, row=-1), "bin limit: row -1: expected at least 0"),
        (lambda: target_limits(0, [1, 2]), "bin of 0 targets"),
        (lambda: target_limits(5, [1]), "widths"),
    ],
)
def test_golden_errors(call, message):
    with pytest.raises(OfframpError, match=message):
        call()
