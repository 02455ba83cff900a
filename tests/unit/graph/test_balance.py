# SPDX-License-Identifier: Apache-2.0
"""Blocks that balance uploads: every property of blocks holds, and the busiest workers have less to send."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.balance import GROWTH, balanced_blocks, busiest
from offramp.graph.blocks import plan_blocks
from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp.graph.load import load
from offramp.graph.partition import partition

FACEBOOK = Path(os.environ.get("OFFRAMP_DATA", Path(__file__).parents[4] / "shared" / "data")) / "facebook.npz"


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(4, 60), st.integers(2, 6), st.integers(2, 30))
def test_blocks_stay_blocks(seed: int, n: int, workers: int, limit: int) -> None:
    rng = np.random.default_rng(seed)
    indptr, indices = symmetric_csr(n, *rng.integers(0, n, (2, 3 * n)))
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), rng.integers(0, workers, n), workers)
    plain, blocks = plan_blocks(boundary.cut_edges, limit, seed), balanced_blocks(boundary, limit, seed)
    edges = sorted(tuple(edge) for block in blocks for edge in block.edges.tolist())
    assert edges == sorted(map(tuple, boundary.cut_edges.tolist()))
    for block in blocks:
        assert len(block.vertices) <= limit
        assert np.array_equal(block.vertices, np.unique(block.edges))
    assert busiest(blocks, boundary.owner) <= busiest(plain, boundary.owner)
    assert volume(blocks) <= (1 + GROWTH) * volume(plain)


def test_blocks_of_different_workers_are_packed_together() -> None:
    """Four K(5,5), two between workers 0 and 1 and two between 2 and 3; a block takes two of them."""
    one = np.array([[u, 5 + v] for u in range(5) for v in range(5)])
    indptr, indices = symmetric_csr(40, *np.concatenate([one + 10 * i for i in range(4)]).T)
    owner = np.repeat([0, 1, 0, 1, 2, 3, 2, 3], 5)
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), owner, 4)
    plain, blocks = plan_blocks(boundary.cut_edges, 20), balanced_blocks(boundary, 20)
    assert (busiest(plain, boundary.owner), busiest(blocks, boundary.owner)) == (20, 10)
    assert volume(plain) == volume(blocks) == 40


@pytest.mark.full
@pytest.mark.skipif(not FACEBOOK.exists(), reason=f"{FACEBOOK} is missing")
def test_a_real_graph_gains() -> None:
    graph = load(str(FACEBOOK), 0)
    boundary = Boundary(graph, partition(graph, 8, "metis", 0), 8)
    limit = 1_000_000 // 128 // 4
    plain, blocks = plan_blocks(boundary.cut_edges, limit), balanced_blocks(boundary, limit)
    assert busiest(blocks, boundary.owner) < 0.9 * busiest(plain, boundary.owner)
    assert volume(blocks) <= (1 + GROWTH) * volume(plain)


def volume(blocks) -> int:
    return sum(len(block.vertices) for block in blocks)
