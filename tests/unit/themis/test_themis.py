# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1: the worked example of figures 5 and 7, thresholds, ties, and properties on random networks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.themis import themis
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.schedule import active, sent_bytes, split, stages
from offramp.themis.topologies import EXAMPLE, PAPER
from offramp_base.errors import OfframpError

AR, RS, AG = Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER


def networks(max_dims: int = 4) -> st.SearchStrategy[Network]:
    dimension = st.builds(
        Dimension,
        st.sampled_from([DimensionTopology.RING, DimensionTopology.FULLY_CONNECTED, DimensionTopology.SWITCH]),
        st.sampled_from([1, 2, 3, 4, 6, 8, 16]),
        st.sampled_from([50e9, 100e9, 400e9, 800e9, 1600e9]),
        st.sampled_from([0.0, 20.0, 700.0, 1700.0]),
    )
    return st.lists(dimension, min_size=1, max_size=max_dims).map(lambda dims: Network("random", tuple(dims)))


def test_worked_example():
    unit = EXAMPLE.dimensions[0].transfer_ps(RS, 64e6)
    tracker = themis.Tracker([0, 0])
    loads, orders = [], []
    for size in split(256 * 10**6, 4):
        chunk = themis.schedule(EXAMPLE, AR, [size], tracker=tracker).chunks[0]
        orders.append(chunk.reduce)
        assert chunk.gather == chunk.reduce[::-1]
        loads.append(tuple(load / unit for load in tracker.loads))
    assert orders == [(0, 1), (1, 0), (0, 1), (0, 1)]
    assert loads == [(1.0, 0.5), (1.25, 2.5), (2.25, 3.0), (3.25, 3.5)]
    assert [row[:1] for row in loads] == [(1.0,), (1.25,), (2.25,), (3.25,)]


def test_first_chunk_is_not_always_the_baselines():
    network = PAPER["3D-SW_SW_SW_homo"]
    for size, order in ((10**9, (0, 1, 2)), (10**8, (1, 0, 2))):  # the gap of 6,000 ns against 8,545 and 854 ns
        first = themis.schedule(network, AR, split(size, 64)[:1]).chunks[0]
        assert first.reduce == order


def test_threshold_is_strict_and_zero_falls_back_to_the_baselines_order():
    network = Network("equal", (Dimension(DimensionTopology.RING, 4, 1e9), Dimension(DimensionTopology.RING, 4, 1e9)))
    limit = network.dimensions[0].transfer_ps(RS, 1600 / 16)
    assert themis.order_chunk(network, RS, 1600, [limit, 0], 1 / 16) == (1, 0)  # not below: sorted
    assert themis.order_chunk(network, RS, 1600, [limit - 1, 0], 1 / 16) == (0, 1)
    assert themis.order_chunk(network, RS, 1600, [0, 0], 0) == (0, 1)
    assert themis.order_chunk(network, AG, 1600, [0, 0], 0) == (1, 0)


@pytest.mark.parametrize("initial", themis.InitialLoad)
def test_loads_start_from_the_fixed_delays(initial):
    network = PAPER["2D-SW_SW"]
    expected = {"collective": (5_600_000, 20_400_000), "stage": (2_800_000, 10_200_000), "zero": (0, 0)}
    assert tuple(themis.Tracker.reset(network, AR, initial).loads) == expected[initial.value]


@given(networks(), st.sampled_from(Collective), st.integers(1, 10**9), st.integers(1, 80))
@settings(derandomize=True, max_examples=120, deadline=None)
def test_what_holds_for_every_schedule(network, collective, size, chunks):
    sizes = split(size, chunks)
    assert sum(sizes) == size
    assert len(sizes) == min(chunks, size)
    options = themis.ThemisOptions()
    tracker = themis.Tracker.reset(network, collective, options.initial)
    before = list(tracker.loads)
    schedule = themis.schedule(network, collective, sizes, options, tracker)
    assert schedule == themis.schedule(network, collective, sizes)  # nothing is carried over
    dims = active(network)
    for chunk in schedule.chunks:
        orders = [order for order in (chunk.reduce, chunk.gather) if order]
        assert all(sorted(order) == list(dims) for order in orders)
        if collective is AR:
            assert chunk.gather == chunk.reduce[::-1]
            assert len(stages(network, collective, chunk)) == 2 * len(dims)
    if collective is not Collective.ALL_TO_ALL:
        share = 1 - 1 / network.npus
        expected = size * share * (2 if collective is AR else 1)
        assert math.isclose(sum(sent_bytes(network, schedule.stages())), expected, rel_tol=1e-9, abs_tol=1e-6)
    half = 2 if collective is AR else 1
    busy = [0.0] * len(network.dimensions)
    for chunk in schedule.stages():
        for stage in chunk:
            busy[stage.dim] += stage.busy_ps / half
    for k, load in enumerate(tracker.loads):
        assert abs(load - before[k] - busy[k]) <= 2 * len(sizes)  # rounding of AG and RS to a picosecond


@given(networks(), st.integers(1, 10**8), st.integers(1, 40))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_an_all_gather_is_a_reduce_scatter_backwards(network, size, chunks):
    sizes = split(size, chunks)
    reduce = themis.schedule(network, RS, sizes)
    gather = themis.schedule(network, AG, sizes)
    for a, b in zip(reduce.chunks, gather.chunks, strict=True):
        assert a.reduce == b.gather[::-1]


@given(networks(), st.integers(10**5, 10**8), st.integers(1, 40))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_without_delays_speed_and_size_scale_out(network, size, chunks):
    still = Network("still", tuple(Dimension(d.kind, d.size, d.bandwidth_bps) for d in network.dimensions))
    orders = [c.reduce for c in themis.schedule(still, RS, [float(size)] * chunks).chunks]
    slow = still.at_speed([2.0**-10] * len(still.dimensions))
    assert [c.reduce for c in themis.schedule(slow, RS, [float(size)] * chunks).chunks] == orders


def test_just_enough_and_under_provisioned_networks_keep_the_baseline():
    for ratio in (4, 8):
        network = Network(
            "2D", (Dimension(DimensionTopology.RING, 4, ratio * 1e11), Dimension(DimensionTopology.RING, 4, 1e11))
        )
        schedule = themis.schedule(network, AR, split(10**9, 64))
        assert {chunk.reduce for chunk in schedule.chunks} == {(0, 1)}


def test_one_dimension_is_the_baseline():
    network = Network(
        "1D", (Dimension(DimensionTopology.RING, 1, 1e9), Dimension(DimensionTopology.SWITCH, 8, 1e9, 700))
    )
    assert themis.schedule(network, AR, split(10**6, 8)) == themis.baseline(network, AR, split(10**6, 8))


def test_splitter():
    assert split(100, 3) == [34, 33, 33]
    assert split(2, 64) == [1, 1]
    assert split(0, 4) == []
    assert split(33, 2, unit=8) == [16, 17]
    assert split(5, 2, unit=8) == [5]
    with pytest.raises(OfframpError, match="collective of -1 bytes: expected at least 0"):
        split(-1, 4)
    with pytest.raises(OfframpError, match="0 chunks"):
        split(8, 0)
    with pytest.raises(OfframpError, match="threshold 2: expected a fraction of a chunk"):
        themis.ThemisOptions(threshold=2)


def test_eight_chunks_on_three_dimensions_have_as_many_schedules_as_the_paper_counts():
    from offramp.themis.schedule import all_orders

    assert (len(all_orders(PAPER["3D-FC_Ring_SW"])) ** 2) ** 8 == 2_821_109_907_456
