# SPDX-License-Identifier: Apache-2.0
"""The formula of a software switch: fitted to times that it made itself, and its line where both ways take as long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from offramp_base.errors import OfframpError
from offramp_sim.exchanges.cell import ExchangeTransport, MapCell, TimedExchanges
from offramp_sim.exchanges.formula import (
    Speed,
    crossover_bps,
    fit,
    halves,
    load_of,
    named_right,
    neighbours_of,
    switch_wins,
)
from offramp_sim.exchanges.graphs import boundary_of, boundary_with

SPEED = Speed(4e6, 3e5, 4e8)
CELLS = [
    MapCell(workers, copies, rate, width)
    for workers, most in ((4, 2.5), (8, 5.0))
    for copies in (1.5, most)
    for rate in (100_000_000, 300_000_000, 1_000_000_000)
    for width in (32, 128)
]


def measured(noise: float = 0.0) -> dict[MapCell, dict[ExchangeTransport, TimedExchanges]]:
    """Times of the formula, with noise; what it cannot see is a machine that does not follow the formula."""
    rng = np.random.default_rng(1)
    return {
        cell: {
            way: TimedExchanges(
                [SPEED.seconds(load, cell.rate_bps, way) * float(np.exp(noise * rng.standard_normal()))],
                load,
            )
            for way in (ExchangeTransport.P2P, ExchangeTransport.SWITCH)
            for load in [load_of(cell, way, 1000)]
        }
        for cell in CELLS
    }


def test_a_fit_finds_the_speed_that_made_the_times() -> None:
    speed = fit(measured(), CELLS)
    assert list(vars(speed).values()) == pytest.approx(list(vars(SPEED).values()), rel=0.02)


def test_half_of_the_cells_name_the_winners_of_the_other_half() -> None:
    noisy = measured(0.05)
    learnt, tested = halves(noisy)
    assert len(learnt) == len(tested) == len(CELLS) // 2
    assert not set(learnt) & set(tested)
    assert named_right(noisy, tested, fit(noisy, learnt)) >= len(tested) - 1
    assert {switch_wins(ways) for ways in noisy.values()} == {True, False}


@pytest.mark.parametrize("workers", [4, 8])
def test_the_line_is_where_both_ways_take_as_long(workers: int) -> None:
    cell = MapCell(workers, 2.5, 1)
    line = crossover_bps(cell, SPEED)
    assert 1e6 < line < 1e9
    for rate, wins in ((0.99 * line, True), (1.01 * line, False)):
        times = [
            SPEED.seconds(load_of(cell, way), rate, way) for way in (ExchangeTransport.P2P, ExchangeTransport.SWITCH)
        ]
        assert (times[1] < times[0]) == wins


def test_the_switch_never_pays_where_it_carries_more_and_always_where_cores_do_less() -> None:
    assert crossover_bps(MapCell(8, 1.0, 1), SPEED) == 0
    assert crossover_bps(MapCell(8, 5.0, 1), replace(SPEED, passes_pps=1e12, packets_pps=1e12)) == np.inf


@pytest.mark.parametrize("workers", [3, 4, 8])
def test_a_graph_has_the_copies_that_were_asked_for_and_the_neighbours_of_the_formula(workers: int) -> None:
    copies = 1 + 0.6 * (workers - 2)
    boundary = boundary_with(workers, 512, copies, 0)
    assert pytest.approx(copies, rel=0.01) == boundary.R / boundary.B
    # the formula's vertices all have as many neighbours; random ones vary, and those far above the mean add few copies
    assert pytest.approx(neighbours_of(copies, workers), rel=0.35) == 2 * boundary.C / boundary.B


def test_copies_that_no_graph_has_are_refused() -> None:
    with pytest.raises(OfframpError, match="copies 4: expected above 1 and below 3"):
        boundary_with(4, 16, 4.0, 0)
    with pytest.raises(OfframpError, match="copies 3: expected from 1 to less than 3"):
        neighbours_of(3.0, 4)


def test_a_load_in_closed_form_is_that_of_a_graph() -> None:
    boundary = boundary_of(8, 512, 6, seed=2)
    copies = boundary.R / boundary.B
    hosts = load_of(MapCell(8, copies, 1), ExchangeTransport.P2P, boundary.B / 8)
    assert hosts.wire_bytes == pytest.approx(2 * boundary.R * 128 * 4 * 1106 / 1024)
    switch = load_of(MapCell(8, copies, 1), ExchangeTransport.SWITCH, boundary.B / 8)
    assert switch.switch_packets == 2 * boundary.B
    assert switch.wire_bytes == pytest.approx(2 * boundary.B * 586)
    assert load_of(MapCell(8, copies, 1, bits=8), ExchangeTransport.SWITCH).link_bytes == 202
    rates = SPEED.rates(switch, 8, 1e9)
    assert switch.passes / rates.passes_pps == pytest.approx(SPEED.seconds(switch, 1e12, ExchangeTransport.SWITCH))


def test_a_place_is_said_in_the_map_s_units() -> None:
    assert str(MapCell(4, 2.5, 10**9)) == "4 workers, 2.5 copies, 1000 Mb/s, width 128, 32 bits"
    assert str(MapCell(8, 3.0, 1_500_000, 32, 8)) == "8 workers, 3 copies, 1.5 Mb/s, width 32, 8 bits"
