# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import tracemalloc
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.fixed_point import _PIECE, EXPONENT_LIMIT, INT32_MAX, dequantise, quantise, scale_exponent
from offramp.graph.csr import symmetric_csr
from offramp_base.errors import OfframpError


@pytest.mark.parametrize(
    ("max_abs", "fan_in", "k"),
    [(1.5, 7, 27), (1.0, 1, 30), (0.02, 21657, 22), (8, 256, 19), (0.0, 7, 0), (1.0, 0, 0), (1e-40, 1, 126)],
)
def test_golden_exponents(max_abs, fan_in, k):
    assert scale_exponent(max_abs, fan_in) == k


def test_rounding_up_never_overflows_the_sum():
    """Twice 2**30 - 0.5 fits, twice its rounding does not: the formula alone would overflow."""
    assert scale_exponent(2.0**30 - 0.5, 2) == -1


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.floats(1e-30, 1e30), st.integers(1, 1 << 20))
def test_exponent_is_the_largest_that_fits(max_abs, fan_in):
    k = scale_exponent(max_abs, fan_in)

    def fits(exponent):
        return fan_in * round(Fraction(max_abs) * Fraction(2) ** exponent) <= INT32_MAX

    assert fits(k)
    assert k == EXPONENT_LIMIT or not (fits(k + 1) and fan_in * Fraction(max_abs) * Fraction(2) ** (k + 1) <= INT32_MAX)


def test_golden_values():
    q = quantise([0.1, -0.25, 1.5, 3e-6, -1.5], 27)
    assert q.dtype == np.int32
    assert q.tolist() == [13421773, -33554432, 201326592, 403, -201326592]
    assert q.sum() == -20132256
    assert float(dequantise(q.sum(), 27)) == -0.14999699592590332


def test_halves_round_to_even():
    assert quantise(np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32), 0).tolist() == [0, 2, 2, 0, -2]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=50))
def test_error_of_a_sum_is_bounded(values):
    k = scale_exponent(max(map(abs, values)), len(values))
    q = quantise(np.array(values, np.float32), k)
    total = int(q.sum(dtype=np.int64))
    assert abs(total) <= INT32_MAX
    error = abs(Fraction(total) / Fraction(2) ** k - sum(map(Fraction, values)))
    assert error <= Fraction(len(values), 2) / Fraction(2) ** k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_and_types(dtype):
    values = np.arange(6, dtype=dtype).reshape(2, 3)
    back = dequantise(quantise(values, 10), 10, dtype)
    assert back.dtype == dtype
    assert np.array_equal(back, values)
    assert quantise(np.zeros((0, 4)), 3).shape == (0, 4)


@pytest.mark.parametrize("bad", [inf, -inf, nan, 3.0])
def test_saturation_is_reported(bad):
    with pytest.raises(OfframpError, match=r"quantise: 1 of 3 values are NaN or saturate int32 at scale 2\*\*30"):
        quantise([0.5, bad, -1.0], 30)


@pytest.mark.parametrize(
    ("max_abs", "fan_in", "message"),
    [
        (nan, 1, "max_abs nan: expected a finite number of at least 0"),
        (inf, 1, "max_abs inf: expected a finite number of at least 0"),
        (-1.0, 1, "max_abs -1.0: expected a finite number of at least 0"),
        (1.0, -1, "fan_in -1: expected at least 0"),
        (1e200, 1, "max_abs 1e+200: 1 such values fit no scale of at least 2**-126"),
    ],
)
def test_golden_errors(max_abs, fan_in, message):
    with pytest.raises(OfframpError) as error:
        scale_exponent(max_abs, fan_in)
    assert str(error.value) == message


def test_gcn_aggregation_of_the_six_vertex_example():
    """Section 14.6: quantised remote sums plus float local ones, forward of a GCN without weights."""
    x = np.array([[1, 0], [0, 1], [1, 1], [2, -1], [-1, 0.5], [0.25, -2]])
    remote_edges = np.array([[0, 2], [0, 3], [0, 4], [1, 2], [1, 5], [2, 4], [3, 5]])
    local = np.zeros((6, 6))
    local[[0, 1, 2, 3], [1, 0, 3, 2]] = 1
    remote = np.zeros((6, 6))
    remote[remote_edges[:, 0], remote_edges[:, 1]] = remote[remote_edges[:, 1], remote_edges[:, 0]] = 1
    scale = (local + remote).sum(axis=1, keepdims=True) + 1
    y = x / np.sqrt(scale)
    need = np.diff(symmetric_csr(6, *remote_edges.T)[0])
    assert np.abs(y).max() == 1.1547005383792517
    k = scale_exponent(float(np.abs(y).max()), int(need.max()))
    assert k == 29
    q = quantise(y, k)
    assert q.tolist() == [
        [240095971, 0],
        [0, 268435456],
        [240095971, 240095971],
        [536870912, -268435456],
        [-309962566, 154981283],
        [77490641, -619925131],
    ]
    sums = remote.astype(np.int64) @ q
    assert sums.tolist() == [
        [467004317, 126641798],
        [317586612, -379829160],
        [-69866595, 423416739],
        [317586612, -619925131],
        [480191942, 240095971],
        [536870912, 0],
    ]
    z = (dequantise(sums, k) + y + local @ y) / np.sqrt(scale)
    expected = [
        [0.589014706, 0.329099445],
        [0.519382379, -0.103743471],
        [0.589014706, 0.329099445],
        [1.019382379, -0.603743471],
        [0.183064446, 0.424865556],
        [0.660683603, -0.666666667],
    ]
    exact = ((local + remote) @ y + y) / np.sqrt(scale)
    assert np.abs(exact - expected).max() < 1e-9
    assert np.abs(z - exact).max() < 3e-10


@pytest.mark.parametrize(
    ("x", "log"), [("1", 0), ("2/3", -1), ("3/4", -1), ("1/2", -1), ("4/9", -2), ("7/8", -1), ("9/4", 1), ("1023/2", 8)]
)
def test_the_exponent_is_the_floor_of_the_logarithm_of_any_fraction(x: str, log: int) -> None:
    assert scale_exponent(float(INT32_MAX / Fraction(x)), 1) == log


@pytest.mark.parametrize("shape", [(_PIECE - 1,), (_PIECE, 2), (3, _PIECE + 5), (0, 4)])
def test_pieces_make_no_difference(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).standard_normal(shape, np.float32)
    numbers = quantise(values, 20)
    assert np.array_equal(numbers, np.rint(values * 2.0**20).astype(np.int32))
    assert np.array_equal(dequantise(numbers, 20, np.float32), (numbers / 2.0**20).astype(np.float32))


def test_saturation_is_counted_over_all_pieces() -> None:
    values = np.zeros(3 * _PIECE, np.float32)
    values[[1, _PIECE, -1]] = nan, 3e9, -inf
    with pytest.raises(OfframpError, match=rf"quantise: 3 of {3 * _PIECE} values are NaN or saturate"):
        quantise(values, 0)


def test_conversions_take_the_memory_of_their_results() -> None:
    values = np.ones((64, _PIECE), np.float32)
    tracemalloc.start()
    try:
        sums = quantise(values, 3).astype(np.int64)
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        again = dequantise(sums, 3, np.float32)
        assert tracemalloc.get_traced_memory()[1] - before < 1.2 * again.nbytes
        tracemalloc.reset_peak()
        numbers = quantise(again, 3)
        assert tracemalloc.get_traced_memory()[1] - before - again.nbytes < 1.2 * numbers.nbytes
    finally:
        tracemalloc.stop()
