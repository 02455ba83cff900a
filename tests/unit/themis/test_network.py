# SPDX-License-Identifier: Apache-2.0
"""Costs of stages: table 1, the derived delays of table 2, bad input."""

from __future__ import annotations

import pytest

from offramp.themis.network import Collective, Dimension, DimensionTopology, Network, kind_named
from offramp.themis.topologies import CURRENT, PAPER, network_named
from offramp_base.errors import OfframpError

RS, AG, AR, A2A = (
    Collective.REDUCE_SCATTER,
    Collective.ALL_GATHER,
    Collective.ALL_REDUCE,
    Collective.ALL_TO_ALL,
)

DELAYS_NS = {
    "2D-SW_SW": (2800, 10200),
    "3D-SW_SW_SW_homo": (2800, 2100, 5100),
    "3D-SW_SW_SW_hetero": (2800, 2100, 5100),
    "3D-FC_Ring_SW": (700, 10500, 5100),
    "4D-Ring_SW_SW_SW": (60, 1400, 2100, 5100),
    "4D-Ring_FC_Ring_SW": (60, 700, 2100, 5100),
}
TOTAL_GBPS = dict(zip(DELAYS_NS, (2000, 2400, 2800, 2600, 4800, 6400), strict=True))


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_topologies(name):
    network = network_named(name)
    assert network.npus == 1024
    assert network.bandwidth_bps == TOTAL_GBPS[name] * 1e9
    for stage, factor in ((RS, 1), (AG, 1), (AR, 2)):
        assert tuple(d.fixed_ps(stage) for d in network.dimensions) == tuple(
            1000 * factor * ns for ns in DELAYS_NS[name]
        )


@pytest.mark.parametrize("kind", [DimensionTopology.RING, DimensionTopology.FULLY_CONNECTED, DimensionTopology.SWITCH])
def test_bytes_are_the_same_on_all_kinds(kind):
    d = Dimension(kind, 4, 8e9)
    assert d.sent(RS, 64e6) == 48e6
    assert d.sent(AG, 16e6) == 48e6  # a 64 MB RS and a 16 MB AG take the same time (figure 5)
    assert d.sent(AR, 64e6) == 96e6
    assert d.transfer_ps(RS, 64e6) == d.transfer_ps(AG, 16e6) == 48_000_000_000
    assert d.after(RS, 64e6) == 16e6
    assert d.after(AG, 16e6) == 64e6


def test_steps_of_table_1():
    assert [Dimension(kind, 8, 1e9).steps(RS) for kind in DimensionTopology] == [7, 1, 3, 3]
    assert [Dimension(kind, 8, 1e9).steps(AR) for kind in DimensionTopology] == [14, 2, 6, 1]


def test_a_ring_goes_both_ways_round_or_one():
    """One way has half the bandwidth, and an all-to-all the whole circle before it."""
    usual, two_way, one = (
        Dimension(DimensionTopology.RING, 8, 16e9, 500, bidirectional=ways) for ways in (None, True, False)
    )
    for stage in Collective:
        assert two_way.transfer_ps(stage, 64e6) == usual.transfer_ps(stage, 64e6)
        assert two_way.fixed_ps(stage) == usual.fixed_ps(stage)
    assert usual.transfer_ps(RS, 64e6) == 56e6 * 8e12 / 16e9
    assert one.transfer_ps(RS, 64e6) == 56e6 * 8e12 / 8e9
    assert one.fixed_ps(RS) == usual.fixed_ps(RS)
    assert (usual.sent(A2A, 64e6), one.sent(A2A, 64e6)) == (8e6 * (1 + 2 + 3 + 4 + 3 + 2 + 1), 8e6 * 28)
    assert (usual.steps(A2A), one.steps(A2A)) == (4, 7)
    pair = Dimension(DimensionTopology.RING, 2, 16e9, bidirectional=False)  # which has one link
    assert pair.transfer_ps(RS, 64e6) == Dimension(DimensionTopology.RING, 2, 16e9).transfer_ps(RS, 64e6)


