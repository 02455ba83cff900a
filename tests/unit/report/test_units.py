# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.report.units import nice_ticks, number, percent, si, tick


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (7, "7 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (12345, "12.3 kB"),
        (999_499, "999 kB"),
        (999_500, "1.00 MB"),
        (52_980_480, "53.0 MB"),
        (3.2e9, "3.20 GB"),
        (-1500, "-1.50 kB"),
    ],
)
def test_si(value: float, text: str) -> None:
    assert si(value, "B") == text


def test_other_forms() -> None:
    assert tick(20_000_000, "B") == "20 MB"
    assert tick(1500) == "1.5 k"
    assert tick(0) == "0"
    assert percent(0.9405) == "94.0 %"
    assert number(2234640) == "2\u202f234\u202f640"
    assert number(0.0123456) == "0.01235"
    assert number("as it is") == "as it is"
    assert number(None) == "\N{EN DASH}"
    assert number(True) == "True"


@settings(derandomize=True)
@given(low=st.floats(-1e9, 1e9), span=st.floats(0, 1e9), count=st.integers(2, 9))
def test_ticks_are_round_and_cover_the_range(low: float, span: float, count: int) -> None:
    high = low + span
    ticks = nice_ticks(low, high, count)
    steps = {round(b - a, 6) for a, b in pairwise(ticks)}
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= 2 * count + 2
    assert max(steps) - min(steps) <= 2 * slack
