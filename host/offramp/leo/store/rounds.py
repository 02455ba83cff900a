# SPDX-License-Identifier: Apache-2.0
"""What several rounds of a measurement say: one number for each quantity, and intervals of ratios.

Contenders are measured by turns, so a round is one draw of all of them. The interval of a ratio is that of the
bootstrap over rounds (Efron 1979): rounds are drawn again with replacement, all contenders' together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

TAKES: Final = {
    "median": "median of the rounds",
    "best": "best round, where other work disturbs",
    "all": "times of all rounds' requests together; medians of rates",
}
"""How the rounds of a measurement become one."""
QUANTILES: Final = {"median_us": 0.5, "p99_us": 0.99}
_RATES: Final = ("rate", "per_processor_s")
_DRAWS: Final = 1000
_INSIDE: Final = 0.9
Array = np.ndarray[Any, np.dtype[Any]]


class BenchResult(NamedTuple):
    """Results of one measurement, or of all its rounds.

    Attributes:
        rate: requests per second.
        per_processor_s: requests per second of the server's processor time.
        median_us, p99_us: microseconds from the write of a request until its answer is read.
        wrong: number of answers that were errors or not what was stored.
        times_us: how many requests took how many microseconds; empty where this is not known.
    """

    rate: float
    per_processor_s: float
    median_us: float
    p99_us: float
    wrong: int
    times_us: Mapping[float, int]


class Ratio(NamedTuple):
    """A ratio, and the interval that has it with a probability of 0.9."""

    value: float
    low: float
    high: float


def of_rounds(rounds: Sequence[BenchResult], take: str) -> BenchResult:
    """One result for all rounds, by one of :data:`TAKES`."""
    every = np.arange(len(rounds))[np.newaxis]
    values = {name: float(_taken(rounds, name, take, every)[0]) for name in (*_RATES, *QUANTILES)}
    times: dict[float, int] = {}
    for each in rounds:
        for time_us, count in each.times_us.items():
            times[time_us] = times.get(time_us, 0) + count
    return BenchResult(**values, wrong=sum(each.wrong for each in rounds), times_us=times)


def ratios(mine: Sequence[BenchResult], beside: Sequence[BenchResult], take: str) -> dict[str, Ratio]:
    """Ratios of a contender's results to those of another in the same rounds, by one of :data:`TAKES`.

    By ``median`` it is the median of the rounds' ratios: what slows a whole round slows both.
    """
    count = len(mine)
    draws = np.random.default_rng(count).integers(count, size=(_DRAWS, count))
    sets = np.concatenate([np.arange(count)[np.newaxis], draws])
    out = {}
    for name in (*_RATES, *QUANTILES):
        if take == "best" or _pooled([*mine, *beside], name, take):
            values = _taken(mine, name, take, sets) / _taken(beside, name, take, sets)
        else:
            of_each = [getattr(one, name) / getattr(other, name) for one, other in zip(mine, beside, strict=True)]
            values = np.median(np.array(of_each)[sets], axis=1)
        low, high = np.quantile(values[1:], [(1 - _INSIDE) / 2, (1 + _INSIDE) / 2])
        out[name] = Ratio(float(values[0]), float(low), float(high))
    return out


def _taken(rounds: Sequence[BenchResult], name: str, take: str, sets: Array) -> Array:
    """A quantity of several sets of rounds, ``(sets, rounds)`` numbers of rounds each."""
    if _pooled(rounds, name, take):
        return _quantile(rounds, QUANTILES[name], sets)
    best: Callable[..., Array] = np.max if name in _RATES else np.min
    return (best if take == "best" else np.median)(np.array([getattr(each, name) for each in rounds])[sets], axis=1)


def _pooled(rounds: Sequence[BenchResult], name: str, take: str) -> bool:
    """Whether all requests of the rounds count together."""
    return take == "all" and name in QUANTILES and all(each.times_us for each in rounds)


def _quantile(rounds: Sequence[BenchResult], part: float, sets: Array) -> Array:
    """The time that ``part`` of all requests of a set of rounds do not exceed."""
    times = sorted({time_us for each in rounds for time_us in each.times_us})
    counts = np.array([[each.times_us.get(time_us, 0) for time_us in times] for each in rounds])
    taken = np.apply_along_axis(np.bincount, 1, sets, minlength=len(rounds))  # how often each round is in the set
    seen = np.cumsum(taken @ counts, axis=1)
    at: Array = (seen > part * seen[:, -1:]).argmax(axis=1)
    quantiles: Array = np.array(times)[at]
    return quantiles
