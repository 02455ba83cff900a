# SPDX-License-Identifier: Apache-2.0
"""AdaQP-like widths against all assignments of small cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offramp.sylvie.adaqp import WIDTHS, balanced_widths, row_weights, variance, widths_within
from offramp.sylvie.quantiser import row_bytes
from offramp_base.errors import OfframpError

WEIGHTS = st.lists(st.floats(0, 1e3), min_size=1, max_size=6)


def size(widths, columns):
    return sum(row_bytes(columns, int(bits)) for bits in widths)


def all_within(weights, columns, budget):
    for widths in product(WIDTHS, repeat=len(weights)):
        if size(widths, columns) <= budget:
            yield np.array(widths, np.uint8)


@pytest.mark.full
@given(weights=WEIGHTS, columns=st.integers(1, 9), share=st.floats(0, 1))
def test_within_the_budget_and_at_most_one_step_from_the_best(weights, columns, share):
    weights = np.array(weights)
    low, high = (len(weights) * row_bytes(columns, bits) for bits in (2, 8))
    budget = int(low + share * (high - low))
    chosen = widths_within(weights, columns, budget)
    assert size(chosen, columns) <= budget
    best = min(variance(weights, widths, columns) for widths in all_within(weights, columns, budget))
    got = variance(weights, chosen, columns)
    # The linear relaxation is no worse than the best; the greedy lacks one row's last step of it.
    assert got <= best + variance(weights[[weights.argmax()]], np.array([2], np.uint8), columns) + 1e-9 * got


@pytest.mark.parametrize("columns", [4, 32, 128])
def test_the_ends_of_the_budget_and_who_comes_first(columns):
    weights = np.array([1.0, 100.0, 10.0, 0.0])
    low, high = (4 * row_bytes(columns, bits) for bits in (2, 8))
    assert widths_within(weights, columns, low).tolist() == [2, 2, 2, 2]
    assert widths_within(weights, columns, high).tolist() == [8, 8, 8, 2]
    one = row_bytes(columns, 4) - row_bytes(columns, 2)
    assert widths_within(weights, columns, low + one).tolist() == [2, 4, 2, 2]
    assert widths_within(weights, columns, low + 2 * one).tolist() == [2, 4, 4, 2]


def test_more_budget_never_hurts():
    weights = np.random.default_rng(1).exponential(size=200)
    spread = [variance(weights, widths_within(weights, 64, b), 64) for b in range(200 * 16, 200 * 64 + 1, 160)]
    assert (np.diff(spread) <= 1e-12).all()


def test_variance_is_what_rounding_adds():
    from offramp.sylvie.quantiser import dequantise, quantise

    x = np.random.default_rng(0).uniform(size=(1, 4000)).astype(np.float32)
    errors = []
    for seed in range(60):
        out = np.empty_like(x)
        dequantise(quantise(x, None, 4, seed), 4, out)
        errors.append(float(((out - x).astype(np.float64) ** 2).sum()))
    expected = variance(row_weights([np.ptp(x)], [1.0]), np.array([4], np.uint8), 4000)
    assert np.mean(errors) == pytest.approx(expected, rel=0.1)


def test_pairs_share_the_time_of_the_slowest():
    rng = np.random.default_rng(2)
    pairs = [rng.exponential(size=n) for n in (50, 10, 200)]
    rates = [1e6, 1e6, 1e7]
    cheap, dear = (balanced_widths(pairs, 32, rates, tradeoff) for tradeoff in (0, 1))
    assert all((w == 2).all() for w in (cheap[0],))
    assert all((w == 8).all() for w in dear)
    middle = balanced_widths(pairs, 32, rates, 0.5)
    times = [8 * size(w, 32) / rate for w, rate in zip(middle, rates, strict=True)]
    assert max(times) == times[0]
    assert set(middle[1].tolist()) == {8}  # a small pair has time for all its bits


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: widths_within([1.0, 2.0], 8, 3), "budget 3: expected at least 4 bytes, all rows at 2 bits"),
        (lambda: widths_within([float("nan")], 8, 30), "weights: expected finite numbers of at least 0"),
        (lambda: widths_within([float("inf")], 8, 30), "weights: expected finite numbers of at least 0"),
        (lambda: widths_within([1.0, -1e-9], 8, 30), "weights: expected finite numbers of at least 0"),
        (lambda: balanced_widths([[1.0]], 8, [0.0]), "rates_bps: expected 1 positive rates, one per pair"),
        (lambda: balanced_widths([[1.0]], 8, [1.0], 2), "tradeoff 2: expected 0 to 1"),
    ],
)
def test_golden_errors(call, message):
    with pytest.raises(OfframpError, match=message):
        call()


def test_no_rows_and_no_pairs():
    assert widths_within([], 8, 0).tolist() == []
    assert balanced_widths([], 8, []) == []
    assert [w.tolist() for w in balanced_widths([[], [1.0]], 8, [1.0, 1.0], 1)] == [[], [8]]
