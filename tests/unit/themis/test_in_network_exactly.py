# SPDX-License-Identifier: Apache-2.0
"""An all-reduce that turns on an in-network dimension: one pass there, by hand."""

from __future__ import annotations

import pytest

from offramp.themis.bound import _least_delay
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.schedule import Chunk, all_orders, stages
from offramp.themis.themis import baseline, chunk_loads
from offramp_base.errors import OfframpError

AR, RS, AG = Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER
NETWORK = Network(
    "n", (Dimension(DimensionTopology.RING, 4, 8e9, 100), Dimension(DimensionTopology.IN_NETWORK, 2, 8e9, 300))
)


def passes(chunk: Chunk, collective: Collective = AR) -> list[tuple[Collective, int, float, float]]:
    return [(s.stage, s.dim, s.size, s.sent) for s in stages(NETWORK, collective, chunk)]


def test_the_turn_is_one_pass() -> None:
    ops = passes(Chunk(800.0, (0, 1), (1, 0)))
    assert ops == [(RS, 0, 800.0, 600.0), (AR, 1, 200.0, 200.0), (AG, 0, 200.0, 600.0)]
    assert [s.busy_ps for s in stages(NETWORK, AR, Chunk(800.0, (0, 1), (1, 0)))] == [600_000, 200_000, 600_000]


@pytest.mark.parametrize(
    ("reduce", "gather"),
    [((0, 1), (0, 1)), ((1, 0), (1, 0)), ((1, 0), (0, 1))],
    ids=["the gather begins elsewhere", "the reduce ends elsewhere", "the turn is on a ring"],
)
def test_elsewhere_both_halves_go_by_themselves(reduce: tuple[int, ...], gather: tuple[int, ...]) -> None:
    ops = [(stage, dim) for stage, dim, _, _ in passes(Chunk(800.0, reduce, gather))]
    assert ops == [(RS, k) for k in reduce] + [(AG, k) for k in gather]


def test_a_reduce_scatter_or_an_all_gather_there_is_not_fused() -> None:
    assert passes(Chunk(800.0, (0, 1)), RS) == [(RS, 0, 800.0, 600.0), (RS, 1, 200.0, 100.0)]
    assert passes(Chunk(800.0, gather=(1, 0)), AG) == [(AG, 1, 100.0, 100.0), (AG, 0, 200.0, 600.0)]


def test_the_least_delay_of_the_turn() -> None:
    """One pass there and back takes a latency, as the gathering half alone does; a ring gathers in three steps."""
    assert _least_delay(NETWORK, AR, 1) == 300_000
    assert _least_delay(NETWORK, AR, 0) == NETWORK.dimensions[0].fixed_ps(AG) == 300_000
    wide = Network("w", (Dimension(DimensionTopology.IN_NETWORK, 8, 8e9, 300),))
    assert wide.dimensions[0].fixed_ps(AG) == 900_000
    assert _least_delay(wide, AR, 0) == 300_000
    assert _least_delay(wide, RS, 0) == 900_000


FOURS = Network(
    "f", (Dimension(DimensionTopology.RING, 4, 8e9, 100), Dimension(DimensionTopology.IN_NETWORK, 4, 8e9, 300))
)


@pytest.mark.parametrize(
    ("order", "turns", "loads"),
    [
        ((0, 1), True, [600_000, 100_000]),  # half of the one pass of 200 bytes
        ((0, 1), False, [600_000, 150_000]),  # three quarters of them
        ((1, 0), True, [150_000, 600_000]),  # the turn is on the ring, to which a quarter comes
        ((1, 0), False, [150_000, 600_000]),
    ],
)
def test_the_last_dimension_of_a_reduction_counts_half_of_its_pass(
    order: tuple[int, ...], turns: bool, loads: list[int]
) -> None:
    assert chunk_loads(FOURS, RS, order, 800.0, turns=turns) == loads


def test_a_baseline_gathers_in_the_reverse_of_its_reduction() -> None:
    for collective, chunk in (
        (AR, Chunk(800.0, (0, 1), (1, 0))),
        (RS, Chunk(800.0, (0, 1))),
        (AG, Chunk(800.0, gather=(1, 0))),
    ):
        assert baseline(FOURS, collective, [800.0]).chunks == (chunk,)


def test_orders_of_seven_dimensions_are_enumerated_and_no_more() -> None:
    def network(dimensions: int) -> Network:
        return Network("many", (Dimension(DimensionTopology.RING, 2, 8e9, 100),) * dimensions)

    assert len(all_orders(network(7))) == 5040
    with pytest.raises(OfframpError, match="many: 8 dimensions have too many orders; expected 7 at most"):
        all_orders(network(8))
