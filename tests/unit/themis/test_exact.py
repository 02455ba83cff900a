# SPDX-License-Identifier: Apache-2.0
"""Order-independent sums and token buckets, without processes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.workers.rate import TokenBucket
from offramp_base.errors import OfframpError

torch = pytest.importorskip("torch")

from offramp.themis.executor.exact import NOT_FINITE, decode, encode, exponent, scale  # noqa: E402
from offramp.themis.executor.trial import in_rank_order  # noqa: E402

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@pytest.mark.full
@given(st.lists(FLOATS, min_size=1, max_size=9))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_the_order_of_terms_does_not_show(values):
    terms = [torch.tensor([v], dtype=torch.float32) for v in values]
    sums = {in_rank_order(list(order)).item().hex() for order in itertools.islice(itertools.permutations(terms), 24)}
    assert len(sums) == 1


@pytest.mark.full
@given(st.lists(st.integers(-(2**24), 2**24), min_size=1, max_size=8), st.integers(-20, 20))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_the_sum_is_rounded_once_where_magnitudes_are_near(values, power):
    terms = [torch.tensor([v * 2.0**power], dtype=torch.float32) for v in values]
    exact = sum((Fraction(t.item()) for t in terms), Fraction())
    assert in_rank_order(terms).item() == torch.tensor(float(exact), dtype=torch.float64).float().item()


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 1000, 1024])
def test_no_sum_overflows(ranks):
    for largest in (1.0, 3.4028235e38, 2.0**-140, 65504.0, math.nextafter(2.0, 0)):
        term = torch.tensor([largest], dtype=torch.float32)
        k = scale(exponent(term), ranks)
        total = int(encode(term, k)) * ranks
        assert abs(total) < 2**63
        assert decode(encode(term, k), k, torch.float32).item() == term.item()


def test_what_has_no_exponent():
    assert exponent(torch.tensor([1.0, float("nan")])) == NOT_FINITE
    assert exponent(torch.tensor([float("-inf")])) == NOT_FINITE
    assert scale(exponent(torch.zeros(3)), 4) == 0
    with pytest.raises(OfframpError, match=r"exact sum of torch\.int32: expected float32"):
        encode(torch.zeros(3, dtype=torch.int32), 0)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_a_bucket_lets_bytes_leave_at_its_rate():
    clock = Clock()
    bucket = TokenBucket(8e6, 0.0, clock, clock.sleep)  # a byte a microsecond
    for _ in range(10):
        bucket.spend(1000, clock.now)
    assert clock.now == pytest.approx(0.010)
    clock.now += 1.0  # idle time is no credit beyond the burst
    bucket.spend(1000, clock.now)
    assert clock.now == pytest.approx(1.011)
    bucket.set_rate(4e6)
    bucket.spend(1000, clock.now)
    assert clock.now == pytest.approx(1.013)


def test_a_burst_makes_up_for_late_wakeups():
    clock = Clock()
    bucket = TokenBucket(8e6, 0.001, clock, clock.sleep)
    for _ in range(50):
        clock.now += 0.0005  # somebody else had the processor
        bucket.spend(2000, clock.now)
    assert clock.now == pytest.approx(50 * 0.002, abs=0.0011)


@pytest.mark.parametrize("make", [lambda: TokenBucket(0), lambda: TokenBucket(math.nan), lambda: TokenBucket(1, -1)])
def test_bad_buckets(make):
    with pytest.raises(OfframpError, match="token bucket"):
        make()
