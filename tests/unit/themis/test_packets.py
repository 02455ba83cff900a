# SPDX-License-Identifier: Apache-2.0
"""Headers of packets: counted message by message, and what they cost a collective.

Blind to: packets of real chiplets, and headers that are longer in a message's first packet.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology
from offramp.themis.packets import INFINIBAND, NVLINK, PacketFormat, parse_packets, usual_packets
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.topologies import PAPER
from offramp_base.errors import OfframpError


@pytest.mark.parametrize("stage", list(Collective))
@pytest.mark.parametrize("kind", list(DimensionTopology))
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_messages_have_the_bytes_that_are_sent(kind, size, stage):
    for bidirectional in (None, False) if kind is DimensionTopology.RING else (None,):
        dimension = Dimension(kind, size, 1e9, bidirectional=bidirectional)
        messages = dimension.lengths(stage, 4096.0)
        assert sum(count * length for count, length in messages) == pytest.approx(dimension.sent(stage, 4096.0))


def test_headers_are_counted_by_packet():
    packets = PacketFormat(100, 7)
    assert packets.headers([(3, 250.0), (2, 100.0), (1, 0.0), (4, 1.0)]) == 7 * (3 * 3 + 2 + 4)
    bare = Dimension(DimensionTopology.SWITCH, 4, 8e9)
    with_headers = replace(bare, packets=packets)
    # rounds of one and of two blocks of 250 bytes: 3 and 5 packets
    assert with_headers.transfer_ps(Collective.REDUCE_SCATTER, 1000.0) == 1000 * (750 + 7 * 8)
    assert with_headers.wire_ps(Collective.REDUCE_SCATTER, 1000.0) == bare.wire_ps(Collective.REDUCE_SCATTER, 1000.0)


def test_small_chunks_pay_for_headers():
    network = PAPER["3D-SW_SW_SW_hetero"]
    packed = network.with_packets(usual_packets(3))
    assert [d.packets for d in packed.dimensions] == [NVLINK, NVLINK, INFINIBAND]
    demand = [Demand(Collective.ALL_REDUCE, 10**7)]

    def cost(chunks: int) -> float:
        with_headers, without = (
            make_plan(each, demand, Scheduler.BASELINE, chunks).finish_ps for each in (packed, network)
        )
        return with_headers / without

    assert 1.03 < cost(8) < cost(256) < 1.3


def test_formats_are_read_and_refused():
    assert parse_packets("4096+26") == (INFINIBAND,)
    assert parse_packets("256+16, 4096+26") == (NVLINK, INFINIBAND)
    for text in ("4096", "0+1", "1+-1", "", "a+b", "1+1,"):
        with pytest.raises(ValueError, match="expected"):
            parse_packets(text)
    with pytest.raises(OfframpError, match="2 formats of packets: expected 1, or one for each of 3 dimensions"):
        PAPER["3D-SW_SW_SW_hetero"].with_packets([NVLINK, INFINIBAND])
