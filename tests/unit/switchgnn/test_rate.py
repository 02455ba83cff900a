# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp.switchgnn.rate import RateControl
from offramp_base.errors import OfframpError


def test_golden_rates() -> None:
    """Specification section 14.7: i an increase, M a mark outside the guard time; rates in Gbit/s."""
    rate = RateControl()
    now, rates = 0.0, []
    rate.advance(now)
    for event in "iiMiMMi":
        now += 55.1e-6 if event == "i" else 50.1e-6
        if event == "M":
            rate.mark(now)
        else:
            rate.advance(now)
        rates.append(rate.rate_bps / 1e9)
    assert rates == [100, 100, 50, 55, 27.5, 13.75, 18.75]


def test_marks_within_the_guard_time_cut_once() -> None:
    rate = RateControl()
    for now in (0.0, 10e-6, 49e-6):
        rate.mark(now)
    assert rate.rate_bps == 50e9
    rate.mark(51e-6)
    assert rate.rate_bps == 25e9


def test_the_rate_stays_between_floor_and_line() -> None:
    rate = RateControl(line_bps=10e9, floor_bps=1e9)
    for i in range(20):
        rate.mark(i * 51e-6)
    assert rate.rate_bps == 1e9
    rate.advance(1.0)
    assert rate.rate_bps == 10e9


def test_a_pause_is_the_time_of_the_bytes() -> None:
    assert RateControl(line_bps=8e6, floor_bps=1e6).pause_s(1000, 0.0) == pytest.approx(1e-3)


@pytest.mark.parametrize("wrong", [{"floor_bps": 0.0}, {"floor_bps": 2e11}, {"step_bps": 0.0}, {"increase_s": 0.0}])
def test_rates_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(OfframpError, match="rate: "):
        RateControl(**wrong)