def test_directions_of_a_network():
    switch, ring = Dimension(DimensionTopology.SWITCH, 4, 8e9), Dimension(DimensionTopology.RING, 8, 16e9)
    directed = Network("two", (switch, ring)).with_rings(bidirectional=False)
    assert [d.bidirectional for d in directed.dimensions] == [None, False]
    assert directed.by_nccl().dimensions[1].messages.bandwidth_bps == 8e9
    with pytest.raises(OfframpError, match="two: bidirectional: expected a ring among its dimensions"):
        Network("two", (switch,)).with_rings(bidirectional=True)
    with pytest.raises(OfframpError, match="switch dimension: bidirectional: applies to rings only"):
        Dimension(DimensionTopology.SWITCH, 4, 8e9, bidirectional=True)
    with pytest.raises(OfframpError, match="groups of 2 on a ring of 8: expected none that gives its directions"):
        directed.divided(8)


def test_one_npu_sends_nothing():
    d = Dimension(DimensionTopology.RING, 1, 1e9, 700)
    for stage in Collective:
        assert d.sent(stage, 1e6) == 0
        assert d.fixed_ps(stage) == 0


def test_in_network_all_reduce_is_one_pass():
    d = Dimension(DimensionTopology.IN_NETWORK, 8, 1e9, 1000, payload_share=0.5)
    assert d.sent(AR, 100) == 200
    assert d.fixed_ps(AR) == 1_000_000
    assert d.sent(RS, 80) == 70


def test_all_to_all_on_a_ring_counts_every_link_crossed():
    # distances 1, 2, 1 on a ring of four: 4 quarters of the data in all
    assert Dimension(DimensionTopology.RING, 4, 1e9).sent(A2A, 100) == 100
    assert Dimension(DimensionTopology.FULLY_CONNECTED, 4, 1e9).sent(A2A, 100) == 75


def test_groups_are_first_dimensions():
    network = network_named("4D-Ring_SW_SW_SW")
    assert network.up_to(128) == (0, 1, 2)
    assert network.up_to(1) == ()
    with pytest.raises(
        OfframpError, match=r"a group of 100 NPUs does not divide 4D-Ring_SW_SW_SW: .* 1, 4, 16, 128, 1024"
    ):
        network.up_to(100)
    part = network.part((0, 3))
    assert [d.size for d in part.dimensions] == [4, 1, 1, 8]
    assert part.npus == 32
    with pytest.raises(OfframpError, match="different numbers from 0 to 3"):
        network.part((4,))


def test_current_platform_has_little_bandwidth_outside():
    assert [d.bandwidth_bps for d in CURRENT.dimensions] == [1200e9, 100e9]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Dimension(DimensionTopology.RING, 0, 1e9),
            "ring dimension: size 0: expected an integer of at least 1",
        ),
        (lambda: Dimension(DimensionTopology.RING, 2.5, 1e9), "size 2.5"),
        (lambda: Dimension(DimensionTopology.RING, 4, 0), "bandwidth 0 bit/s: expected at least 1e-06"),
        (lambda: Dimension(DimensionTopology.RING, 4, 1e-300), "bandwidth 1e-300 bit/s: expected at least 1e-06"),
        (
            lambda: Dimension(DimensionTopology.RING, 4, 1e9, latency_ns=1e300),
            r"latency 1e\+300 ns: expected 0 to 1e\+18",
        ),
        (lambda: Dimension(DimensionTopology.RING, 4, float("nan")), "bandwidth nan"),
        (lambda: Dimension(DimensionTopology.RING, 4, 1e9, -1), "latency -1 ns"),
        (lambda: Dimension(DimensionTopology.IN_NETWORK, 4, 1e9, payload_share=0), "payload share 0"),
        (
            lambda: kind_named("torus"),
            "dimension type 'torus': expected one of ring, fully-connected, switch, in-network",
        ),
        (lambda: Network("none", ()), "network none: expected at least one dimension"),
        (lambda: network_named("5D"), "network '5D': expected a file or one of 2D-SW_SW"),
        (lambda: Collective.named("broadcast"), "collective 'broadcast': expected one of reduce-scatter"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(OfframpError, match=message):
        make()
