# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.boundary import Boundary
from offramp.graph.csr import rows_of, symmetric_csr
from offramp.graph.order import METHODS
from offramp.switchgnn import plan as module
from offramp.switchgnn.chunks import chunks_for
from offramp.switchgnn.plan import make_plan
from offramp_base.errors import OfframpError

AGGREGATOR = 128


def random_boundary(seed, n=None):
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 30))
    indptr, indices = symmetric_csr(n, *rng.integers(0, n, (2, 3 * n)))
    workers = int(rng.integers(1, 6))
    return Boundary(SimpleNamespace(indptr=indptr, indices=indices), rng.integers(0, workers, n), workers)


@pytest.fixture
def g6():
    edges = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 5], [2, 3], [2, 4], [3, 5]])
    indptr, indices = symmetric_csr(6, *edges.T)
    return Boundary(SimpleNamespace(indptr=indptr, indices=indices), [0, 0, 1, 1, 2, 2])


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=250)
@given(st.integers(0, 10**6), st.integers(2, 34), st.integers(1, 3), st.sampled_from(METHODS))
def test_a_plan_is_a_complete_exchange(seed, limit, chunks, order):
    boundary = random_boundary(seed)
    plan = make_plan(boundary, chunks, limit * chunks * AGGREGATOR, order, seed, first_block_id=7)
    need = np.zeros(len(boundary.owner), np.int64)
    directed = []
    for i, block in enumerate(plan.blocks):
        assert block.block_id == 7 + i
        assert len(block.vertices) * chunks <= plan.aggregators
        assert np.array_equal(block.owner, boundary.owner[block.vertices])
        assert sorted(block.order.tolist()) == list(range(len(block.vertices)))
        own_parts = [block.uploads_of(w) for w in range(plan.workers)]
        assert sum(map(len, own_parts)) == len(block.vertices)
        need[block.vertices] += block.need
        directed += zip(
            block.vertices[rows_of(block.indptr)].tolist(), block.vertices[block.neighbours].tolist(), strict=True
        )
    assert np.array_equal(need[boundary.vertices], boundary.need)
    assert len(set(directed)) == len(directed) == 2 * plan.C
    assert {(u, v) for u, v in directed if u < v} == set(map(tuple, boundary.cut_edges.tolist()))
    assert plan.uploads == plan.results >= plan.B == boundary.B
    assert plan.passes == 2 * boundary.C * chunks
    assert plan.recirculations == plan.passes - plan.packets >= 0
    if limit >= boundary.B > 0:
        assert (len(plan.blocks), plan.uploads, plan.levels) == (1, boundary.B, 1)
    again = make_plan(boundary, chunks, limit * chunks * AGGREGATOR, order, seed, first_block_id=7)
    for a, b in zip(plan.blocks, again.blocks, strict=True):
        assert np.array_equal(a.vertices, b.vertices)
        assert np.array_equal(a.order, b.order)


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(0, 10**6), st.integers(2, 34))
def test_sums_over_blocks_are_the_remote_sums(seed, limit):
    """Invariant 1 of section 12 on the plan alone: blocks add up to a host-only integer reference."""
    boundary = random_boundary(seed)
    x = np.random.default_rng(seed).integers(-(2**20), 2**20, len(boundary.owner))
    expected = np.zeros_like(x)
    np.add.at(expected, boundary.cut_edges[:, 0], x[boundary.cut_edges[:, 1]])
    np.add.at(expected, boundary.cut_edges[:, 1], x[boundary.cut_edges[:, 0]])
    total = np.zeros_like(x)
    for block in make_plan(boundary, 1, limit * AGGREGATOR, seed=seed).blocks:
        for rank, v in enumerate(block.vertices.tolist()):
            total[v] += x[block.vertices[block.row(rank)]].sum()
    assert np.array_equal(total, expected)


def test_six_vertex_example(g6):
    plan = make_plan(g6, 1, 6 * AGGREGATOR)
    assert (plan.uploads, plan.passes, plan.R, plan.B, plan.C) == (6, 14, 12, 6, 7)
    (block,) = plan.blocks
    assert block.vertices[block.order].tolist() == [0, 2, 3, 4, 1, 5]
    assert block.vertices[block.uploads_of(0)].tolist() == [0, 1]
    assert plan.aggregators_peak == plan.aggregators == 6


def test_nothing_cut_needs_no_block(g6):
    one = Boundary(SimpleNamespace(indptr=np.array([0, 1, 2]), indices=np.array([1, 0])), [0, 0])
    plan = make_plan(one, 2, 10**6)
    assert (plan.blocks, plan.uploads, plan.levels, plan.passes, plan.aggregators_peak) == ([], 0, 0, 0, 0)


def test_a_hub_that_the_counter_cannot_hold_is_split(monkeypatch):
    leaves = 9
    indptr, indices = symmetric_csr(leaves + 1, np.zeros(leaves, int), np.arange(1, leaves + 1))
    star = Boundary(SimpleNamespace(indptr=indptr, indices=indices), [0] + [1] * leaves)
    monkeypatch.setattr(module, "MAX_NEED", 4)
    plan = make_plan(star, 1, 10**6)
    assert max(block.need.max() for block in plan.blocks) <= 4
    assert sum(block.need.sum() for block in plan.blocks) == 2 * leaves


@pytest.mark.parametrize(
    ("features", "chunks"), [(1, 1), (32, 1), (33, 2), (100, 4), (300, 10), (602, 19), (8160, 255)]
)
def test_chunks(features, chunks):
    assert chunks_for(features) == chunks


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 100), "memory 100 B: holds 0 aggregators; an edge needs 1 at each end, expected at least 256 B"),
        ((4, 1023), "memory 1023 B: holds 7 aggregators; an edge needs 4 at each end, expected at least 1024 B"),
        ((1, -5), "memory -5 B: holds 0 aggregators; an edge needs 1 at each end, expected at least 256 B"),
        ((0, 10**6), "chunks 0: expected 1 to 255"),
        ((256, 10**6), "chunks 256: expected 1 to 255"),
        ((1, 256, "gamr", 0, 65530), "blocks: 7 from id 65530 exceed 16-bit Block_ids; more memory makes fewer"),
        ((1, 10**6, "best"), "order 'best': expected one of gamr, degree, bfs, random, id"),
    ],
)
def test_golden_errors(g6, arguments, message):
    with pytest.raises(OfframpError) as error:
        make_plan(g6, *arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("features", [0, 8161])
def test_widths_out_of_range(features):
    with pytest.raises(OfframpError, match=f"features {features}: expected 1 to 8160"):
        chunks_for(features)
