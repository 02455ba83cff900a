# SPDX-License-Identifier: Apache-2.0
"""Bruck's rounds with sets of blocks, and dimensions of any size."""

from __future__ import annotations

import pytest

from offramp.themis import Collective, Demand, Dimension, Network, make_plan
from offramp.themis.kinds import DimensionTopology
from offramp.themis.rounds import rounds
from offramp.themis.system_file import SystemFile

SWITCH = DimensionTopology.SWITCH


@pytest.mark.parametrize("peers", range(1, 40))
def test_every_block_reaches_every_npu_once(peers: int) -> None:
    held = [[npu] for npu in range(peers)]
    for distance, count in rounds(peers):
        assert all(len(blocks) == distance for blocks in held)
        held = [held[npu] + held[(npu + distance) % peers][:count] for npu in range(peers)]
    for npu, blocks in enumerate(held):
        assert blocks == [(npu + k) % peers for k in range(peers)]


@pytest.mark.parametrize("peers", [2, 4, 8, 64])
def test_powers_of_two_have_the_steps_of_halving_and_doubling(peers: int) -> None:
    assert rounds(peers) == [(1 << k, 1 << k) for k in range(peers.bit_length() - 1)]


@pytest.mark.parametrize("kind", [SWITCH, DimensionTopology.IN_NETWORK])
@pytest.mark.parametrize(("size", "steps"), [(3, 2), (6, 3), (9, 4), (1152, 11)])
def test_a_dimension_of_any_size(kind: DimensionTopology, size: int, steps: int) -> None:
    dimension = Dimension(kind, size, 8e9, 500)
    assert dimension.steps(Collective.REDUCE_SCATTER) == dimension.steps(Collective.ALL_GATHER) == steps
    sent = sum(count for _, count in rounds(size))
    assert dimension.sent(Collective.REDUCE_SCATTER, 1e6) == pytest.approx(1e6 * sent / size)
    network = Network("any", (dimension, Dimension(DimensionTopology.RING, 3, 1e9)))
    for collective in Collective:
        assert make_plan(network, [Demand(collective, 10**6)], "balanced", 8).finish_ps > 0


def test_messages_of_any_number() -> None:
    """Six NPUs: rounds of 2, 2 and 1 blocks of a sixth, 10 ns latency of two links and 10 ns before each message."""
    (dimension,) = SystemFile(endpoint_ns=10).on(Network("six", (Dimension(SWITCH, 6, 8e9, 10),))).dimensions
    blocks = 100 * (2 + 2 + 1)
    assert dimension.transfer_ps(Collective.REDUCE_SCATTER, 600) == 1000 * (10 + 3 * 20 + blocks)
    assert dimension.transfer_ps(Collective.ALL_GATHER, 100) == 1000 * (10 + 3 * 20 + blocks)
    assert dimension.transfer_ps(Collective.ALL_REDUCE, 600) == 1000 * (10 + 6 * 20 + 2 * blocks)
