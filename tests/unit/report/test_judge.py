# SPDX-License-Identifier: Apache-2.0
"""When two measured times can be told apart, at the borders of the rule."""

from __future__ import annotations

import pytest

from offramp.report.judge import LEAST, MATTERS, apart, doubt, quartiles, spread


def test_quartiles_of_few_samples() -> None:
    assert quartiles([3.0]) == (3.0, 3.0)
    assert quartiles([1.0, 2.0]) == (1.25, 1.75)
    assert spread([1.0, 2.0, 3.0, 4.0, 5.0]) == 2.0


def test_as_many_steps_as_needed_on_both_sides() -> None:
    few, enough = [1.0] * (LEAST - 1), [2.0] * LEAST
    assert doubt(enough, [1.0] * LEAST) == ""
    assert doubt(few, enough) == doubt(enough, few) == f"only {LEAST - 1} steps of one of them were measured"
    assert doubt([1.0], enough) == "only 1 step of one of them was measured"


@pytest.mark.parametrize(("difference", "clear"), [(0.9, False), (1.1, True)])
def test_medians_differ_by_more_than_the_wider_spread(difference: float, clear: bool) -> None:
    wide = [9.5, 9.5, 10.0, 10.5, 10.5]
    other = [10.0 + difference] * 5
    assert (doubt(wide, other) == "") is (doubt(other, wide) == "") is clear


@pytest.mark.parametrize(("share", "clear"), [(0.9, True), (1.1, False)])
def test_what_is_equally_fast_is_told_while_both_spread_little(share: float, clear: bool) -> None:
    half = share * MATTERS * 10.0 / 2
    samples = [10.0 - half, 10.0 - half, 10.0, 10.0 + half, 10.0 + half]
    assert (doubt(samples, samples) == "") is clear


def test_apart_is_without_overlap() -> None:
    assert apart([1.0, 2.0], [2.1, 3.0])
    assert apart([2.1, 3.0], [1.0, 2.0])
    assert not apart([1.0, 2.0], [2.0, 3.0])
