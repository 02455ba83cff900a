# SPDX-License-Identifier: Apache-2.0
"""Counts of a link, computed by hand."""

from __future__ import annotations

import numpy as np

from offramp.switchgnn.stats import LinkCounts
from offramp.switchgnn.wire import LANES, build_frames
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import total_wire_bytes, wire_bytes


def batch(*chunks: int) -> PacketBatch:
    fields = {"chunk_id": np.array(chunks), "round": 1}
    return build_frames(0, fields, len(chunks), np.ones((len(chunks), LANES), np.int32))


def test_frames_and_link_time() -> None:
    link = LinkCounts()
    link.count(PacketBatch.concatenate([batch(0, 1), build_frames(0, {"is_ack": 1}, 3)]))
    assert link == LinkCounts(packets=5, data_packets=2, wire_bytes=2 * (178 + 4 + 8 + 12) + 3 * (64 + 8 + 12))
    link.count(batch(0))
    assert (link.packets, link.data_packets) == (6, 3)


def test_features_without_the_zeros_that_fill_the_last_packet() -> None:
    for features, expected in ((1, 4), (31, 124), (32, 128), (33, 132), (40, 160), (64, 256), (65, 256)):
        link = LinkCounts()
        link.count_payload(batch(0, 1), features)
        assert link.payload_bytes == expected
    link = LinkCounts()
    link.count_payload(build_frames(0, {"chunk_id": 0, "is_fetch": 1}, 2), 40)
    assert link.payload_bytes == 0


def test_link_time_of_many_is_the_sum() -> None:
    lengths = np.array([0, 59, 60, 61, 1514], np.int32)
    assert [wire_bytes(n) for n in lengths.tolist()] == [84, 84, 84, 85, 1538]
    assert total_wire_bytes(lengths) == 84 * 3 + 85 + 1538
    assert total_wire_bytes(lengths[:0]) == 0
