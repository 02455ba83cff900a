# SPDX-License-Identifier: Apache-2.0
"""Verdicts on measured times: yes, no, or that this machine cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Final

LEAST: Final = 4
"""Steps of an alternative from which on its spread is known."""
MATTERS: Final = 0.02
"""Gain below which an alternative is not worth its trouble."""


def quartiles(samples: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile, each a sample or between two of them; of one sample, that sample."""
    if len(samples) < 2:
        return samples[0], samples[0]
    low, _, high = quantiles(samples, n=4, method="inclusive")
    return low, high


def spread(samples: Sequence[float]) -> float:
    """The interquartile range."""
    low, high = quartiles(samples)
    return high - low


def apart(samples: Sequence[float], others: Sequence[float]) -> bool:
    """Whether every sample of one is below every sample of the other."""
    return max(samples) < min(others) or max(others) < min(samples)


def doubt(samples: Sequence[float], others: Sequence[float]) -> str:
    """The reason that two measured times cannot be told apart; empty if they can.

    The rule: each has at least :data:`LEAST` steps, and their medians differ by more than the larger of the two
    interquartile ranges. Unlike a rank test, it does not become surer with the number of steps, which follow each other
    on one machine and so are not independent. Two that differ by less than :data:`MATTERS`, and whose interquartile
    ranges are below that, too, count as told apart: they are equally fast.

    The blind spot: two runs after each other, between which the machine changes, look like a difference.
    """
    if min(len(samples), len(others)) < LEAST:
        steps = min(len(samples), len(others))
        return f"only {steps} step{'s' * (steps != 1)} of one of them {'were' if steps != 1 else 'was'} measured"
    difference = abs(median(samples) - median(others))
    widest, enough = max(spread(samples), spread(others)), MATTERS * max(median(samples), median(others))
    if difference > widest or (difference <= enough and widest <= enough):
        return ""
    return "the steps of one of them spread more than the two differ"
