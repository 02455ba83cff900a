# SPDX-License-Identifier: Apache-2.0
"""The quantiser on rows alone, then sums through workers that are threads.

Statistics are of many seeds, with bounds that five standard deviations stay within.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.train import quantiser
from offramp_base.errors import OfframpError


@settings(derandomize=True, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), exponent=st.integers(-120, 120))
def test_ranges_go_outward_to_bfloat16(seed: int, exponent: int) -> None:
    values = np.random.default_rng(seed).normal(size=(5, 7)) * 2.0**exponent
    least, largest = quantiser.least_and_largest(values).T.astype(np.float64)
    assert (least <= values.min(axis=1)).all()
    assert (values.max(axis=1) <= largest).all()
    assert (values.min(axis=1) - least <= 2.0**-7 * np.abs(least)).all()
    assert (largest - values.max(axis=1) <= 2.0**-7 * np.abs(largest)).all()
    ends = quantiser.least_and_largest(values)
    data = quantiser.to_bytes(ends)
    assert data.shape == (5, 4)
    np.testing.assert_array_equal(quantiser.from_bytes(data), ends)


@settings(derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    bits=st.sampled_from([8, 16]),
    terms=st.integers(1, 100),
    features=st.integers(1, 9),
    spread=st.integers(0, 12),
)
def test_sums_of_fields_never_carry(seed, bits, terms, features, spread) -> None:
    """Contributors of very different ranges, with the largest luck in rounding."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(terms, features)) * 10.0 ** rng.integers(-spread, spread + 1, (terms, 1))
    ends = quantiser.least_and_largest(values).astype(np.float64)
    ranges = ends[:, 1] - ends[:, 0]
    scale = quantiser.shared_scale(ranges.sum(keepdims=True), np.array([terms]), bits)
    levels = quantiser.levels_of(ranges[:, np.newaxis], scale)
    assert levels.sum() <= (1 << bits) - 1
    codes = quantiser.encode(values, ends[:, :1], scale, levels, rng)
    assert (codes <= levels).all()
    packed = quantiser.pack(codes, bits)
    assert packed.shape == (terms, -(-features * bits // 32))
    total = packed.astype(np.int64).sum(axis=0, keepdims=True)
    np.testing.assert_array_equal(quantiser.unpack(total, bits, features), codes.sum(axis=0, keepdims=True))
    decoded = quantiser.unpack(total, bits, features) * scale.astype(np.float64) + ends[:, 0].sum()
    assert np.abs(decoded - values.sum(axis=0)).max() <= terms * float(scale[0]) * (1 + 1e-6)


def test_the_common_scale_fills_a_field_at_most() -> None:
    for terms in (1, 3, 254, 255):
        levels = quantiser.common_levels(terms, 8)
        assert 255 - terms < terms * levels <= 255
        values = np.array([[-1.0, 1.0, 0.3]])
        codes = quantiser.encode(values, -1.0, 2.0 / levels, levels, np.random.default_rng(0))
        assert codes[0, :2].tolist() == [0, levels]


def test_rounding_is_unbiased_and_its_variance_sylvies() -> None:
    """E = h exactly; Var = scale² Σ f(1-f), about a sixth on average (section 1.3)."""
    rng = np.random.default_rng(1)
    h = rng.uniform(-1, 1, (1, 256))
    scale = (h.max() - h.min()) / 15
    codes = [quantiser.encode(h, h.min(), scale, 15, np.random.default_rng(seed))[0] for seed in range(4000)]
    runs = scale * np.stack(codes) + h.min()
    fraction = (h[0] - h.min()) / scale % 1
    deviation = scale * np.sqrt(fraction * (1 - fraction))
    assert (np.abs(runs.mean(axis=0) - h[0]) <= 5 * deviation / np.sqrt(4000) + 1e-12).all()
    variance = runs.var(axis=0).sum()
    assert variance == pytest.approx((deviation**2).sum(), rel=0.05)
    assert variance == pytest.approx(256 * scale**2 / 6, rel=0.1)


def test_an_empty_range_costs_nothing() -> None:
    values = np.full((2, 3), 0.1)
    ends = quantiser.least_and_largest(values).astype(np.float64)
    scale = quantiser.shared_scale(np.zeros(2), np.array([1, 4]), 8)
    assert not scale.any()
    levels = quantiser.levels_of((ends[:, 1:] - ends[:, :1]) * 0, scale[:, np.newaxis])
    assert not quantiser.encode(values, ends[:, :1], scale[:, np.newaxis], levels, np.random.default_rng(0)).any()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e39])
def test_what_is_not_finite_is_refused(wrong: float) -> None:
    with pytest.raises(OfframpError, match="expected finite values"):
        quantiser.least_and_largest(np.array([[0.0, wrong]]))
