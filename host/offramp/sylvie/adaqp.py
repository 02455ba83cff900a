# SPDX-License-Identifier: Apache-2.0
"""AdaQP's widths (Wan, Zhao, Wu 2023): least variance of what is received, within a budget of bytes or time.

A row's weight is the sum of the squared coefficients with which its receivers aggregate it, times its squared range;
rounding it to b bits adds weight · columns / (6 (2^b - 1)^2) to the variance. Widths are 2, 4 or 8. AdaQP solves an
integer program for each layer; here a greedy algorithm follows the lower hull of (bytes, variance), which is optimal
for the linear relaxation and so at most one row's last step away from the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.sylvie.quantiser import row_bytes
from offramp.sylvie.widths import Doubles, Widths
from offramp_base.errors import OfframpError

WIDTHS: Final = (2, 4, 8)
BASE: Final = WIDTHS[0]
"""Base width in bits of messages with these widths."""

TIMES: Final = 65
"""Number of transfer times that :func:`balanced_widths` tries, evenly from all rows at 2 bits to all at 8."""


def row_weights(ranges: npt.ArrayLike, coefficients: npt.ArrayLike) -> Doubles:
    """``(n,)`` weights from each row's range (greatest minus least) and its sum of squared aggregation coefficients."""
    weights: Doubles = np.asarray(ranges, np.float64) ** 2 * np.asarray(coefficients, np.float64)
    return weights


def variance(weights: Doubles, widths: Widths, columns: int) -> float:
    """Expected squared error that rounding adds to the sums of all receivers."""
    levels = 2.0 ** widths.astype(np.float64) - 1
    return float((weights / levels**2).sum() * columns / 6)


def widths_within(weights: npt.ArrayLike, columns: int, budget: int) -> Widths:
    """``(n,)`` uint8 widths of 2, 4 or 8 bits with the least variance for at most ``budget`` bytes of packed rows.

    Raises:
        OfframpError: a weight is negative or NaN, or all rows at 2 bits exceed the budget.
    """
    weight = np.asarray(weights, np.float64)
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise OfframpError("weights: expected finite numbers of at least 0")
    sizes = np.array([row_bytes(columns, bits) for bits in WIDTHS])
    least = int(sizes[0]) * len(weight)
    if budget < least:
        raise OfframpError(f"budget {budget}: expected at least {least} bytes, all rows at {WIDTHS[0]} bits")
    steps = _steps(sizes)
    # A row's first step saves more for a byte than its next, so the sorted steps keep each row's order.
    row = np.tile(np.arange(len(weight)), len(steps))
    source, target, cost = (np.repeat([step[i] for step in steps], len(weight)) for i in range(3))
    worth = np.concatenate([weight * saved / max(price, 1) for _, _, price, saved in steps])
    best = np.argsort(-worth, kind="stable")
    best = best[worth[best] > 0]
    row, source, target, cost = row[best], source[best], target[best], cost[best]
    spent = np.cumsum(cost)
    room = budget - least
    fits = int(np.searchsorted(spent, room, side="right"))
    level = np.zeros(len(weight), np.int64)
    level[row[:fits]] = target[:fits]
    room -= int(spent[fits - 1]) if fits else 0
    while (more := (cost <= room) & (level[row] == source)).any():
        at = int(more.argmax())
        level[row[at]] = target[at]
        room -= int(cost[at])
    return np.array(WIDTHS, np.uint8)[level]


def balanced_widths(
    weights: Sequence[npt.ArrayLike], columns: int, rates_bps: Sequence[float], tradeoff: float = 0.5
) -> list[Widths]:
    """Widths of several pairs of workers that transfer at the same time: AdaQP's two objectives at once.

    Minimises ``tradeoff`` · variance + (1 - ``tradeoff``) · time of the slowest pair, each as a share of what it is
    with all rows at 2 bits and at 8 bits respectively. For a given time of the slowest pair the best widths of each
    pair are independent, so times are tried one by one.

    Args:
        weights: weights of each pair's rows (:func:`row_weights`).
        columns: number of columns of a row.
        rates_bps: rate of each pair in bit/s.
        tradeoff: weight of the variance in [0, 1]; 1 ignores the time.

    Raises:
        OfframpError: a rate is not positive, or the tradeoff is outside [0, 1].
    """
    if not 0 <= tradeoff <= 1:
        raise OfframpError(f"tradeoff {tradeoff:g}: expected 0 to 1")
    if len(rates_bps) != len(weights) or not all(rate > 0 for rate in rates_bps):
        raise OfframpError(f"rates_bps: expected {len(weights)} positive rates, one per pair")
    pairs = [np.asarray(weight, np.float64) for weight in weights]
    low, high = (
        max((8 * row_bytes(columns, bits) * len(w) / rate for w, rate in zip(pairs, rates_bps, strict=True)), default=0)
        for bits in (WIDTHS[0], WIDTHS[-1])
    )
    worst = sum(variance(w, np.full(len(w), WIDTHS[0], np.uint8), columns) for w in pairs)

    def at(time_s: float) -> tuple[float, list[Widths]]:
        choices = []
        for weight, rate in zip(pairs, rates_bps, strict=True):
            floor = row_bytes(columns, WIDTHS[0]) * len(weight)
            choices.append(widths_within(weight, columns, max(floor, int(time_s * rate / 8))))
        spread = sum(variance(w, chosen, columns) for w, chosen in zip(pairs, choices, strict=True))
        cost = tradeoff * (spread / worst if worst else 0) + (1 - tradeoff) * (time_s / high if high else 0)
        return cost, choices

    return min((at(time_s) for time_s in np.linspace(low, high, TIMES).tolist()), key=lambda tried: tried[0])[1]


def _steps(sizes: npt.NDArray[np.int64]) -> list[tuple[int, int, int, float]]:
    """Lower hull of (bytes, variance) of a row of weight 1: level before and after, bytes, variance saved."""
    spread = [1 / (2**bits - 1) ** 2 for bits in WIDTHS]
    steps, at = [], 0
    while at < len(WIDTHS) - 1:
        saved = {to: spread[at] - spread[to] for to in range(at + 1, len(WIDTHS))}
        price = {to: int(sizes[to] - sizes[at]) for to in saved}
        to = max(saved, key=lambda i: saved[i] / price[i] if price[i] else np.inf)
        steps.append((at, to, price[to], saved[to]))
        at = to
    return steps
