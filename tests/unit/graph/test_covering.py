# SPDX-License-Identifier: Apache-2.0
"""Blocks of covering designs: planes are planes, every edge has one block, and dense graphs need fewer uploads."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.balance import balanced_blocks, busiest
from offramp.graph.blocks import plan_blocks
from offramp.graph.boundary import Boundary
from offramp.graph.covering import DIFFERENCE_SETS, covering_blocks, points_of, smallest_plane
from offramp.graph.csr import symmetric_csr


def a_boundary(n: int, edges: int, workers: int, seed: int) -> Boundary:
    rng = np.random.default_rng(seed)
    indptr, indices = symmetric_csr(n, *rng.integers(0, n, (2, edges)))
    return Boundary(SimpleNamespace(indptr=indptr, indices=indices), rng.integers(0, workers, n), workers)


def uploads(blocks) -> int:
    return sum(len(block.vertices) for block in blocks)


@pytest.mark.parametrize("line", DIFFERENCE_SETS, ids=len)
def test_two_points_of_a_plane_lie_on_one_line(line: tuple[int, ...]) -> None:
    differences = [(a - b) % points_of(line) for a in line for b in line if a != b]
    assert sorted(differences) == list(range(1, points_of(line)))


def test_the_smallest_plane_that_fits() -> None:
    assert [len(smallest_plane(5700, limit) or ()) for limit in (5700, 3800, 3799, 2443, 801, 800, 799)] == [
        2, 2, 3, 4, 8, 8, 9,
    ]  # fmt: skip
    assert smallest_plane(5700, 300) is None


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(0, 10**6), st.integers(2, 90), st.integers(1, 12), st.integers(2, 6), st.integers(2, 60))
def test_every_edge_is_in_one_block_that_fits(seed: int, n: int, degree: int, workers: int, limit: int) -> None:
    boundary = a_boundary(n, degree * n, workers, seed)
    blocks = covering_blocks(boundary, limit)
    line = smallest_plane(boundary.B, limit)
    assert bool(blocks) == (line is not None and boundary.C > 0)
    if line is None:
        return
    edges = sorted(tuple(edge) for block in blocks for edge in block.edges.tolist())
    assert edges == sorted(map(tuple, boundary.cut_edges.tolist()))
    for block in blocks:
        assert len(block.vertices) <= limit
        assert np.array_equal(block.vertices, np.unique(block.edges))
    assert uploads(blocks) <= len(line) * boundary.B


@pytest.mark.parametrize(("share", "gain"), [(0.7, 0.33), (0.45, 0.4), (0.31, 0.4), (0.2, 0.3)])
def test_a_dense_graph_needs_fewer_uploads_than_cut_by_metis(share: float, gain: float) -> None:
    boundary = a_boundary(2000, 2000 * 80, 8, 1)
    limit = int(share * boundary.B)
    plain, blocks = plan_blocks(boundary.cut_edges, limit), balanced_blocks(boundary, limit)
    assert uploads(blocks) < (1 - gain) * uploads(plain)
    assert busiest(blocks, boundary.owner) < (1 - gain) * busiest(plain, boundary.owner)


def test_a_graph_that_falls_apart_is_cut_by_metis() -> None:
    u, v = np.concatenate([np.array([[2 * i, 2 * i + 1], [2 * i, 2 * i + 2]]) for i in range(500) if i % 5 < 4]).T
    indptr, indices = symmetric_csr(1001, u, v)
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), np.arange(1001) % 3, 3)
    assert uploads(balanced_blocks(boundary, 400)) < 1.1 * boundary.B < uploads(covering_blocks(boundary, 400))
