# SPDX-License-Identifier: Apache-2.0
"""Messages of frames into and out of a ring, in compiled code; :mod:`.rings` says what they are.

Only frames of one length are taken here, as nearly all links carry nearly always. All else is left in place,
for Python to look at.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import offset
from offramp_base.native.ring import (
    NOTHING,
    MessageHeader,
    RingEnd,
    entry,
    front,
    message,
    pass_over,
    publish_ring,
)
from offramp_base.native.subset import Bytes, Ints, Words, copy, native, observe
from offramp_base.transport.framing import MAX_FRAME, MESSAGE_BYTES, MOST_FRAMES
from offramp_base.transport.shm.ring import reserve_or_want

TOO_LONG: Final = -1
"""Returned in place of a count: a frame is longer than its row, or than a link carries."""


@native
def put_message(end: RingEnd, data: Bytes, stride: int, width: int, lengths: Ints, rows: Words, count: int) -> int:
    """Put frames, these rows of a batch, as one message; how many there was room for, which may be 0, or TOO_LONG."""
    longest = 0
    for i in range(count):
        length = lengths[rows[i]]
        if length < 0 or length > min(width, MAX_FRAME):
            return TOO_LONG
        longest = max(longest, length)
    count = min(count, MOST_FRAMES)
    count = min(count, MESSAGE_BYTES // (longest + 2))
    payload = 0
    for i in range(count):
        payload += lengths[rows[i]]
    size = payload + (payload & 1) + 2 * count
    place = reserve_or_want(end, size)
    if place == NOTHING:
        return 0
    into = message(end, place)
    for i in range(count):
        length = lengths[rows[i]]
        copy(into, data + rows[i] * stride, length)
        into = into + length
    into = into + (payload & 1)
    for i in range(count):
        length = lengths[rows[i]]
        into[2 * i] = length >> 8
        into[2 * i + 1] = length & 0xFF
    words = entry(end, place)
    words.length = size
    words.id = count
    publish_ring(end)
    return count


@native
def take_messages(end: RingEnd, into: Bytes, room: int, most: int, width: Words) -> int:
    """Take up to ``most`` messages whose frames all have one length, which is left at ``width``; the frames of them.

    Frames go one behind the other to ``into``. Whatever says how many they are, and how long, is read once. The
    first message that is anything else, or has no room, stays in front.
    """
    frames = 0
    width[0] = 0
    for _ in range(most):
        place = front(end)
        if place == NOTHING:
            break
        size = end.front
        count = observe(Words(entry(end, place)) + offset(MessageHeader.id))
        if count <= 0 or count > MOST_FRAMES or 2 * count > size:
            break
        each = _length_of_all(message(end, place) + (size - 2 * count), count)
        if each == 0 or each > MAX_FRAME or (frames != 0 and each != width[0]):
            break
        payload = count * each
        if payload + (payload & 1) + 2 * count != size or frames * each + payload > room:
            break
        copy(into + frames * each, message(end, place), payload)
        pass_over(end)
        width[0] = each
        frames += count
    return frames


@native
def _length_of_all(lengths: Bytes, count: int) -> int:
    """The length that all frames have by these, 16 bits each, big-endian; 0 if not all have one."""
    high = lengths[0]
    low = lengths[1]
    different = 0
    for i in range(count):
        different = different | (lengths[2 * i] ^ high) | (lengths[2 * i + 1] ^ low)
    return 0 if different != 0 else (high << 8) | low
