# SPDX-License-Identifier: Apache-2.0
"""Draws of neighbours: machine code against NumPy to the bit, sizes, clamps, frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.dgs import reference, sampling
from offramp.dgs.masks import LEAST, weights
from offramp.dgs.sampling import LocalAdjacency, stream_of
from offramp.graph.generate import generate

GRAPH = generate("ba:n=300,m=6", None, 1)
ROWS = LocalAdjacency(GRAPH.indptr, GRAPH.indices)
ALL = np.arange(300)
OWNER = (ALL % 3).astype(np.int32)


def of_rows(sampled: sampling.SampledNeighbours) -> list[np.ndarray]:
    return np.split(sampled.neighbours, np.cumsum(sampled.counts)[:-1])


@settings(max_examples=60)
@given(st.integers(0, 1000), st.integers(1, 40), st.integers(-45, 45), st.integers(0, 2))
def test_machine_code_is_the_reference_to_the_bit(seed: int, fanout: int, shift: int, worker: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(300)[: rng.integers(0, 300)]
    stream = stream_of(seed, worker, 1, 1)
    for result, expected in zip(
        sampling.uniform(ROWS, rows, rows, fanout, stream),
        reference.uniform(*ROWS, rows, rows, fanout, stream),
        strict=True,
    ):
        assert np.array_equal(result, expected)
    where = sampling.places(ROWS.indptr, rows, rows, fanout, stream)
    assert np.array_equal(ROWS.indices[where.neighbours], sampling.uniform(ROWS, rows, rows, fanout, stream).neighbours)
    w = rng.random(300) + LEAST
    result = sampling.weighted(ROWS, rows, rows, fanout, stream, w, OWNER, worker, shift)
    expected = reference.weighted(*ROWS, rows, rows, fanout, shift, worker != OWNER, w, stream)
    assert np.array_equal(result.counts, expected[0])
    assert np.array_equal(result.neighbours, expected[1])
    sources, columns = sampling.Numbering(300)(rows, result.neighbours)
    expected = reference.number(rows, result.neighbours)
    assert np.array_equal(sources, expected[0])
    assert np.array_equal(columns, expected[1])


@settings(max_examples=60)
@given(st.integers(0, 1000), st.integers(1, 40), st.floats(-1, 1))
def test_sizes_and_clamps(seed: int, fanout: int, epsilon: float) -> None:
    """Never more than the fan-out, all where there are no more, no duplicates; epsilon changes no total."""
    w = np.random.default_rng(seed).random(300) + LEAST
    stream, shift = stream_of(seed, 0, 1, 1), round(epsilon * fanout)
    plain = of_rows(sampling.weighted(ROWS, ALL, ALL, fanout, stream, w, OWNER, 0))
    moved = of_rows(sampling.weighted(ROWS, ALL, ALL, fanout, stream, w, OWNER, 0, shift))
    for v, (before, after) in enumerate(zip(plain, moved, strict=True)):
        near = GRAPH.indices[GRAPH.indptr[v] : GRAPH.indptr[v + 1]]
        assert len(set(after)) == len(after) == len(before) == min(fanout, len(near))
        assert set(after) <= set(near)
        if len(near) > fanout:
            remote = int((OWNER[near] != 0).sum())
            local = len(near) - remote
            wanted = int((OWNER[before] != 0).sum()) + shift
            assert (OWNER[after] != 0).sum() == min(max(wanted, fanout - min(local, fanout)), fanout, remote)


@pytest.mark.parametrize("owners", [np.zeros(300, np.int32), np.ones(300, np.int32)])
@pytest.mark.parametrize("shift", [-5, 5])
def test_no_local_or_no_remote_neighbours(owners: np.ndarray, shift: int) -> None:
    sampled = sampling.weighted(ROWS, ALL, ALL, 5, 1, np.ones(300), owners, 0, shift)
    assert np.array_equal(sampled.counts, np.minimum(GRAPH.degrees, 5))


def test_epsilon_of_minus_one_takes_local_ones_first() -> None:
    rows = of_rows(sampling.weighted(ROWS, ALL, ALL, 5, 1, np.ones(300), OWNER, 0, -5))
    for v, drawn in enumerate(rows):
        near = GRAPH.indices[GRAPH.indptr[v] : GRAPH.indptr[v + 1]]
        if len(near) > 5:
            assert (OWNER[drawn] == 0).sum() == min(5, (OWNER[near] == 0).sum())


def test_uniform_draws_are_uniform() -> None:
    """Each neighbour as often as any other: a chi-square over 4,000 draws."""
    row = int(GRAPH.degrees.argmax())
    near = GRAPH.indices[GRAPH.indptr[row] : GRAPH.indptr[row + 1]]
    counts = np.zeros(300)
    for batch in range(4000):
        counts[sampling.uniform(ROWS, np.array([row]), np.array([row]), 7, stream_of(5, 0, batch, 1)).neighbours] += 1
    expected = 4000 * 7 / len(near)
    chi = ((counts[near] - expected) ** 2 / (expected * (1 - 7 / len(near)))).sum()
    assert chi < len(near) + 5 * (2 * len(near)) ** 0.5


def test_the_first_weighted_draw_is_in_proportion() -> None:
    row = int(GRAPH.degrees.argmax())
    near = GRAPH.indices[GRAPH.indptr[row] : GRAPH.indptr[row + 1]]
    w = np.zeros(300)
    w[near] = np.arange(1, len(near) + 1)
    counts = np.zeros(300)
    for batch in range(6000):
        stream = stream_of(5, 0, batch, 1)
        counts[sampling.weighted(ROWS, np.array([row]), np.array([row]), 1, stream, w, OWNER, 0).neighbours] += 1
    expected = 6000 * w[near] / w.sum()
    assert ((counts[near] - expected) ** 2 / expected).sum() < len(near) + 5 * (2 * len(near)) ** 0.5


def test_weight_one_for_all_is_uniform() -> None:
    """Masks that are all 1, as local vertices are, say nothing; any other constant would prefer local ones."""
    share = np.zeros(2)
    for batch in range(300):
        sampled = sampling.weighted(ROWS, ALL, ALL, 3, stream_of(1, 0, batch, 1), np.ones(300), OWNER, 0)
        plain = sampling.uniform(ROWS, ALL, ALL, 3, stream_of(1, 0, batch, 1))
        share += [(OWNER[sampled.neighbours] != 0).mean(), (OWNER[plain.neighbours] != 0).mean()]
    assert share[0] == pytest.approx(share[1], rel=0.01)


def test_masks_that_say_nothing_weigh_all_alike() -> None:
    assert weights(np.zeros(4, np.float32)).tolist() == [1, 1, 1, 1]


def test_nobody_is_excluded() -> None:
    assert weights(np.array([0, 0.5, 1e-9], np.float32)).tolist() == pytest.approx([LEAST, 0.5, LEAST])


def test_exponential_variates() -> None:
    words = np.random.default_rng(0).integers(0, 2**63, 20_000).astype(np.uint64) * np.uint64(2)
    variates = reference.exponential(words)
    expected = -np.log(((words >> np.uint64(11)).astype(np.float64) + 1) / 2**53)
    assert variates == pytest.approx(expected, abs=1e-8)
