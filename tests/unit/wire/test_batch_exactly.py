# SPDX-License-Identifier: Apache-2.0
"""Batches of packets at their edges, and every bit by which packets for a computing switch are known."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.allreduce import wire as allreduce
from offramp.switchgnn.wire import DATA_FRAME_BYTES, SHORT_FRAME_BYTES, build_frames, parse_frames
from offramp_base.wire.batch import PacketBatch


@pytest.mark.parametrize("batch", [PacketBatch.empty(), PacketBatch.of([]), PacketBatch.concatenate([])])
def test_no_packets(batch: PacketBatch) -> None:
    assert (len(batch), batch.ports.shape, batch.lengths.shape, batch.data.shape) == (0, (0,), (0,), (0, 0))
    assert (batch.ports.dtype, batch.lengths.dtype, batch.data.dtype) == (np.int32, np.int32, np.uint8)
    assert list(batch) == []


def test_frames_of_many_lengths_come_back() -> None:
    packets = [(3, b"abc"), (1, b""), (2, b"abcdefg")]
    batch = PacketBatch.of(packets)
    assert batch.data.shape == (3, 7)
    assert list(batch) == packets
    assert batch.data[0].tolist() == [97, 98, 99, 0, 0, 0, 0]
    joined = PacketBatch.concatenate([batch, PacketBatch.empty(), PacketBatch.of([(9, b"longer than all")])])
    assert list(joined) == [*packets, (9, b"longer than all")]
    assert joined.data.shape == (4, 15)
    assert list(joined.select(slice(1, 3))) == packets[1:]
    assert list(joined.select(np.array([True, False, False, True]))) == [packets[0], (9, b"longer than all")]


def test_one_batch_is_not_copied() -> None:
    batch = PacketBatch.of([(1, b"x")])
    assert PacketBatch.concatenate([PacketBatch.empty(), batch]) is batch


def test_groups_take_no_more_memory_than_they_may() -> None:
    short, long = PacketBatch.of([(1, b"x")] * 100), PacketBatch.of([(2, bytes(50))])
    given = [short, PacketBatch.empty(), short, long, long, short]
    groups = list(PacketBatch.groups(given, 300))
    assert [[batch.data.shape for batch in group] for group in groups] == [[(200, 1), (2, 50)], [(100, 1)]]
    assert [packet for group in groups for batch in group for packet in batch] == [p for batch in given for p in batch]
    assert [[len(batch) for batch in group] for group in PacketBatch.groups(given, 1 << 20)] == [[302]]
    assert list(PacketBatch.groups([PacketBatch.empty()], 1)) == []
    ((alone,),) = PacketBatch.groups([long], 1)
    assert alone is long


def test_large_batches_are_left_where_they_lie() -> None:
    large, small = PacketBatch.of([(1, bytes(16_000))] * 9), PacketBatch.of([(2, b"x")])
    (group,) = PacketBatch.groups([large, small, small, large], 1 << 20)
    assert [len(batch) for batch in group] == [9, 2, 9]
    assert group[0] is large
    assert group[2] is large


TOLD = {12: 0xFF, 13: 0xFF, 14: 0xFF, 20: 0x1F, 21: 0xFF, 23: 0xFF}
"""Bits of Ethernet's type, IPv4's version and length, its fragment offset and its protocol."""


@pytest.mark.parametrize("at", range(34))
def test_each_bit_that_tells_a_frame(at: int) -> None:
    (frame,) = build_frames(0, {"round": 1}, 1, np.ones((1, 32), np.int32)).frames()
    chunk = allreduce.blank_frames(0, 1, 1, 1)[0].tobytes()
    for bit in range(8):
        foreign = TOLD.get(at, 0) >> bit & 1
        parsed = parse_frames(PacketBatch.of([(0, flipped(frame, at, bit)), (0, frame)]))
        assert (parsed.foreign, parsed.truncated, len(parsed)) == (foreign, 0, 2 - foreign)
        sums = allreduce.parse_frames(PacketBatch.of([(0, flipped(chunk, at, bit)), (0, chunk)]), 1)
        assert (sums.foreign, len(sums)) == (foreign, 2 - foreign)


def flipped(frame: bytes, at: int, bit: int) -> bytes:
    """The frame with one bit inverted."""
    damaged = bytearray(frame)
    damaged[at] ^= 1 << bit
    return bytes(damaged)


def test_each_type_is_whole_from_its_last_byte_on() -> None:
    types = {(0, 0, 0): True, (0, 0, 1): True, (0, 1, 0): False, (0, 1, 1): False, (1, 0, 0): False, (1, 1, 0): False}
    for (is_ack, is_fetch, resend), full in types.items():
        fields = {"is_ack": is_ack, "is_fetch": is_fetch, "resend": resend, "round": 1}
        (frame,) = build_frames(0, fields, 1, np.ones((1, 32), np.int32)).frames()
        needed = DATA_FRAME_BYTES if full else SHORT_FRAME_BYTES
        lengths = [needed - 1, needed]
        batch = PacketBatch.of([(0, frame[:length]) for length in lengths])
        parsed = parse_frames(batch)
        assert (parsed.foreign, parsed.truncated, len(parsed)) == (0, 1, 1)
