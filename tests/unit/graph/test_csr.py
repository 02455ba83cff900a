# SPDX-License-Identifier: Apache-2.0
"""Oracle: dense boolean matrices. Blind to speed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.csr import csr_of_sorted, distinct, induced, is_symmetric, rows_of, symmetric_csr


@st.composite
def pairs(draw):
    n = draw(st.integers(1, 12))
    ids = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(ids, ids), max_size=40)), draw(st.sets(ids))


def dense(n, indptr, indices):
    matrix = np.zeros((n, n), bool)
    matrix[rows_of(indptr), indices] = True
    return matrix


@settings(derandomize=True, deadline=None)
@given(pairs())
def test_symmetric_csr_and_induced_agree_with_dense_matrices(case):
    n, edges, members = case
    expected = np.zeros((n, n), bool)
    for u, v in edges:
        expected[u, v] = expected[v, u] = u != v
    indptr, indices = symmetric_csr(n, [u for u, _ in edges], [v for _, v in edges])
    assert np.array_equal(dense(n, indptr, indices), expected)
    assert len(indices) == expected.sum()
    assert all((np.diff(indices[a:b]) > 0).all() for a, b in pairwise(indptr))

    chosen = np.array(sorted(members), np.int64)
    sub = induced(indptr, indices, chosen)
    assert np.array_equal(dense(len(chosen), *sub), expected[np.ix_(chosen, chosen)])


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.integers(0, 10**6))
def test_sorted_edges_make_the_same_rows(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    indptr, indices = symmetric_csr(n, *rng.integers(0, n, (2, 3 * n)))
    u = rows_of(indptr)
    edges = np.stack([u, indices], axis=1)[u < indices]
    csr = csr_of_sorted(n, edges)
    assert csr[0].tolist() == indptr.tolist()
    assert csr[1].tolist() == indices.tolist()
    assert is_symmetric(indptr, indices)
    if len(edges):
        one_way = np.concatenate([[0], np.cumsum(np.bincount(edges[:, 0], minlength=n))])
        assert not is_symmetric(one_way, edges[:, 1])


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_are_sorted(values):
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))
