# SPDX-License-Identifier: Apache-2.0
"""The conditions under which topology may stand for full attention (G9), on scripted graphs and by brute force."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from offramp.graph.csr import symmetric_csr
from offramp.torchgt.attention import is_full_step
from offramp.torchgt.conditions import (
    AttentionConditions,
    check,
    check_components,
    diameter_at_most,
    hamiltonian_path,
)
from offramp.torchgt.pattern import Pattern, pattern_of
from offramp.torchgt.settings import TorchGtSettings

Edges = list[tuple[int, int]]


def dirac(indptr: np.ndarray, indices: np.ndarray) -> bool:
    """Dirac's theorem for paths: every degree is at least (n - 1) / 2. Sparse graphs never meet it."""
    n = len(indptr) - 1
    return n <= 1 or (len(indices) > 0 and 2 * int(np.diff(indptr).min()) >= n - 1)


def graph(n: int, edges: Edges, *, loops: bool = True) -> Pattern:
    keys = [u * n + v for a, b in edges for u, v in ((a, b), (b, a))] + [i * (n + 1) for i in range(n) if loops]
    return pattern_of(n, np.array(keys, np.int64), lambda rows, _: np.zeros(len(rows), np.int64))


def csr(n: int, edges: Edges):
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    return symmetric_csr(n, u, v)


def judge(pattern: Pattern, layers: int) -> AttentionConditions:
    return check(pattern.indptr, pattern.indices, layers)


CLIQUE: Edges = [(i, j) for i in range(6) for j in range(i)]
PATH: Edges = [(i, i + 1) for i in range(5)]
STAR: Edges = [(0, i) for i in range(1, 6)]
TWO: Edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]


@pytest.mark.parametrize(
    ("edges", "layers", "expected"),
    [
        (CLIQUE, 1, AttentionConditions(True, True, True)),
        (PATH, 5, AttentionConditions(True, True, True)),
        (PATH, 4, AttentionConditions(True, True, False)),
        (STAR, 2, AttentionConditions(True, False, True)),
        (STAR, 1, AttentionConditions(True, False, False)),
        (TWO, 6, AttentionConditions(True, False, False)),
    ],
    ids=["clique", "path", "path beyond the layers", "star", "star beyond the layers", "two components"],
)
def test_scripted_graphs(edges: Edges, layers: int, expected: AttentionConditions) -> None:
    assert judge(graph(6, edges), layers) == expected
    assert judge(graph(6, edges, loops=False), layers) == AttentionConditions(False, expected.path, expected.reach)


def test_a_global_token_joins_components_within_two_layers() -> None:
    joined = graph(7, [*TWO, *((6, i) for i in range(6))])
    assert judge(joined, 2) == AttentionConditions(True, True, True)


def test_graphs_of_one_sequence_are_judged_by_themselves() -> None:
    two = graph(6, TWO)
    parts = [np.arange(3), np.arange(3, 6)]
    assert check_components(two.indptr, two.indices, parts, 1) == AttentionConditions(True, True, True)
    assert not judge(two, 6).hold


def test_a_single_token_and_no_token() -> None:
    assert judge(graph(1, []), 1).hold
    assert hamiltonian_path(np.zeros(1, np.int64), np.zeros(0, np.int64)) is None


def test_dirac_holds_for_cliques_and_for_no_sparse_graph() -> None:
    assert dirac(*csr(6, CLIQUE))
    for edges in (PATH, STAR, TWO):
        assert not dirac(*csr(6, edges))


random_graphs = given(
    n=st.integers(1, 7),
    pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=18),
    limit=st.integers(0, 5),
)


@pytest.mark.full
@settings(derandomize=True, max_examples=150, deadline=None)
@random_graphs
def test_paths_are_paths_and_diameters_are_exact(n: int, pairs: Edges, limit: int) -> None:
    edges = [(a % n, b % n) for a, b in pairs]
    indptr, indices = csr(n, edges)
    dense = np.zeros((n, n), bool)
    dense[np.repeat(np.arange(n), np.diff(indptr)), indices] = True
    path = hamiltonian_path(indptr, indices)
    exists = any(all(dense[a, b] for a, b in pairwise(p)) for p in permutations(range(n)))
    if path is not None:
        assert sorted(path.tolist()) == list(range(n))
        assert dense[path[:-1], path[1:]].all()
        assert exists
    if dirac(indptr, indices):
        assert path is not None, "graphs that meet Dirac's condition are easy"
    far = shortest_path(csr_array((np.ones(len(indices)), indices, indptr), shape=(n, n)), unweighted=True).max()
    assert diameter_at_most(indptr, indices, limit) == (far <= limit)


def test_a_hamiltonian_path_is_found_in_random_graphs_that_have_one() -> None:
    rng = np.random.default_rng(0)
    for n in (50, 400):
        hidden = rng.permutation(n)
        u, v = np.concatenate([[hidden[:-1], hidden[1:]], rng.integers(0, n, (2, 3 * n))], 1)
        path = hamiltonian_path(*symmetric_csr(n, u, v))
        assert path is not None
        assert len(set(path.tolist())) == n


def settings_with(**changes: object) -> TorchGtSettings:
    return TorchGtSettings(graph="karate", **changes)  # type: ignore[arg-type]


def test_policies() -> None:
    periodic = settings_with(attention="interleaved", interleave="periodic", period=3)
    assert [is_full_step(periodic, step, None) for step in range(7)] == [False, False, True] * 2 + [False]
    assert all(is_full_step(settings_with(attention="full"), step, None) for step in range(3))
    assert not any(is_full_step(settings_with(attention="topology", period=1), step, False) for step in range(3))
    for policy, holds, full in (
        ("conditions", True, False),
        ("conditions", False, True),
        ("constructed", False, False),
        ("never", None, False),
    ):
        assert is_full_step(settings_with(attention="interleaved", interleave=policy), 0, holds) is full
