# SPDX-License-Identifier: Apache-2.0
"""The controller on scripted traces (S12, S13)."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offramp.sylvie.descent import RULES, SIGNS
from offramp.sylvie.orchestrator import ASYNC, SYNC, Decision, Orchestrator, OrchestratorSettings, replay
from offramp_base.errors import OfframpError

GEOMETRIC = [0.5**t for t in range(12)]  # descends ever more slowly


def run(losses, control, seconds=1.0):
    return replay(control, [([loss], [seconds]) for loss in losses])


def bases(decisions):
    return [base for base, _ in decisions]


def test_nothing_changes_before_the_lag_has_passed():
    for lag in (1, 3, 5):
        decisions = run(GEOMETRIC, OrchestratorSettings(lag=lag, smoothing=0))
        assert decisions[: lag + 1] == [Decision(1, SYNC)] * (lag + 1)
        assert decisions[lag + 2] == Decision(2, SYNC)


def test_slowing_descent_climbs_one_level_an_epoch_to_the_top_and_stays():
    decisions = run(GEOMETRIC, OrchestratorSettings(lag=2, smoothing=0))
    assert bases(decisions) == [1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8, 8, 8]
    assert {mode for _, mode in decisions} == {SYNC}


def test_quickening_descent_stays_at_the_bottom_and_goes_async():
    losses = [-(1.5**t) for t in range(12)]
    decisions = run(losses, OrchestratorSettings(lag=2, smoothing=0))
    assert set(bases(decisions)) == {1}
    assert [mode for _, mode in decisions] == [SYNC] * 4 + [ASYNC] * 9


def test_up_and_down_again():
    rates = [8, 4, 2, 1, 1, 2, 3, 4]  # loss falls by these
    losses = [100.0]
    for rate in rates:
        losses.append(losses[-1] - rate)
    decisions = run(losses, OrchestratorSettings(lag=1, smoothing=0))
    assert bases(decisions)[1:] == [1, 1, 2, 4, 8, 4, 2, 1, 1]
    assert [mode for _, mode in decisions][3:] == [SYNC] * 3 + [ASYNC] * 4


def test_equality_goes_to_the_cheaper_side():
    losses = [float(-t) for t in range(8)]
    assert run(losses, OrchestratorSettings(lag=1, smoothing=0, base=8))[3] == Decision(8, ASYNC)
    flat = run([1.0] * 30, OrchestratorSettings(lag=5))
    assert flat[-1] == Decision(1, ASYNC)


def test_the_sign_turns_the_rule_around():
    prose, literal, absolute = (run(GEOMETRIC, OrchestratorSettings(lag=2, smoothing=0, sign=sign)) for sign in SIGNS)
    assert prose == absolute
    assert prose[-1] == Decision(8, SYNC)
    assert literal[-1] == Decision(1, ASYNC)
    rising = [2.0**t for t in range(12)]
    prose, literal, absolute = (run(rising, OrchestratorSettings(lag=2, smoothing=0, sign=sign)) for sign in SIGNS)
    assert literal == absolute
    assert prose[-1] == Decision(8, SYNC)
    assert literal[-1] == Decision(1, ASYNC)


def test_the_time_of_an_epoch_counts():
    losses = [float(-t) for t in range(8)]
    slower = replay(OrchestratorSettings(lag=1, smoothing=0), [([loss], [1.0 + t]) for t, loss in enumerate(losses)])
    assert slower[-1] == Decision(8, SYNC)


def test_the_monotone_rule_waits_for_its_window_and_keeps_still_in_noise():
    control = OrchestratorSettings(rule="monotone", smoothing=0)
    decisions = run([0.9**t for t in range(20)], control)
    assert decisions[:10] == [Decision(1, SYNC)] * 10  # epochs 0 to 9: the queue is full after epoch 9
    assert bases(decisions)[10:14] == [2, 4, 8, 8]
    noise = random.Random(1)
    losses = [noise.random() for _ in range(12)]
    assert set(run(losses, control)) == {Decision(1, SYNC)}


def test_smoothing():
    orchestrator = Orchestrator(OrchestratorSettings(smoothing=0.9))
    for loss in (1.0, 0.0):
        orchestrator.observe([loss], [2.0])
    assert orchestrator.rates == [pytest.approx(0.1 / 2)]


def test_fixed_width_and_mode():
    assert set(run(GEOMETRIC, OrchestratorSettings(base=4, mode=ASYNC))) == {Decision(4, ASYNC)}
    assert set(run(GEOMETRIC, OrchestratorSettings(base=32, mode=SYNC))) == {Decision(32, SYNC)}
    assert {mode for _, mode in run(GEOMETRIC, OrchestratorSettings(mode=ASYNC, lag=1))} == {ASYNC}


@given(st.lists(st.floats(-1e6, 1e6), max_size=40), st.sampled_from(RULES), st.sampled_from(SIGNS), st.integers(1, 6))
def test_one_step_an_epoch_within_the_widths(losses, rule, sign, lag):
    decisions = run(losses, OrchestratorSettings(rule=rule, sign=sign, lag=lag))
    levels = [(1, 2, 4, 8).index(base) for base in bases(decisions)]
    assert all(abs(b - a) <= 1 for a, b in pairwise(levels))


def test_ranks_with_the_same_numbers_decide_the_same_and_can_compare():
    draw = random.Random(3)
    epochs = [([draw.random() for _ in range(4)], [1 + draw.random() for _ in range(4)]) for _ in range(30)]
    ranks = [Orchestrator(OrchestratorSettings(lag=3)) for _ in range(4)]
    digests = []
    for losses, seconds in epochs:
        assert len({rank.observe(losses, seconds) for rank in ranks}) == 1
        assert len({rank.digest() for rank in ranks}) == 1
        digests.append(ranks[0].digest())
    assert len(set(digests)) == 30
    assert ranks[0].decision == replay(OrchestratorSettings(lag=3), epochs)[-1]
    other = Orchestrator(OrchestratorSettings(lag=3))
    for losses, seconds in epochs[:-1]:
        other.observe(losses, seconds)
    other.observe([loss * 1.01 for loss in epochs[-1][0]], epochs[-1][1])
    assert other.digest() != ranks[0].digest()


def test_a_controller_goes_on_after_a_checkpoint():
    draw = random.Random(5)
    epochs = [([draw.random()], [1 + draw.random()]) for _ in range(24)]
    through = Orchestrator(OrchestratorSettings(lag=2))
    for at, epoch in enumerate(epochs):
        if at == 11:
            resumed = pickle.loads(pickle.dumps(through))
        through.observe(*epoch)
    for epoch in epochs[11:]:
        resumed.observe(*epoch)
    assert (resumed.digest(), resumed.decision, resumed.rates) == (through.digest(), through.decision, through.rates)


@pytest.mark.parametrize(
    ("losses", "seconds", "message"),
    [
        ([], [], "expected a loss and a time of each rank, got 0 and 0"),
        ([1.0], [1.0, 2.0], "expected a loss and a time of each rank, got 1 and 2"),
        ([1.0, float("nan")], [1.0, 1.0], "loss nan: expected a finite number"),
        ([1.0], [0.0], r"epoch time 0\.0: expected a positive number of seconds"),
        ([1.0], [float("nan")], "epoch time nan: expected a positive number of seconds"),
    ],
)
def test_bad_observations_change_nothing(losses, seconds, message):
    orchestrator = Orchestrator()
    before = orchestrator.digest()
    with pytest.raises(OfframpError, match=message):
        orchestrator.observe(losses, seconds)
    assert orchestrator.digest() == before
    assert orchestrator.rates == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base": 3}, "base 3: expected one of adaptive, 1, 2, 4, 8, 32"),
        ({"mode": "later"}, "mode later: expected one of adaptive, sync, async"),
        ({"rule": "x"}, "rule x: expected one of lag, monotone"),
        ({"sign": "x"}, "sign x: expected one of prose, literal, abs"),
        ({"lag": 0}, "lag 0: expected at least 1 epochs"),
        ({"smoothing": 1.0}, "smoothing 1: expected at least 0 and below 1"),
    ],
)
def test_golden_errors(change, message):
    with pytest.raises(OfframpError, match=message):
        OrchestratorSettings(**change)
