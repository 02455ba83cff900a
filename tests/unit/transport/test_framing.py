# SPDX-License-Identifier: Apache-2.0
"""Frames in messages: round trips, limits, and messages that are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_base.errors import OfframpError
from offramp_base.transport.framing import MAX_FRAME, MAX_MESSAGE, MESSAGE_BYTES, MOST_FRAMES, pack, unpack
from offramp_base.wire.batch import PacketBatch


@given(st.lists(st.binary(max_size=300), max_size=40))
@settings(derandomize=True, max_examples=60)
def test_round_trip(frames):
    batch = PacketBatch.of((0, frame) for frame in frames)
    back = PacketBatch.concatenate(unpack(message) for message in pack(batch))
    assert list(back.frames()) == frames


def test_golden_message():
    (message,) = pack(PacketBatch.of([(3, b"ab"), (4, b"c")]))
    assert message == b"\x00\x00\x00\x02" + b"\x00\x02\x00\x01" + b"abc"


def test_messages_stay_small_and_keep_order():
    rng = np.random.default_rng(0)
    frames = [rng.bytes(int(n)) for n in rng.integers(1, 1500, 2000)]
    messages = list(pack(PacketBatch.of((0, frame) for frame in frames)))
    assert max(map(len, messages)) <= MESSAGE_BYTES + 4
    assert [f for m in messages for f in unpack(m).frames()] == frames


def test_a_frame_above_the_message_size_travels_alone():
    frames = [bytes(MAX_FRAME), b"x", bytes(MAX_FRAME)]
    messages = list(pack(PacketBatch.of((0, f) for f in frames)))
    assert max(map(len, messages)) <= MAX_MESSAGE
    assert [len(f) for m in messages for f in unpack(m).frames()] == [MAX_FRAME, 1, MAX_FRAME]


def test_too_long_a_frame_is_refused():
    with pytest.raises(OfframpError, match=f"frame of {MAX_FRAME + 1} bytes: a link carries at most {MAX_FRAME}"):
        list(pack(PacketBatch.of([(0, bytes(MAX_FRAME + 1))])))


@pytest.mark.parametrize(
    "message",
    [b"", b"\0\0\0", b"\0\0\0\x01", b"\0\0\0\x01\0\x05abc", b"\xff\xff\xff\xff" + bytes(50), b"\0\0\0\0x"],
)
def test_garbage_is_refused(message):
    with pytest.raises(OfframpError, match=f"message of {len(message)} bytes"):
        unpack(message)


def test_unpacked_frames_can_be_written_to():
    batch = unpack(next(pack(PacketBatch.of([(0, b"ab")]))))
    batch.data[0, 0] = 1
    assert list(batch.frames()) == [b"\x01b"]


def test_many_short_frames_are_several_messages_and_refused_as_one():
    frames = [b""] * (MOST_FRAMES + 1) + [b"x"]
    messages = list(pack(PacketBatch.of((0, frame) for frame in frames)))
    assert [len(unpack(message)) for message in messages] == [MOST_FRAMES, 2]
    whole = len(frames).to_bytes(4, "big") + bytes(2 * len(frames) - 1) + b"\x01x"
    with pytest.raises(OfframpError, match=f"message of {len(whole)} bytes: its head names {len(frames)} frames"):
        unpack(whole)


def test_a_longer_frame_than_a_link_carries_is_refused():
    with pytest.raises(OfframpError, match=f"frame of {MAX_FRAME + 1} bytes: a link carries at most {MAX_FRAME}"):
        unpack(b"\0\0\0\x01" + (MAX_FRAME + 1).to_bytes(2, "big") + bytes(MAX_FRAME + 1))
