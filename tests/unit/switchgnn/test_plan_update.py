# SPDX-License-Identifier: Apache-2.0
"""Plans of graphs that change: complete exchanges again, with untouched blocks as they were."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.boundary import Boundary
from offramp.graph.csr import rows_of, symmetric_csr
from offramp.graph.load import load
from offramp.graph.partition import partition
from offramp.switchgnn.fingerprint import boundary_fingerprint, plan_fingerprint
from offramp.switchgnn.plan import AGGREGATOR_BYTES, make_plan
from offramp.switchgnn.plan_file import load_plan, save_plan
from offramp.switchgnn.plan_update import updated


def boundary_of(n: int, edges, owner, workers: int) -> Boundary:
    indptr, indices = symmetric_csr(n, *np.asarray(edges).reshape(-1, 2).T)
    return Boundary(SimpleNamespace(indptr=indptr, indices=indices), owner, workers)


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.integers(0, 10**6),
    st.integers(2, 30),
    st.integers(2, 20),
    st.floats(0, 1),
    st.integers(0, 60),
    st.integers(0, 3),
)
def test_an_updated_plan_is_a_complete_exchange(
    tmp_path_factory, seed: int, n: int, limit: int, left: float, added: int, moved: int
) -> None:
    rng = np.random.default_rng(seed)
    edges, owner = rng.integers(0, n, (3 * n, 2)), rng.integers(0, 4, n)
    before = make_plan(boundary_of(n, edges, owner, 4), 2, limit * 2 * AGGREGATOR_BYTES, seed=seed, first_block_id=3)
    n += int(rng.integers(0, 5))
    owner = np.concatenate([owner, rng.integers(0, 4, n - len(owner))])
    owner[rng.integers(0, n, moved)] = rng.integers(0, 4, moved)
    edges = np.concatenate([edges[rng.random(len(edges)) < left], rng.integers(0, n, (added, 2))])
    boundary = boundary_of(n, edges, owner, 4)
    update = updated(before, boundary, seed=seed)
    path = tmp_path_factory.mktemp("plan") / "plan.npz"
    save_plan(update.plan, path)
    load_plan(path)  # which checks sizes, orders, and that every edge is in one block
    assert plan_fingerprint(update.plan) == boundary_fingerprint(boundary)
    assert (update.plan.B, update.plan.C, update.plan.R) == (boundary.B, boundary.C, boundary.R)
    assert [block.block_id for block in update.plan.blocks] == [3 + i for i in range(len(update.plan.blocks))]
    old = {block.block_id: block for block in before.blocks}
    same = [
        block.block_id in old
        and all(np.array_equal(getattr(block, a), getattr(old[block.block_id], a)) for a in ("vertices", "neighbours"))
        for block in update.plan.blocks
    ]
    assert update.kept <= sum(same)


@pytest.mark.full
def test_a_graph_that_has_not_changed_keeps_its_blocks() -> None:
    graph = load("digits", 0)
    boundary = Boundary(graph, partition(graph, 4, "hash", 0), 4)
    before = make_plan(boundary, 2, 64_000)
    assert len(before.blocks) > 3
    update = updated(before, boundary)
    assert update.kept == len(before.blocks)
    for old, new in zip(before.blocks, update.plan.blocks, strict=True):
        assert new.order is old.order


@pytest.mark.parametrize("share", [0.002, 0.02])
def test_few_changes_touch_few_blocks_and_add_few_uploads(share: float) -> None:
    """New edges close triangles, as they do in most networks that grow; as many others vanish."""
    graph = load("sbm:n=6000,k=60,degree=16,homophily=0.95,features=1", 1)
    owner = partition(graph, 8, "hash", 0)
    before = make_plan(Boundary(graph, owner, 8), 1, 700 * AGGREGATOR_BYTES)
    rng = np.random.default_rng(2)
    u, v = rows_of(graph.indptr), graph.indices
    upper = u < v
    edges = np.stack([u[upper], v[upper]], axis=1)
    count = int(share * len(edges))
    middle = rng.integers(0, 6000, count)
    degrees = np.diff(graph.indptr)
    pick = [graph.indices[graph.indptr[middle] + rng.integers(0, degrees[middle])] for _ in range(2)]
    now = np.concatenate([rng.permutation(edges)[count:], np.stack(pick, axis=1)])
    boundary = boundary_of(6000, now, owner, 8)
    update, fresh = updated(before, boundary), make_plan(boundary, 1, 700 * AGGREGATOR_BYTES)
    assert update.plan.uploads < (1.01 + 4 * share) * fresh.uploads
    assert update.kept < len(before.blocks)


def test_what_is_left_over_takes_the_place_of_a_block_that_is_gone() -> None:
    """Three triangles of workers 0, 1, 2, a block each; the second goes, a fourth comes."""

    def triangle(first: int) -> list[tuple[int, int]]:
        return [(first, first + 1), (first + 1, first + 2), (first, first + 2)]

    owner = np.arange(12) % 3
    before = make_plan(boundary_of(12, [*triangle(0), *triangle(3), *triangle(6)], owner, 3), 1, 3 * AGGREGATOR_BYTES)
    gone = next(i for i, block in enumerate(before.blocks) if block.vertices[0] == 3)
    update = updated(before, boundary_of(12, [*triangle(0), *triangle(6), *triangle(9)], owner, 3))
    assert update.kept == 2
    assert update.plan.blocks[gone].vertices.tolist() == [9, 10, 11]


def test_a_plan_of_nothing(tmp_path: Path) -> None:
    nothing = boundary_of(3, np.zeros((0, 2), int), [0, 1, 2], 3)
    some = boundary_of(3, [(0, 1)], [0, 1, 2], 3)
    assert updated(make_plan(some, 1, 1024), nothing).plan.blocks == []
    assert updated(make_plan(nothing, 1, 1024), some).plan.uploads == 2
