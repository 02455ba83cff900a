# SPDX-License-Identifier: Apache-2.0
"""Every order of every half gives the same sums to the same owners, on real arrays."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.schedule import Chunk, all_orders, stages
from offramp_base.errors import OfframpError
from themis_arrays import apply

SHAPES = [(2, 2, 2), (4, 4), (3, 2, 4), (5,)]


def case(shape, kind=DimensionTopology.RING):
    network = Network("small", tuple(Dimension(kind, size, 1e9) for size in shape))
    draw = np.random.default_rng(7)
    inputs = [draw.integers(-(10**6), 10**6, (network.npus, 3)) for _ in range(network.npus)]
    return network, inputs


@pytest.mark.parametrize("shape", SHAPES)
def test_all_reduce_in_every_pair_of_orders(shape):
    network, inputs = case(shape)
    expected = sum(inputs)
    for reduce, gather in product(all_orders(network), repeat=2):
        pieces = stages(network, Collective.ALL_REDUCE, Chunk(24, reduce, gather))
        for result in apply(network, pieces, inputs):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_owners_do_not_depend_on_the_order(shape):
    network, inputs = case(shape)
    expected = sum(inputs)
    for order in all_orders(network):
        parts = apply(network, stages(network, Collective.REDUCE_SCATTER, Chunk(24, order)), inputs)
        for npu, part in enumerate(parts):
            np.testing.assert_array_equal(part, expected[npu : npu + 1])
        back = apply(network, stages(network, Collective.ALL_GATHER, Chunk(24, gather=order)), parts)
        for result in back:
            np.testing.assert_array_equal(result, expected)
        for npu, result in enumerate(apply(network, stages(network, Collective.ALL_TO_ALL, Chunk(24, order)), inputs)):
            np.testing.assert_array_equal(result, np.stack([source[npu] for source in inputs]))


def test_the_one_pass_of_an_in_network_dimension_is_an_all_reduce():
    network, inputs = case((2, 4), DimensionTopology.IN_NETWORK)
    pieces = stages(network, Collective.ALL_REDUCE, Chunk(24, (0, 1), (1, 0)))
    assert [stage.stage for stage in pieces] == [
        Collective.REDUCE_SCATTER,
        Collective.ALL_REDUCE,
        Collective.ALL_GATHER,
    ]
    for result in apply(network, pieces, inputs):
        np.testing.assert_array_equal(result, sum(inputs))


def test_gathering_before_all_is_reduced_fails():
    network, inputs = case((2, 2))
    pieces = stages(network, Collective.ALL_REDUCE, Chunk(24, (0, 1), (1, 0)))
    with pytest.raises(OfframpError, match="all-gather on dim2: expected 1 blocks, there are 2"):
        apply(network, [pieces[0], pieces[2], pieces[1], pieces[3]], inputs)


def test_an_order_must_visit_each_dimension_once():
    network, _ = case((2, 2))
    with pytest.raises(
        OfframpError, match=r"reduce-scatter order \(0, 0\): expected each of the dimensions \(0, 1\) once"
    ):
        stages(network, Collective.REDUCE_SCATTER, Chunk(24, (0, 0)))
