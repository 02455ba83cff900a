# SPDX-License-Identifier: Apache-2.0
"""One number for several rounds, and intervals of ratios, by plain Python and by rounds of known noise."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest

from offramp.leo.store.rounds import BenchResult, of_rounds, ratios


def result(rate: float, times: dict[float, int], wrong: int = 0) -> BenchResult:
    every = sorted(time for time, count in times.items() for _ in range(count))
    return BenchResult(rate, 2 * rate, every[len(every) // 2], every[len(every) * 99 // 100], wrong, times)


ROUNDS = [result(10, {1.0: 90, 5.0: 10}), result(30, {1.0: 100}, 2), result(20, {2.0: 200, 90.0: 5}, 1)]


def test_medians_and_bests_of_rounds() -> None:
    taken, best = of_rounds(ROUNDS, "median"), of_rounds(ROUNDS, "best")
    assert (taken.rate, taken.per_processor_s, taken.wrong) == (20, 40, 3)
    assert taken.p99_us == median(each.p99_us for each in ROUNDS)
    assert (best.rate, best.p99_us, best.wrong) == (30, 1.0, 3)


@pytest.mark.parametrize("seed", range(3))
def test_quantiles_of_all_requests_are_those_of_one_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = [rng.integers(1, 50, rng.integers(50, 400)).astype(float).tolist() for _ in range(7)]
    rounds = [result(1, {each: times.count(each) for each in times}) for times in lists]
    every = sorted(time for times in lists for time in times)
    taken = of_rounds(rounds, "all")
    assert (taken.median_us, taken.p99_us) == (every[len(every) // 2], every[int(0.99 * len(every))])
    assert taken.times_us == {each: every.count(each) for each in every}


def test_an_interval_of_a_ratio_has_it() -> None:
    """Both contenders share each round's noise, so their ratio is known better than either."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(20):
        noise, own = rng.uniform(1, 3, (1, 15)), rng.normal(1, 0.05, (2, 15))
        mine, peer = noise * own * [[1.2], [1.0]]
        first, second = ([result(rate, {1.0: 1}) for rate in rates] for rates in (mine, peer))
        ratio = ratios(first, second, "median")["rate"]
        assert ratio.low <= ratio.value <= ratio.high
        inside += ratio.low <= 1.2 <= ratio.high
    assert inside >= 14
    rounds = [result(1, {1.0: 99, 7.0: 1 + n % 2}) for n in range(8)]
    assert ratios(rounds, rounds, "all")["p99_us"] == (1, 1, 1)


def test_rounds_without_times_have_medians() -> None:
    rounds = [each._replace(times_us={}) for each in ROUNDS]
    assert of_rounds(rounds, "all").p99_us == of_rounds(rounds, "median").p99_us
