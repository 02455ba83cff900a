# SPDX-License-Identifier: Apache-2.0
"""Limbs and block floating point against arithmetic without bounds."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.allreduce import numbers
from offramp_base.errors import OfframpError


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 32])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32"])
def test_sums_of_limbs_are_exact_and_what_does_not_fit_is_seen(dtype: str, ranks: int) -> None:
    form, info = numbers.format_of(np.dtype(dtype), ranks), np.iinfo(dtype)
    rng = np.random.default_rng(ranks)
    edges = np.array([info.min, info.max, 0, 1, info.max // ranks, info.min // ranks], dtype)
    given = [np.concatenate([edges, rng.integers(info.min, info.max, 200, dtype, endpoint=True)]) for _ in range(ranks)]
    bits = max(numbers.integer_bits(values) for values in given)
    limbs = form.limbs(bits)
    parts = np.zeros((limbs, len(given[0])), np.int64)
    for values in given:
        cut = numbers.cut(values, limbs, form.lane_bits).astype(np.int64)
        assert (np.abs(cut) <= 1 << form.lane_bits).all()
        parts += cut
    assert (parts == parts.astype(np.int32)).all()  # no lane overflows, whatever the values
    sums, wrong = numbers.join_integers(parts.astype(np.int32), form.lane_bits, np.dtype(dtype))
    exact = sum(values.astype(object) for values in given)
    fits = np.array([info.min <= value <= info.max for value in exact])
    assert (wrong == ~fits).all()
    assert (sums[fits].astype(object) == exact[fits]).all()


def test_integer_bits() -> None:
    for value, bits in [(0, 0), (-1, 0), (1, 1), (-2, 1), (2**31 - 1, 31), (-(2**31), 31), (-(2**63), 63)]:
        assert numbers.integer_bits(np.array([value])) == bits
    assert numbers.integer_bits(np.zeros(0, np.int64)) == 0


@pytest.mark.parametrize(("dtype", "error"), [("float32", 2.0**-25), ("float64", 2.0**-50), ("float16", 2.0**-25)])
def test_what_is_rounded_is_little_beside_the_greatest_number(dtype: str, error: float) -> None:
    form = numbers.format_of(np.dtype(dtype), 8)
    values = np.random.default_rng(1).standard_normal((20, 64)).astype(dtype)
    values = values.astype(np.float32) if dtype == "float16" else values
    exponents, wild = numbers.exponents(values)
    whole = numbers.quantise(values, exponents, form)
    back = numbers.dequantise(whole, exponents, form)
    assert not wild.any()
    assert (np.abs(back - values).max(axis=1) <= error * np.abs(values).max(axis=1)).all()


def test_numbers_beyond_the_agreed_exponent_are_refused() -> None:
    form = numbers.format_of(np.dtype("float32"), 4)
    values = np.ones((1, 64), np.float32)
    exponents, _ = numbers.exponents(values)
    with pytest.raises(OfframpError, match="beyond the exponent that the ranks agreed on"):
        numbers.quantise(values * 4, exponents, form)


@pytest.mark.parametrize("value", [1e-45, 1e-38, 3.4e38, -1e-310, 5e-324, 1.7e308])
def test_the_ends_of_the_range(value: float) -> None:
    for dtype in ("float32", "float64"):
        with np.errstate(over="ignore"):
            values = np.full((1, 2), value, np.float64).astype(dtype)
        if not np.isfinite(values).all():
            continue
        form = numbers.format_of(np.dtype(dtype), 2)
        exponents, _ = numbers.exponents(values)
        back = numbers.dequantise(numbers.quantise(values, exponents, form), exponents, form)
        assert (back.astype(dtype) == values).all()


def test_infinities_and_nans_are_counted() -> None:
    inf, nan = np.inf, np.nan
    rows = np.array([[inf, inf, nan, 1.0, -inf], [inf, -inf, 0.0, 2.0, 0.0]])
    total = numbers.declassify(sum(numbers.classify(row).astype(np.int64) for row in rows))
    assert np.array_equal(total, [inf, nan, nan, 0.0, -inf], equal_nan=True)


def test_types_that_are_not_served_are_refused_by_name() -> None:
    for dtype in ("complex64", "uint64", "bool"):
        with pytest.raises(OfframpError, match=f"all_reduce: type {dtype}: expected float32"):
            numbers.format_of(np.dtype(dtype), 2)
