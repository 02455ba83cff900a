# SPDX-License-Identifier: Apache-2.0
"""Clusters of low density as dense blocks (G6, G7, G8)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.torchgt.pattern import Pattern, pair_keys, pattern_of
from offramp.torchgt.reformation import PLACEMENTS, Clusters, reform
from offramp.torchgt.tuner import ladder
from offramp_base.errors import OfframpError
from torchgt_patterns import random_pattern, some_bucket

seeded = settings(derandomize=True, max_examples=60, deadline=None)
cases = given(
    sizes=st.lists(st.integers(0, 17), min_size=1, max_size=5).filter(any),
    beyond=st.integers(0, 3),
    degree=st.integers(0, 6),
    beta=st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.0]),
    block=st.integers(1, 6),
    placement=st.sampled_from(PLACEMENTS),
    seed=st.integers(0, 9),
)


def clustered(sizes: list[int], beyond: int, degree: int, seed: int) -> tuple[Pattern, np.ndarray]:
    """A pattern with tokens ``beyond`` the clusters that all attend to and that attend to all."""
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    count, tokens = int(bounds[-1]), int(bounds[-1]) + beyond
    base = random_pattern(count, degree, seed)
    every, global_tokens = np.arange(tokens), np.arange(count, tokens)
    rows = np.concatenate([base.rows, np.tile(every, beyond), np.repeat(global_tokens, tokens)])
    columns = np.concatenate([base.indices, np.repeat(global_tokens, tokens), np.tile(every, beyond)])
    return pattern_of(tokens, pair_keys(tokens, rows, columns), some_bucket), bounds


def same(a: Pattern, b: Pattern) -> bool:
    return np.array_equal(a.dense(), b.dense()) and len(a.corners) == len(b.corners)


def covered(pattern: Pattern) -> np.ndarray:
    """The number of times that each pair is attended."""
    times = np.zeros((pattern.tokens, pattern.tokens), np.int64)
    np.add.at(times, (pattern.rows, pattern.indices), 1)
    for row, column in pattern.corners.tolist():
        times[row : row + pattern.block, column : column + pattern.block] += 1
    return times


@seeded
@cases
def test_blocks_lie_in_their_clusters_once_and_keep_loops_and_global_tokens(
    sizes, beyond, degree, beta, block, placement, seed
) -> None:
    pattern, bounds = clustered(sizes, beyond, degree, seed)
    reformed = reform(pattern, bounds, beta, some_bucket, block=block, placement=placement, seed=seed)
    assert covered(reformed).max() == 1
    assert np.diag(reformed.dense()).all()
    count = bounds[-1]
    for area in (np.s_[count:], np.s_[:, count:]):
        assert np.array_equal(reformed.dense()[area], pattern.dense()[area])
    clusters = Clusters.of(pattern, bounds)
    k, chosen = len(sizes), clusters.transferred(beta, block)
    blocks_of = np.zeros(k * k, np.int64)
    for row, column in reformed.corners.tolist():
        i, j = (int(np.searchsorted(bounds, x, side="right")) - 1 for x in (row, column))
        assert bounds[i] <= row <= bounds[i + 1] - block
        assert (row - bounds[i]) % block == (column - bounds[j]) % block == 0
        assert column <= bounds[j + 1] - block
        blocks_of[i * k + j] += 1
    assert set(np.flatnonzero(blocks_of)) <= set(chosen)
    assert (blocks_of <= clusters.pairs.ravel() // block**2 + 1).all()
    for cluster in set(range(k * k)) - set(chosen.tolist()):
        i, j = divmod(cluster, k)
        area = np.s_[bounds[i] : bounds[i + 1], bounds[j] : bounds[j + 1]]
        assert np.array_equal(reformed.dense()[area], pattern.dense()[area])
    assert np.array_equal(reformed.buckets, some_bucket(reformed.rows, reformed.indices))
    for (row, column), buckets in zip(reformed.corners, reformed.block_buckets, strict=True):
        inner = np.arange(block)
        assert np.array_equal(buckets, some_bucket(row + inner[:, None], column + inner))


@seeded
@cases
def test_each_step_of_the_ladder_transfers_a_superset(sizes, beyond, degree, beta, block, placement, seed) -> None:
    del beta, placement
    pattern, bounds = clustered(sizes, beyond, degree, seed)
    clusters = Clusters.of(pattern, bounds)
    steps = [set(clusters.transferred(b, block).tolist()) for b in ladder(clusters.density)]
    assert not steps[0]
    assert all(low <= high for low, high in pairwise(steps))
    wide = np.diff(bounds) >= block
    full = clusters.pairs == clusters.cells
    assert steps[-1] == set(np.flatnonzero((clusters.pairs > 0) & ~full & np.outer(wide, wide)))


def test_zero_transfers_nothing_and_one_all() -> None:
    pattern, bounds = clustered([16, 16], 1, 4, 0)
    assert reform(pattern, bounds, 0.0, some_bucket, block=4) is pattern
    reformed = reform(pattern, bounds, 1.0, some_bucket, block=4)
    inside = reformed.rows < 32
    scattered = reformed.rows[inside & (reformed.indices < 32)], reformed.indices[inside & (reformed.indices < 32)]
    assert np.array_equal(*scattered), "only self-loops stay scattered where tiles cover a cluster"


def test_the_number_of_blocks_is_that_of_the_pairs() -> None:
    """32 scattered pairs in a cluster of 16 x 16 make two blocks of 4 x 4 and one more."""
    rng = np.random.default_rng(0)
    cells = rng.choice(256, 32, replace=False)
    keys = pair_keys(32, cells // 16, 16 + cells % 16)
    pattern = pattern_of(32, keys, some_bucket)
    for placement in PLACEMENTS:
        reformed = reform(pattern, np.array([0, 16, 32]), 1.0, some_bucket, block=4, placement=placement)
        assert len(reformed.corners) == 32 // 16 + 1
        assert reformed.pairs == 3 * 16


def test_the_densest_tiles_are_taken() -> None:
    dense = [(r, 8 + c) for r in range(4) for c in range(4)][:15]
    stray = [(4, 12)]
    rows, columns = np.array([*dense, *stray]).T
    pattern = pattern_of(16, pair_keys(16, rows, columns), some_bucket)
    reformed = reform(pattern, np.array([0, 8, 16]), 1.0, some_bucket, block=4)
    assert reformed.corners.tolist() == [[0, 8], [4, 12]]


@pytest.mark.parametrize(
    ("sizes", "block"), [([3, 3], 4), ([0, 9, 0], 4), ([1], 4), ([5], 5)], ids=["narrow", "empty", "single", "one"]
)
def test_small_clusters(sizes: list[int], block: int) -> None:
    pattern, bounds = clustered(sizes, 1, 0, 0)
    reformed = reform(pattern, bounds, 1.0, some_bucket, block=block)
    if max(sizes) < block:
        assert reformed is pattern
    assert np.diag(reformed.dense()).all()


def test_an_empty_cluster_makes_no_block() -> None:
    pattern = pattern_of(16, pair_keys(16, np.array([0, 1]), np.array([1, 0])), some_bucket)
    assert reform(pattern, np.array([0, 8, 16]), 1.0, some_bucket, block=4).corners.tolist() == [[0, 0]]


def test_density_counts_vertices_only() -> None:
    pattern, bounds = clustered([8, 8], 2, 0, 0)
    assert Clusters.of(pattern, bounds).density == 16 / 256


def test_the_same_seed_draws_the_same_blocks() -> None:
    pattern, bounds = clustered([16, 16], 0, 4, 0)
    first, second, other = (
        reform(pattern, bounds, 1.0, some_bucket, block=4, placement="random", seed=seed) for seed in (1, 1, 2)
    )
    assert same(first, second)
    assert not same(first, other)


def test_wrong_arguments() -> None:
    pattern, bounds = clustered([4], 0, 1, 0)
    with pytest.raises(OfframpError, match=r"^placement best: expected one of densest, random$"):
        reform(pattern, bounds, 1.0, some_bucket, placement="best")
    with pytest.raises(OfframpError, match=r"^block 0: expected at least 1$"):
        reform(pattern, bounds, 1.0, some_bucket, block=0)
