# SPDX-License-Identifier: Apache-2.0
"""Axes of pictures from which values can be read; whether a picture is handsome is for the eye."""

from __future__ import annotations

import pytest

from offramp_sim.figures.panels import Intervals
from offramp_sim.figures.plot import _intervals


@pytest.mark.parametrize(
    ("low", "high"), [(0.78, 1.7), (0.98, 1.02), (0.9, 1.2), (0.3, 2.2), (0.1, 0.79), (0.1, 40.0), (1.0, 1.0)]
)
def test_an_axis_of_intervals_has_at_least_three_ticks(low: float, high: float) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    _intervals(axes, Intervals("", "ours over the published number", {"a": (low, 1.0, high)}))
    left, right = axes.get_xlim()
    shown = {tick.get_text() for tick in axes.get_xticklabels() if left <= tick.get_position()[0] <= right}
    assert len(shown) >= 3, shown
    assert all(float(text) for text in shown)
