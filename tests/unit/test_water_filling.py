# SPDX-License-Identifier: Apache-2.0
"""Max-min fair rates of a few flows, worked by hand."""

from __future__ import annotations

import pytest

from offramp_sim.water_filling import water_filling


@pytest.mark.each
@pytest.mark.parametrize(
    ("uses", "room", "rates"),
    [
        ([], [1.0], []),
        ([[0], [0], [0], [0]], [1.0], [0.25] * 4),
        ([[0], [0, 1], [1]], [10.0, 4.0], [8.0, 2.0, 2.0]),
        ([[0, 1], [1, 2], [2]], [0.1, 0.5, 0.7], [0.1, 0.35, 0.35]),
        ([[0], [0, 1], [1]], [0.2, 0.2], [0.1, 0.1, 0.1]),
        ([[0], [1]], [0.0, 0.5], [0.0, 0.5]),
    ],
)
def test_rates_rise_together_until_a_resource_is_full(
    uses: list[list[int]], room: list[float], rates: list[float]
) -> None:
    before = list(room)
    assert water_filling(uses, room) == pytest.approx(rates)
    assert room == before
