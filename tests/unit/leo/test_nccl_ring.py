# SPDX-License-Identifier: Apache-2.0
"""NCCL's ring as queues: closed forms of one message and of the steady state, and bounds at all sizes.

Blind to: real cards and GPUs, and algorithms other than a ring of two.
"""

from __future__ import annotations

import pytest

from offramp.themis.nccl import NcclProtocol
from offramp_base.errors import OfframpError
from offramp_sim.leo.nccl import SHAPES, NcclRing

SIZES = [4096 * 4**k for k in range(8)]


def test_one_message_takes_the_sum_of_its_stages():
    ring = NcclRing(link_bps=8e9, bus_bps=16e9, channels=1)
    base, step, post = 6.6e-6, 2.7e-6, 1e-6
    # 2,048 bytes each way, twice as many on the wire: copy, post, send, arrive; the same again; the last copy
    wire = 4096
    expected = base + 2 * (wire / 2e9 + post + wire / 1e9 + step) + wire / 2e9
    assert ring.by(NcclProtocol.LL, 4096) == pytest.approx(expected)


@pytest.mark.parametrize("channels", [1, 2, 8])
@pytest.mark.parametrize("protocol", SHAPES)
def test_it_is_never_faster_than_its_wire(protocol, channels):
    ring = NcclRing(channels=channels)
    for size in SIZES:
        wire = size / SHAPES[protocol].payload
        assert ring.by(protocol, size) > max(8 * wire / ring.link_bps, 8 * 1.5 * wire / ring.bus_bps)


def test_large_sums_are_limited_by_the_slowest_server():
    size = 1 << 28
    by_bus, by_link = NcclRing(link_bps=1e15), NcclRing(bus_bps=1e15)
    assert by_bus.seconds(size) == pytest.approx(1.5 * 8 * size / by_bus.bus_bps, rel=0.02)
    assert by_link.seconds(size) == pytest.approx(8 * size / by_link.link_bps, rel=0.3)
    times = [NcclRing().seconds(each) for each in SIZES]
    assert times == sorted(times)


def test_small_sums_go_by_low_latency_and_large_ones_in_large_pieces():
    ring = NcclRing()
    small, large = (ring.by(NcclProtocol.LL, size) < ring.by(NcclProtocol.SIMPLE, size) for size in (4096, 1 << 24))
    assert (small, large) == (True, False)


def test_rates_of_nothing_are_refused():
    with pytest.raises(OfframpError, match="expected rates above 0 and at least one channel"):
        NcclRing(channels=0)
