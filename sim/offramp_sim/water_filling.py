# SPDX-License-Identifier: Apache-2.0
"""Max-min fairness: rates rise together until a resource is full."""

from __future__ import annotations

from collections.abc import Sequence


def water_filling(uses: Sequence[Sequence[int]], room: Sequence[float]) -> list[float]:
    """The rate of each flow over its resources; ``room`` is the capacity of each resource."""
    left = list(room)
    rates: list[float] = [0] * len(uses)
    rising = set(range(len(uses)))
    while rising:
        count = [0] * len(left)
        for i in rising:
            for resource in uses[i]:
                count[resource] += 1
        level, tight = min((left[r] / count[r], r) for r in range(len(left)) if count[r])
        for i in sorted(rising):
            if tight in uses[i]:
                rates[i] = level
                rising.discard(i)
                for resource in uses[i]:
                    left[resource] = max(left[resource] - level, 0)
    return rates
