# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp_base.errors import OfframpError


def test_six_vertex_example(g6_boundary):
    b = g6_boundary
    assert (b.B, b.C, b.R, b.workers) == (6, 7, 12, 3)
    assert b.r.tolist() == [2] * 6
    assert b.cut_edges.tolist() == [[0, 2], [0, 3], [0, 4], [1, 2], [1, 5], [2, 4], [3, 5]]
    neighbours = [b.neighbours[a:z].tolist() for a, z in pairwise(b.indptr)]
    assert neighbours == [[2, 3, 4], [2, 5], [0, 1, 4], [0, 5], [0, 2], [1, 3]]
    assert b.need.tolist() == [3, 2, 3, 2, 2, 2]
    x = np.array([3, -1, 10, 4, -7, 2])
    assert [int(x[row].sum()) for row in neighbours] == [7, 12, -5, 5, 13, 3]


@settings(derandomize=True, deadline=None)
@given(n=st.integers(2, 15), workers=st.integers(1, 5), seed=st.integers(0, 999))
def test_agrees_with_the_definitions(n, workers, seed):
    rng = np.random.default_rng(seed)
    indptr, indices = symmetric_csr(n, *rng.integers(0, n, (2, 2 * n)))
    owner = rng.integers(0, workers, n)
    b = Boundary(SimpleNamespace(indptr=indptr, indices=indices), owner, workers)
    remote = {v: [u for u in indices[indptr[v] : indptr[v + 1]].tolist() if owner[u] != owner[v]] for v in range(n)}
    vertices = [v for v in range(n) if remote[v]]
    assert b.vertices.tolist() == vertices
    assert [b.vertices[b.neighbours[a:z]].tolist() for a, z in pairwise(b.indptr)] == [remote[v] for v in vertices]
    assert b.r.tolist() == [len({owner[u] for u in remote[v]}) for v in vertices]
    assert b.copies.tolist() == [[v, w] for v in vertices for w in sorted({int(owner[u]) for u in remote[v]})]
    assert b.cut_edges.tolist() == [[v, u] for v in vertices for u in remote[v] if v < u]
    assert (len(vertices), b.need.sum() // 2, b.r.sum()) == (b.B, b.C, b.R)


@pytest.mark.parametrize(
    ("owner", "workers", "message"),
    [
        ([0, 1], None, "owner: expected 6 entries, one per vertex, got shape (2,)"),
        ([0, 1, 2, 3, 0, 0], 3, "owner: expected workers from 0 to 2"),
        ([0, 1, -1, 0, 0, 0], None, "owner: expected workers from 0 to 1"),
    ],
)
def test_golden_errors(g6, owner, workers, message):
    with pytest.raises(OfframpError) as error:
        Boundary(g6, owner, workers)
    assert str(error.value) == message


def test_directed_adjacency_is_refused():
    one_way = SimpleNamespace(indptr=np.array([0, 1, 1]), indices=np.array([1]))
    with pytest.raises(OfframpError, match="both directions of every edge"):
        Boundary(one_way, [0, 1])
