# SPDX-License-Identifier: Apache-2.0
"""The ladder of thresholds on scripted traces (G10)."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from offramp.sylvie.descent import DescentRule
from offramp.torchgt.tuner import FACTORS, LAG, START, AutoTuner, ladder
from offramp_base.errors import OfframpError


def steps(losses, seconds=None, rule=None):
    tuner = AutoTuner(rule)
    times = seconds or [1.0] * len(losses)
    return [tuner.step, *(tuner.observe([loss], [time]) for loss, time in zip(losses, times, strict=True))]


def test_the_ladder_is_that_of_the_thesis() -> None:
    assert ladder(0.02) == pytest.approx((0, 0.02, 0.03, 0.1, 0.14, 0.2, 1))
    assert ladder(0.3) == pytest.approx((0, 0.3, 0.45, 1, 1, 1, 1))


def test_it_starts_at_the_density_of_the_graph_and_waits_for_delta_epochs() -> None:
    assert START == 1
    assert FACTORS[START] == 1
    ladder = steps([0.9**t for t in range(30)])
    assert ladder[: LAG + 2] == [START] * (LAG + 2)


def test_slowing_descent_goes_to_accuracy_and_quickening_descent_to_speed() -> None:
    plain = DescentRule(lag=2, smoothing=0)
    slowing = steps([0.5**t for t in range(9)], rule=plain)
    assert slowing == [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    quickening = steps([-(1.5**t) for t in range(12)], rule=plain)
    assert quickening == [1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6]


def test_equal_descent_climbs() -> None:
    assert steps([-float(t) for t in range(5)], rule=DescentRule(lag=1, smoothing=0)) == [1, 1, 1, 2, 3, 4]


def test_slower_epochs_count_as_slower_descent() -> None:
    ladder = steps([-float(t) for t in range(5)], [1.0 + t for t in range(5)], DescentRule(lag=1, smoothing=0))
    assert ladder[-1] == 0


def test_it_never_leaves_the_ladder_and_moves_by_one() -> None:
    rng = random.Random(0)
    for rule in ("lag", "monotone"):
        for sign in ("prose", "literal", "abs"):
            losses = [rng.gauss(0, 1) for _ in range(200)]
            ladder = steps(losses, [rng.uniform(0.1, 2) for _ in losses], DescentRule(rule=rule, sign=sign, lag=3))
            assert all(0 <= step <= len(FACTORS) for step in ladder)
            assert all(abs(a - b) <= 1 for a, b in pairwise(ladder))
            assert rule == "monotone" or len(set(ladder)) > 1


def test_ranks_that_observe_the_same_agree() -> None:
    rng = random.Random(1)
    losses = [rng.random() for _ in range(60)]
    assert steps(losses) == steps(losses)


def test_a_loss_that_is_no_number_changes_nothing() -> None:
    tuner = AutoTuner()
    with pytest.raises(OfframpError, match="expected a finite number"):
        tuner.observe([float("nan")], [1.0])
    assert tuner.step == START
