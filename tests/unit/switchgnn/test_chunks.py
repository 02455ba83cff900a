# SPDX-License-Identifier: Apache-2.0
"""The cutting of vectors into packets: against the frames that workers really build."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.switchgnn.chunks import WIDTHS, chunk_widths, chunks_for, lanes_for, segments_for, vector_wire_bytes
from offramp.switchgnn.wire import LANES, build_frames, parse_frames
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import total_wire_bytes


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("features", [1, 31, 32, 33, 64, 65, 96, 128, 129, 500])
def test_a_vectors_bytes_are_those_of_its_frames(features: int, lanes: int) -> None:
    chunks = chunks_for(features, lanes)
    widths = chunk_widths(features, chunks, lanes)
    assert widths.sum() == features
    segments = segments_for(widths)
    batch = build_frames(0, {"chunk_id": np.arange(chunks)}, chunks, np.ones((chunks, lanes), np.int32), segments)
    assert total_wire_bytes(batch.lengths) == vector_wire_bytes(features, lanes)
    parsed = parse_frames(batch)
    assert parsed.segments.tolist() == segments.tolist()
    carried = (parsed.lanes == 1).sum(axis=1)
    assert carried.tolist() == (segments * LANES).tolist()


def test_wider_aggregators_never_take_more_bytes_or_packets() -> None:
    for features in range(1, 600):
        bytes_, packets = zip(
            *((vector_wire_bytes(features, lanes), chunks_for(features, lanes)) for lanes in WIDTHS), strict=True
        )
        assert list(bytes_) == sorted(bytes_, reverse=True)
        assert list(packets) == sorted(packets, reverse=True)


def test_lanes_are_no_more_than_make_a_difference() -> None:
    assert lanes_for([1, 16, 32]) == 32
    assert lanes_for([16, 64]) == 64
    assert lanes_for([16, 128]) == 128
    assert lanes_for([16, 128], (32, 64)) == 64


@pytest.mark.parametrize(("features", "lanes"), [(0, 32), (8161, 32), (255 * 128 + 1, 128)])
def test_vectors_that_no_packets_hold_are_refused(features: int, lanes: int) -> None:
    with pytest.raises(OfframpError, match=f"features {features}: expected 1 to {255 * lanes}"):
        chunks_for(features, lanes)


def test_frames_of_different_lengths_are_told_apart() -> None:
    lanes = np.arange(3 * 128, dtype=np.int32).reshape(3, 128)
    batch = build_frames(0, {}, 3, lanes, np.array([1, 4, 2]))
    assert batch.lengths.tolist() == [178, 562, 306]
    parsed = parse_frames(batch)
    for i, width in enumerate((32, 128, 64)):
        assert parsed.lanes[i, :width].tolist() == lanes[i, :width].tolist()
        assert not parsed.lanes[i, width:].any()
    short = PacketBatch(batch.ports, batch.lengths - 1, batch.data)
    assert (len(parse_frames(short)), parse_frames(short).truncated) == (0, 3)
