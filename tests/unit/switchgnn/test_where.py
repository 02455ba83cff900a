# SPDX-License-Identifier: Apache-2.0
"""The map of where the switch pays: its graphs, its formula, and simulation beside it."""

from __future__ import annotations

import pytest

from offramp_sim.exchanges.graphs import boundary_of
from offramp_sim.reproduce.bench import PIPE_PPS
from offramp_sim.reproduce.switchgnn.where import ExchangePoint
from offramp_sim.slot.ports import StarFabric
from offramp_sim.slot.schemes import SchemeParameters, simulate


def test_graphs_have_equal_workers_and_the_neighbours_that_were_asked_for() -> None:
    boundary = boundary_of(64, 16, 4, seed=1)
    assert boundary.B == 64 * 16
    degree, copies = 2 * boundary.C / boundary.B, boundary.R / boundary.B
    assert degree == pytest.approx(4, rel=0.02)
    assert copies == pytest.approx(4, rel=0.05)  # few neighbours share one of 63 workers
    assert boundary_of(2, 64, 4, seed=1).R == 2 * 64


@pytest.mark.parametrize("features", [32, 100, 128])
def test_the_lines_of_the_map_are_where_both_ways_take_as_long(features: int) -> None:
    place = ExchangePoint(8, 3.0, 2.0, features)
    assert ExchangePoint(8, 3.0, place.turn, features).ratio(100e9, None) == pytest.approx(1)
    most = place.most_workers(100e9, PIPE_PPS)
    at_most = ExchangePoint(round(1000 * most), 3000.0, 2.0, features)  # of a thousand times the workers for the passes
    assert at_most.ratio(100e9, 1e6 * PIPE_PPS) == pytest.approx(max(1, place.turn / 2), rel=0.01)


@pytest.mark.parametrize("passes", [None, PIPE_PPS])
@pytest.mark.parametrize("degree", [2, 8])
def test_simulation_is_near_the_formula(passes: float | None, degree: int) -> None:
    boundary = boundary_of(16, 256, degree, seed=3)
    place = ExchangePoint(16, 2 * boundary.C / boundary.B, boundary.R / boundary.B, 128)
    setting = SchemeParameters(boundary, 128, fabric=StarFabric(100e9, 0.0, passes))
    ratio = simulate(setting, "switchgnn").seconds / simulate(setting, "bns-gcn").seconds
    expected = place.ratio(100e9, passes)
    assert 0.9 * expected < ratio < 2 * expected  # a sum that waits for the last upload doubles the time at most
    assert (ratio < 1) == (passes is None)
